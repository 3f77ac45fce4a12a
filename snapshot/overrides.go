package snapshot

import (
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// clientOverrides is the state of entities that differs from client to client, except visibility. Each slice is allocated at first
// use.
type clientOverrides struct {
	usual     Mask        // rows hidden at first: bands, and rows that the client's build does not have
	banded    bool        // SetBands was called
	rows      []Mask      // by index: hidden rows
	masked    bitset      // indexes with hidden rows
	shared    bitset      // indexes that show Schema.Owned to this client, which is not their owner
	shapedAt  []tick.Tick // by index in masked: newest tick in which a capture changed the set of rows that the client may see
	touchedAt []tick.Tick // by index: newest change for this client alone
	weight    []uint16    // by index: relevance in 1/NormalWeight; 0: never set
	// retargetedAt (by index) and rowRetargetedAt (by row and index) are the newest changes, as this client reads them, of rows that name entities.
	// See View.refreshRefs.
	retargetedAt    []tick.Tick
	rowRetargetedAt [][]tick.Tick
	looks           uint64    // number of changes of rows
	lastTouched     tick.Tick // the newest tick in touchedAt
}

// growUsual makes room for the hidden rows of all indexes, if some rows are hidden at first.
func (o *clientOverrides) growUsual(s *Store) {
	n := len(o.rows)
	o.rows = grown(o.rows, len(s.gens), cap(s.gens))
	o.shapedAt = grown(o.shapedAt, len(s.gens), cap(s.gens))
	for ; n < len(o.rows); n++ {
		o.reset(uint32(n), s.shapedAt[n])
	}
}

// reset sets an index to the defaults at the start of a lifetime. shape is the tick since which the entity has its set of rows.
func (o *clientOverrides) reset(index uint32, shape tick.Tick) {
	if int(index) < len(o.rows) {
		o.hideRows(index, o.usual)
		o.shapedAt[index] = shape
	}
	if o.shared.has(index) {
		o.shared.unset(index)
	}
	if int(index) < len(o.touchedAt) {
		o.touchedAt[index] = tick.None
	}
	if int(index) < len(o.retargetedAt) {
		o.retargetedAt[index] = tick.None
	}
	if int(index) < len(o.weight) {
		o.weight[index] = 0
	}
}

// touch notes a change of an index at tick t for this client alone.
func (v *View) touch(index uint32, t tick.Tick) {
	if v.life(index).firstTick >= t { // the first record of the lifetime is still to come, and has everything
		v.wait(index)
		return
	}
	v.overrides.touchedAt = grown(v.overrides.touchedAt, int(index)+1, v.indexes)
	v.leavePage(index) // members of a page need equal rows
	v.overrides.touchedAt[index] = max(v.overrides.touchedAt[index], t)
	v.overrides.lastTouched = max(v.overrides.lastTouched, t)
	g := v.pages[index/format.PageEntities]
	g.rowsChangedAt = max(g.rowsChangedAt, t)
	v.wait(index)
	if len(v.store.groups.left) > 0 && v.groupBefore(index, t) != v.store.groups.at(index) {
		v.bind(index, t)
	}
}

// touchedAt returns the tick of the newest change of an index for this client alone, tick.None if there was none.
func (v *View) touchedAt(index uint32) tick.Tick {
	if int(index) >= len(v.overrides.touchedAt) {
		return tick.None
	}
	return v.overrides.touchedAt[index]
}

// changedAt returns the tick of the newest change of an entity, as this client sees it.
func (v *View) changedAt(index uint32) tick.Tick {
	moved := max(v.ownWrites.changedAt(index, v.store.lastChanged(index)), v.touchedAt(index))
	if int(index) < len(v.overrides.retargetedAt) {
		moved = max(moved, v.overrides.retargetedAt[index])
	}
	return moved
}

// changedOf returns the entities of word w that the newest capture changed in any way.
func (s *Store) changedOf(w int) uint64 { return s.changed[w] | s.refs.retargeted(w) }

// ChangedRows returns the rows of an entity that the newest capture changed, as this client reads them. Hidden rows are left out. Call
// it before Observe.
func (v *View) ChangedRows(id wire.NetworkID) Mask {
	rows := v.store.changedRows(id, v.rowsOf(id.Index)).Intersect(v.Rows(id))
	for m := rows.Intersect(v.store.schema.Refs); !m.IsZero(); m = m.Rest() {
		row := m.Lowest()
		if c := v.store.refs.noted(id.Index, row); c != nil && v.readsAlike(c) {
			rows = rows.Without(row)
		}
	}
	return rows
}

// sinceOf returns the tick of the newest change of a row that names entities, as this client reads it. A change of the client's sight
// alone does not count.
func (o *clientOverrides) sinceOf(index uint32, row int) tick.Tick {
	if row >= len(o.rowRetargetedAt) || int(index) >= len(o.rowRetargetedAt[row]) {
		return tick.None
	}
	return o.rowRetargetedAt[row][index]
}
