package netcode

import "github.com/arche-netcode/netcode/tick"

// arrivedKept is how many packets are looked at for what is missing between them.
const arrivedKept = 256

// arrivedTicks is which packets came, and of which ticks of the server they were. The server numbers its packets without
// gaps, but for the few that it leaves out on purpose, and its ticks rise with them: where no packet is missing between
// two, everything that it said in the ticks between is here.
type arrivedTicks struct {
	packets [arrivedKept]arrivedPacket
	newest  uint64 // The highest number, with one added.
	before  soughtBack
}

// soughtBack is the result of the newest search before a packet. It holds for the next packet of the same tick too.
type soughtBack struct {
	sequence      uint64
	tick          tick.Tick
	next, further tick.Tick
}

// arrivedPacket is one packet.
type arrivedPacket struct {
	sequence uint64 // With one added, so that zero is none.
	tick     tick.Tick
}

// at is a packet that came.
func (a *arrivedTicks) at(sequence uint64) (p arrivedPacket, ok bool) {
	p = a.packets[sequence%arrivedKept]
	return p, p.sequence == sequence+1
}

// news is what a packet tells about ticks.
type news struct {
	from, to tick.Tick // Of the ticks from <= t < to nothing is missing.
	doubt    tick.Tick // Of this one something may be missing after all; tick.None: of none.
	idle     tick.Tick // It is certain that nothing was said up to this tick since the packet before; tick.None: it is not.
}

// note notes a packet and its tick, tick.None when it told none. The newest tick counts as whole as soon as a packet of it
// is there and none is missing before that, since all packets of a tick leave together; when the next packet turns out to
// be missing it is in doubt again.
func (a *arrivedTicks) note(sequence uint64, t tick.Tick) (n news) {
	a.packets[sequence%arrivedKept] = arrivedPacket{sequence + 1, t}
	if sequence > 0 {
		if _, ok := a.at(sequence - 1); !ok {
			n.doubt = a.below(sequence)
		}
	}
	a.newest = max(a.newest, sequence+1)
	if t != tick.None {
		n.from, n.to, n.idle = a.judge(sequence, t)
	} else if left, ok := a.left(sequence); ok { // It may be what joined two others.
		n.from, n.to, _ = a.judge(left.sequence-1, left.tick)
	}
	return n
}

// judge finds of which ticks nothing is missing around a packet.
func (a *arrivedTicks) judge(sequence uint64, t tick.Tick) (from, to, idle tick.Tick) {
	earlier, before := a.back(sequence, t)
	later, after := a.seek(sequence, t, +1)
	if earlier != tick.None {
		idle = t - 1
		from, to = earlier+1, t
		if before != tick.None {
			from = earlier
		}
		if a.newest == sequence+1 {
			to = t + 1
		}
	}
	if later != tick.None {
		if earlier == tick.None {
			from = t + 1
		}
		if to = later; after != tick.None {
			to = later + 1
		}
	}
	return from, to, idle
}

// back is seek to the packets before one. Where both ticks are known it looks once for all packets of a tick that come in order.
func (a *arrivedTicks) back(sequence uint64, t tick.Tick) (next, further tick.Tick) {
	b := &a.before
	if b.further == tick.None || b.tick != t || b.sequence+1 != sequence {
		b.next, b.further = a.seek(sequence, t, -1)
	}
	b.sequence, b.tick = sequence, t
	return b.next, b.further
}

// left is the nearest packet with a tick before another, if none is missing between them.
func (a *arrivedTicks) left(sequence uint64) (p arrivedPacket, ok bool) {
	for back := uint64(1); back < arrivedKept && back <= sequence; back++ {
		if p, ok = a.at(sequence - back); !ok || p.tick != tick.None {
			return p, ok
		}
	}
	return p, false
}

// below is the tick of the nearest packet before one that is missing in front of sequence.
func (a *arrivedTicks) below(sequence uint64) tick.Tick {
	for back := uint64(2); back < arrivedKept && back <= sequence; back++ {
		if p, ok := a.at(sequence - back); ok && p.tick != tick.None {
			return p.tick
		}
	}
	return tick.None
}

// seek goes from a packet in one direction as long as none is missing, and returns the next tick that is another than t,
// and the next that is another than that.
func (a *arrivedTicks) seek(sequence uint64, t tick.Tick, way int) (next, further tick.Tick) {
	for range arrivedKept - 1 {
		if way < 0 && sequence == 0 {
			return next, further
		}
		sequence += uint64(int64(way))
		p, ok := a.at(sequence)
		switch {
		case !ok:
			return next, further
		case p.tick == tick.None || p.tick == t || (p.tick > t) != (way > 0):
		case next == tick.None:
			next = p.tick
		case p.tick != next:
			return next, p.tick
		}
	}
	return next, further
}
