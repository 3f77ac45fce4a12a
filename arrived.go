package netcode

import "github.com/arche-netcode/netcode/tick"

// arrivedKept is how many packets are looked at for what is missing between them.
const arrivedKept = 256

// arrivedTicks is which packets came, and of which ticks of the server they were. The server numbers its packets without
// gaps, but for the few that it leaves out on purpose, and its ticks rise with them: where no packet is missing between
// two, everything that it said in the ticks between is here.
type arrivedTicks struct {
	packets [arrivedKept]arrivedPacket
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

// note notes a packet and its tick, tick.None when it told none. Of the ticks from <= t < to nothing is missing then. idle
// is the tick up to which nothing was said since the tick before: t - 1, if that is certain, else tick.None.
func (a *arrivedTicks) note(sequence uint64, t tick.Tick) (from, to, idle tick.Tick) {
	a.packets[sequence%arrivedKept] = arrivedPacket{sequence + 1, t}
	if t == tick.None {
		return 0, 0, tick.None
	}
	earlier, before := a.seek(sequence, t, -1)
	later, after := a.seek(sequence, t, +1)
	if earlier != tick.None {
		idle = t - 1
		from, to = earlier+1, t
		if before != tick.None {
			from = earlier
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
