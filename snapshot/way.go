package snapshot

import (
	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/tick"
)

// What changes in every tick mostly does so at the same place among each tick's
// changes. A way is how far apart such places are in the log: from the changes
// of one tick to those that say what was so at T and at T'. It is the same for
// all rows of all entities, and where it leads is looked at first.
type way struct{ base, before int64 }

// noWay leads nowhere.
const noWay = int64(1) << 62

// way is that from the changes of a tick to what was so at t and before that.
func (h *history) way(from, t, before tick.Tick) way {
	return way{base: h.distance(from, t+1), before: h.distance(from, before+1)}
}

// distance is how far the changes of one tick lie from those of another.
func (h *history) distance(from, to tick.Tick) int64 {
	a, b := h.begun(from), h.begun(to)
	if a.tick != from || b.tick != to {
		return noWay
	}
	return int64(b.number - a.number)
}

// changesOf is the numbers of a tick's changes.
type changesOf struct{ number, count uint64 }

// span is the changes of a tick that is not after now, the newest one: none where
// they are not known or not all held.
func (h *history) span(t, now tick.Tick) (c changesOf) {
	first, next, end := h.begun(t), h.begun(t+1), h.next
	if t != now {
		end = next.number
	}
	if first.tick != t || first.number < h.oldest || t != now && next.tick != t+1 {
		return c
	}
	return changesOf{first.number, end - first.number}
}

// newestOf is the number of the newest change of a row's stripe, 0 for none.
func (h *history) newestOf(index uint32, row int) uint64 {
	if stripes := h.rows[row].stripes; int(index/stripeRows) < len(stripes) {
		return stripes[index/stripeRows].newest
	}
	return 0
}

// lanesAt is the n lanes that a row had at tick t, given the newest change of its
// stripe and that it has changed since: nil when that is not held, or it was not
// there. The way is that from the newest tick's changes; where it leads somewhere
// else the change is looked for.
func (h *history) lanesAt(newest uint64, index uint32, row, n int, t tick.Tick, way int64) []uint32 {
	at, bit := newest+uint64(way), uint64(1)<<(index%stripeRows)
	c := h.at(at)
	if at < h.oldest || at >= h.next || c.tick != t+1 || !c.of(uint16(row), index/stripeRows) || c.there&bit == 0 {
		return h.find(newest, row, index, t)
	}
	lanes, _ := h.was(c, bit, n, t)
	return lanes
}

// twice fills in what the changes of two numbers say, and reports whether they are of one stripe of a row.
func (h *history) twice(base, before uint64, row uint16, stripe uint32, to *delta.Held) bool {
	x, y := h.at(base), h.at(before)
	if !x.of(row, stripe) || !y.of(row, stripe) {
		return false
	}
	to.InBase, to.InBefore = x.there, y.there
	to.Base, to.Before = h.lanes[x.lane&uint64(len(h.lanes)-1):], h.lanes[y.lane&uint64(len(h.lanes)-1):]
	return true
}
