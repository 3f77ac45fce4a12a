package snapshot

import (
	"slices"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// What a client is told of a row that names entities is its own: whom it does not
// see it is not told of. So a change of such a row is not everybody's. To a client
// that reads the same before and after nothing has changed, and nothing is sent,
// neither now nor later: it does not learn that what it never saw has died, or was
// followed by another.

// aim is a row that names entities.
type aim struct {
	index uint32
	row   int
	had   bool // the entity had it before,
	at    int  // with lanes that are kept there: the history may be too small for a tick
}

// note takes in that a row which names entities is about to change in this tick, and
// what it was.
func (r *referrers) note(index uint32, row int, had bool, lanes []uint32) {
	r.places = grown(r.places, row+1, 0)
	r.places[row] = grown(r.places[row], int(index)+1, 0)
	r.places[row][index] = uint32(len(r.changed))
	r.changed = append(room(r.changed, 1, usualList), aim{index, row, had, len(r.lanes)})
	if had {
		r.lanes = append(room(r.lanes, len(lanes), usualList), lanes...)
	}
}

// noted is a row that changed in this tick, nil where it did not.
func (r *referrers) noted(index uint32, row int) *aim {
	if row >= len(r.places) || int(index) >= len(r.places[row]) {
		return nil
	}
	if at := r.places[row][index]; int(at) < len(r.changed) && r.changed[at].index == index && r.changed[at].row == row {
		return &r.changed[at]
	}
	return nil
}

// retarget notes that a row which the entity had, and which names entities, has
// other lanes.
func (r *referrers) retarget(index uint32) {
	r.moved = r.moved.grownTo(int(index) + 1)
	r.moved.set(index)
}

// begin forgets what changed in the tick before.
func (r *referrers) begin() {
	for _, c := range r.changed {
		if r.moved.has(c.index) {
			r.moved.unset(c.index)
		}
	}
	r.changed, r.lanes = r.changed[:0], r.lanes[:0]
}

// retargeted is which entities of a word have rows that name others than before.
func (r *referrers) retargeted(w int) uint64 {
	if w >= len(r.moved) {
		return 0
	}
	return r.moved[w]
}

// changedOf is which entities of a word the newest capture changed in any way.
func (s *Store) changedOf(w int) uint64 { return s.changed[w] | s.refs.retargeted(w) }

// retarget looks at the rows that name entities and changed in the newest commit.
// It comes before anything else of that commit is taken in: who was seen until then
// is what the rows said until then, and who is not seen any more, or now, marks
// those that name it.
func (v *View) retarget() {
	for i := range v.store.refs.changed {
		c := &v.store.refs.changed[i]
		if !v.visible.has(c.index) {
			continue
		}
		if v.readsAlike(c) {
			continue
		}
		v.own.since = grown(v.own.since, v.store.schema.Rows(), 0)
		v.own.since[c.row] = grown(v.own.since[c.row], int(c.index)+1, len(v.slots))
		v.own.since[c.row][c.index] = v.store.tick
		if !v.rowsOf(c.index).Has(c.row) || v.author.wrote(c.index, v.store.tick) {
			continue
		}
		v.own.turned = grown(v.own.turned, int(c.index)+1, len(v.slots))
		v.own.turned[c.index] = v.store.tick
		v.wait(c.index)
	}
}

// readsAlike reports whether a row that names entities is there as it was before the
// newest capture, as far as this client is told of it.
func (v *View) readsAlike(c *aim) bool {
	s := v.store
	now := s.rows.get(c.index, c.row)
	if now == nil || !c.had {
		return false
	}
	plan, n := s.schema.plans[c.row], len(now)
	v.lanes = append(append(v.lanes[:0], now...), s.refs.lanes[c.at:c.at+n]...)
	v.blind(plan, v.lanes[:n], s.tick)
	v.blind(plan, v.lanes[n:], s.tick)
	return slices.Equal(v.lanes[:n], v.lanes[n:])
}

// blind makes fields of a row that name an entity which the client does not see at
// tick t name nobody.
func (v *View) blind(plan *quantize.Plan, lanes []uint32, t tick.Tick) {
	for _, lane := range plan.Refs() {
		if id := refAt(lanes, lane); !v.Visible(id) || v.tenants[id.Index].life > t {
			lanes[lane], lanes[lane+1] = 0, 0
		}
	}
}

// ChangedRows is the rows of an entity that the newest capture changed, as the
// client would be told of them, which it is not yet: Observe was not called since.
// What the client may not see is none of them.
func (v *View) ChangedRows(id wire.NetworkID) Mask {
	rows := v.store.ChangedRows(id) & v.Rows(id)
	for m := rows & v.store.schema.refs; m != 0; m &= m - 1 {
		row := m.next()
		if c := v.store.refs.noted(id.Index, row); c != nil && v.readsAlike(c) {
			rows = rows.Without(row)
		}
	}
	return rows
}

// sinceOf is the newest change of a row that names entities, not counting what the
// client is told otherwise only because it sees somebody now, or no more.
func (o *personal) sinceOf(index uint32, row int) tick.Tick {
	if row >= len(o.since) || int(index) >= len(o.since[row]) {
		return tick.None
	}
	return o.since[row][index]
}
