package snapshot

import (
	"slices"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// names reports whether a visible row of index names the entity that the client last saw at target, by index and generation.
func (v *View) names(index, target uint32) bool {
	s, generation := v.store, v.life(target).generation
	for m := v.maskOf(index).Intersect(s.schema.Refs); !m.IsZero(); m = m.Rest() {
		row := m.Lowest()
		lanes := s.rows.row(index, row)
		for _, lane := range s.schema.Plan(row).Refs() {
			if id := refAt(lanes, lane); id.Index == target && id.Generation == generation {
				return true
			}
		}
	}
	return false
}

// refRow is a row that names entities and that changed in this tick.
//
// A client reads nil in place of an entity that it does not see. So such a change need not be a change for every client. If a client
// reads the same before and after, nothing is sent, now or later: it must not learn that an unseen entity died or was replaced.
type refRow struct {
	index uint32
	row   int
	had   bool // the entity had the row before
	at    int  // place of the old lanes in backRefs.lanes; the history may be too small for a whole tick
}

// note stores the old value of a row that names entities, before its first change in this tick.
func (r *backRefs) note(index uint32, row int, had bool, lanes []uint32) {
	r.places = grown(r.places, row+1, 0)
	r.places[row] = grown(r.places[row], int(index)+1, 0)
	r.places[row][index] = uint32(len(r.changed))
	r.changed = append(room(r.changed, 1, usualList), refRow{index, row, had, len(r.lanes)})
	if had {
		r.lanes = append(room(r.lanes, len(lanes), usualList), lanes...)
	}
}

// noted returns what note stored of a row in this tick, nil if it did not change.
func (r *backRefs) noted(index uint32, row int) *refRow {
	if row >= len(r.places) || int(index) >= len(r.places[row]) {
		return nil
	}
	if at := r.places[row][index]; int(at) < len(r.changed) && r.changed[at].index == index && r.changed[at].row == row {
		return &r.changed[at]
	}
	return nil
}

// retarget notes that a row of an index names other entities than before.
func (r *backRefs) retarget(index uint32) {
	r.retargetedNow = r.retargetedNow.grownTo(int(index) + 1)
	r.retargetedNow.set(index)
}

// begin forgets the changes of the last tick.
func (r *backRefs) begin() {
	for _, c := range r.changed {
		if r.retargetedNow.has(c.index) {
			r.retargetedNow.unset(c.index)
		}
	}
	r.changed, r.lanes = r.changed[:0], r.lanes[:0]
}

// retargeted returns the entities of word w with rows that name other entities than before.
func (r *backRefs) retargeted(w int) uint64 {
	if w >= len(r.retargetedNow) {
		return 0
	}
	return r.retargetedNow[w]
}

// refreshRefs finds out which of the rows that name entities changed in the newest commit for this client. It is the first step of
// observing a commit, since it needs the client's sight of the tick before.
func (v *View) refreshRefs() {
	for i := range v.store.refs.changed {
		c := &v.store.refs.changed[i]
		if v.page(c.index).visible&bitOf(c.index) == 0 {
			continue
		}
		if v.readsAlike(c) {
			continue
		}
		v.overrides.rowRetargetedAt = grown(v.overrides.rowRetargetedAt, v.store.schema.Rows(), 0)
		v.overrides.rowRetargetedAt[c.row] = grown(v.overrides.rowRetargetedAt[c.row], int(c.index)+1, v.indexes)
		v.overrides.rowRetargetedAt[c.row][c.index] = v.store.tick
		if !v.rowsOf(c.index).Has(c.row) || v.ownWrites.wrote(c.index, v.store.tick) {
			continue
		}
		v.life(c.index).retargetedAt, v.overrides.retargets = v.store.tick, true
		v.wait(c.index)
	}
}

// readsAlike reports whether the client reads a row that names entities as it did before the newest capture.
func (v *View) readsAlike(c *refRow) bool {
	s := v.store
	now := s.rows.get(c.index, c.row)
	if now == nil || !c.had {
		return false
	}
	plan, n := s.schema.Plan(c.row), len(now)
	v.lanes = append(append(v.lanes[:0], now...), s.refs.lanes[c.at:c.at+n]...)
	v.clearUnseen(plan, v.lanes[:n], s.tick)
	v.clearUnseen(plan, v.lanes[n:], s.tick)
	return slices.Equal(v.lanes[:n], v.lanes[n:])
}

// clearUnseen clears the fields of a row that name entities which the client does not see at tick t.
func (v *View) clearUnseen(plan *quantize.Plan, lanes []uint32, t tick.Tick) {
	for _, lane := range plan.Refs() {
		if id := refAt(lanes, lane); !v.Visible(id) || v.life(id.Index).firstTick > t {
			lanes[lane], lanes[lane+1] = 0, 0
		}
	}
}

// backRefs is the reverse index of entity fields: which entities name an entity. It also has the rows with such fields that changed in
// this tick.
type backRefs struct {
	of            [][]uint32 // by index of the target: indexes that name it, ascending, once for each field
	changed       []refRow   // rows that changed in this tick
	places        [][]uint32 // by row and index: place of the row in changed; valid only if changed has that row there
	lanes         []uint32   // old lanes of changed
	retargetedNow bitset     // indexes that retarget noted in this tick
}

// to returns the indexes that name a target, with repeats.
func (r *backRefs) to(target uint32) []uint32 {
	if int(target) >= len(r.of) {
		return nil
	}
	return r.of[target]
}

// change updates the reverse index for a row that changes from the lanes before to after. after is nil if the row is removed.
func (r *backRefs) change(plan *quantize.Plan, index uint32, had bool, before, after []uint32) {
	for _, lane := range plan.Refs() {
		var old, now wire.NetworkID
		if had {
			old = refAt(before, lane)
		}
		if after != nil {
			now = refAt(after, lane)
		}
		if old == now {
			continue
		}
		if !old.IsZero() {
			r.drop(old.Index, index)
		}
		if !now.IsZero() {
			r.addRef(now.Index, index)
		}
	}
}

// refAt returns the id in an entity field. Generation 0 means nil.
func refAt(lanes []uint32, lane int) wire.NetworkID {
	if lanes[lane+1] == 0 {
		return wire.NetworkID{}
	}
	return wire.NetworkID{Index: lanes[lane], Generation: lanes[lane+1]}
}

// addRef notes one more field of index that names target.
func (r *backRefs) addRef(target, index uint32) {
	if target >= MaxEntities {
		return
	}
	r.of = grown(r.of, int(target)+1, 0)
	at, _ := slices.BinarySearch(r.of[target], index)
	r.of[target] = slices.Insert(r.of[target], at, index)
}

// drop notes one field less of index that names target.
func (r *backRefs) drop(target, index uint32) {
	if int(target) >= len(r.of) {
		return
	}
	if at, ok := slices.BinarySearch(r.of[target], index); ok {
		r.of[target] = slices.Delete(r.of[target], at, at+1)
	}
}
