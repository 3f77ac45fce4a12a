package tick

// arrivalsKept is the number of packets that Arrivals searches for gaps.
const arrivalsKept = 256

// Arrivals knows which packets of the server came, and of which of its ticks they were. The server numbers its packets without gaps,
// except for a few numbers that it skips on purpose, and their ticks rise. Where no packet is missing between two, everything is here
// that the server sent in the ticks between.
type Arrivals struct {
	packets [arrivalsKept]arrival
	newest  uint64 // The highest number, with one added.
	before  soughtBack
}

// soughtBack is the result of the newest search before a packet. It is valid for the next packet of the same tick too.
type soughtBack struct {
	sequence      uint64
	tick          Tick
	next, further Tick
}

// arrival is one packet.
type arrival struct {
	sequence uint64 // With one added, so that zero is none.
	tick     Tick
}

// at is a packet that came.
func (a *Arrivals) at(sequence uint64) (p arrival, ok bool) {
	p = a.packets[sequence%arrivalsKept]
	return p, p.sequence == sequence+1
}

// News is the effect of one packet on the knowledge about ticks.
type News struct {
	From, To Tick // Nothing is missing of the ticks From <= t < To.
	Doubt    Tick // Something may be missing of this tick after all; None: of none.
	Idle     Tick // The server sent nothing in the ticks up to this one since the packet before; None: not certain.
}

// Note notes a packet and its tick, None for a packet without one. The newest tick counts as complete as soon as a packet of it is here
// and none is missing before that, since all packets of a tick leave together. When the next packet turns out to be missing, it is in
// doubt again.
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
	} else if left, ok := a.left(sequence); ok { // It may join two others.
		n.From, n.To, _ = a.judge(left.sequence-1, left.tick)
	}
	return n
}

// judge finds the ticks around a packet of which nothing is missing.
func (a *Arrivals) judge(sequence uint64, t Tick) (from, to, idle Tick) {
	earlier, before := a.back(sequence, t)
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

// back is seek towards older packets. Where both ticks are known, one search serves all packets of a tick that come in order.
func (a *Arrivals) back(sequence uint64, t Tick) (next, further Tick) {
	b := &a.before
	if b.further == None || b.tick != t || b.sequence+1 != sequence {
		b.next, b.further = a.seek(sequence, t, -1)
	}
	b.sequence, b.tick = sequence, t
	return b.next, b.further
}

// left is the nearest older packet with a tick, if none is missing between.
func (a *Arrivals) left(sequence uint64) (p arrival, ok bool) {
	for back := uint64(1); back < arrivalsKept && back <= sequence; back++ {
		if p, ok = a.at(sequence - back); !ok || p.tick != None {
			return p, ok
		}
	}
	return p, false
}

// below is the tick of the nearest packet older than the one that is missing in front of sequence.
func (a *Arrivals) below(sequence uint64) Tick {
	for back := uint64(2); back < arrivalsKept && back <= sequence; back++ {
		if p, ok := a.at(sequence - back); ok && p.tick != None {
			return p.tick
		}
	}
	return None
}

// seek walks from a packet in one direction as long as none is missing. It returns the next tick that differs from t, and the next
// that differs from that.
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
