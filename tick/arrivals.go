package tick

// arrivalsKept is the number of packets that Arrivals searches for gaps.
const arrivalsKept = 256

// Arrivals records the server's packets and their ticks, to find complete ticks. The server numbers its packets without
// gaps, except for a few numbers that it skips on purpose, and their ticks never decrease. Between two packets without a
// gap, everything has arrived that the server sent in the ticks between.
type Arrivals struct {
	packets [arrivalsKept]arrival
	newest  uint64 // The highest number, plus one.
}

// arrival is one packet.
type arrival struct {
	sequence uint64 // Plus one, so that zero means empty.
	tick     Tick
}

// at returns a packet that arrived.
func (a *Arrivals) at(sequence uint64) (p arrival, ok bool) {
	p = a.packets[sequence%arrivalsKept]
	return p, p.sequence == sequence+1
}

// News reports what one packet proves about ticks.
type News struct {
	From, To Tick // No packet is missing of the ticks From <= t < To.
	Doubt    Tick // A packet of this tick may be missing after all; None: no tick.
	Idle     Tick // The server sent nothing in the ticks up to this one since the packet before; None: unknown.
}

// Note records a packet and its tick, None for a packet without a tick. All packets of a tick are sent together. The
// newest tick therefore counts as complete as soon as one of its packets has arrived without a gap before. If the next
// packet is then missing, the tick is in doubt.
func (a *Arrivals) Note(sequence uint64, t Tick) (n News) {
	a.packets[sequence%arrivalsKept] = arrival{sequence + 1, t}
	if sequence > 0 {
		if _, ok := a.at(sequence - 1); !ok {
			n.Doubt = a.below(sequence)
		}
	}
	a.newest = max(a.newest, sequence+1)
	if t != None {
		n.From, n.To, n.Idle = a.judge(sequence, t)
	} else if left, ok := a.left(sequence); ok { // The packet may close a gap between two others.
		n.From, n.To, _ = a.judge(left.sequence-1, left.tick)
	}
	return n
}

// judge returns the complete ticks around a packet.
func (a *Arrivals) judge(sequence uint64, t Tick) (from, to, idle Tick) {
	earlier, before := a.seek(sequence, t, -1)
	later, after := a.seek(sequence, t, +1)
	if earlier != None {
		idle = t - 1
		from, to = earlier+1, t
		if before != None {
			from = earlier
		}
		if a.newest == sequence+1 {
			to = t + 1
		}
	}
	if later != None {
		if earlier == None {
			from = t + 1
		}
		if to = later; after != None {
			to = later + 1
		}
	}
	return from, to, idle
}

// left returns the nearest older packet with a tick. ok is false if a packet between is missing.
func (a *Arrivals) left(sequence uint64) (p arrival, ok bool) {
	for back := uint64(1); back < arrivalsKept && back <= sequence; back++ {
		if p, ok = a.at(sequence - back); !ok || p.tick != None {
			return p, ok
		}
	}
	return p, false
}

// below returns the tick of the nearest packet before the gap in front of sequence.
func (a *Arrivals) below(sequence uint64) Tick {
	for back := uint64(2); back < arrivalsKept && back <= sequence; back++ {
		if p, ok := a.at(sequence - back); ok && p.tick != None {
			return p.tick
		}
	}
	return None
}

// seek walks from a packet in direction way, +1 or -1, until the first missing packet. It returns the next tick that
// differs from t, and the next that differs from both.
func (a *Arrivals) seek(sequence uint64, t Tick, way int) (next, further Tick) {
	for range arrivalsKept - 1 {
		if way < 0 && sequence == 0 {
			return next, further
		}
		sequence += uint64(int64(way))
		p, ok := a.at(sequence)
		switch {
		case !ok:
			return next, further
		case p.tick == None || p.tick == t || (p.tick > t) != (way > 0):
		case next == None:
			next = p.tick
		case p.tick != next:
			return next, p.tick
		}
	}
	return next, further
}
