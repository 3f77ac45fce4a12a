package netecs

import (
	"cmp"
	"slices"
)

// patience is how many scans a table may hold nobody before it is not looked at any more: one that is left and come back to all the time
// costs less looked at than found again.
const patience = 64

// occupied is the tables that are looked at, by number, and the others. A world in which game code adds and removes components has had
// ever more masks, of which most hold nobody: a query for each would be most of a tick.
type occupied struct {
	live     []*table // all that have slots or rows, as of the last look
	idle     []*table // the others, in any order: they have neither
	patience uint64   // but for tests the constant
}

// occupy adds a table that is new.
func (o *occupied) occupy(t *table, run uint64) {
	t.idle, t.busy = -1, run
	o.live = append(o.live, t)
	o.idle = slices.Grow(o.idle, len(o.live)) // so that nothing is allocated when tables retire and wake
	o.live = slices.Grow(o.live, len(o.idle))
}

// wake puts a table back where it is looked at in its turn, as if it had never been out: who comes first has the lower id.
func (o *occupied) wake(t *table, run uint64) {
	last := o.idle[len(o.idle)-1]
	o.idle[t.idle], last.idle = last, t.idle
	o.idle = o.idle[:len(o.idle)-1]
	t.idle, t.busy = -1, run
	at, _ := slices.BinarySearchFunc(o.live, t.number, func(t *table, n int32) int { return cmp.Compare(t.number, n) })
	o.live = slices.Insert(o.live, at, t)
}

// convene finds out which tables are to be looked at: what is in the others is asked only when the number of entities says that there
// is somebody.
func (w *watch) convene() {
	kept := w.live[:0]
	for _, t := range w.live {
		if t.length+t.seen > 0 {
			t.busy = w.run
		}
		if w.run-t.busy <= w.patience {
			kept = append(kept, t)
			continue
		}
		t.idle = int32(len(w.idle))
		w.idle = append(w.idle, t)
	}
	clear(w.live[len(kept):])
	w.live = kept
	if len(w.idle) == 0 {
		return
	}
	sum, count := 0, w.count()
	for _, t := range w.live {
		sum += w.length(t)
	}
	if sum == count {
		return
	}
	if len(w.idle) > count { // to ask everybody is less than to ask every table
		w.discover()
		return
	}
	for n := len(w.idle) - 1; n >= 0; n-- { // from behind, as another takes the place of who wakes
		if t := w.idle[n]; w.length(t) > 0 {
			w.wake(t, w.run)
		}
	}
}
