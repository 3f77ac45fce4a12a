package snapshot

import "github.com/arche-netcode/netcode/tick"

// answers counts, for each of the last ticks, the packets with records and how
// many of them the client acknowledged: of a tick with all of them it is known
// which records the client holds and, as much, which it does not.
type answers struct {
	ticks []answered // by tick modulo its length, a power of two
}

type answered struct {
	tick        tick.Tick
	sent, acked int32
}

// mostNear is how many ticks before T a record of T may lie that is leaned on
// beside it: the farther, the less it says about the movement at T.
const mostNear = 15

// newAnswers remembers so many ticks, and those that are leaned on beside the
// oldest of them.
func newAnswers(window tick.Tick) answers {
	size := 1
	for size < int(window)+mostNear {
		size *= 2
	}
	return answers{ticks: make([]answered, size)}
}

func (a *answers) at(t tick.Tick) *answered { return &a.ticks[int(t)&(len(a.ticks)-1)] }

// sent counts a packet with records.
func (a *answers) sent(t tick.Tick) {
	at := a.at(t)
	if at.tick != t {
		*at = answered{tick: t}
	}
	at.sent++
}

// acked counts the acknowledgement of one.
func (a *answers) acked(t tick.Tick) {
	if at := a.at(t); at.tick == t {
		at.acked++
	}
}

// forget makes no tick known.
func (a *answers) forget() { clear(a.ticks) }

// near is how many ticks before t the newest one lies of which it is known what
// the client holds, without one in between of which it holds a part; 0 where
// there is none.
func (a *answers) near(t tick.Tick) tick.Tick {
	for back := tick.Tick(1); back <= mostNear && t-back > tick.None; back++ {
		at := a.at(t - back)
		switch {
		case at.tick != t-back || at.acked == 0:
		case at.acked == at.sent:
			return back
		default:
			return 0
		}
	}
	return 0
}
