package snapshot

import (
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// clientOverrides is the state that differs from client to client beside visibility. Its slices are allocated at first use.
type clientOverrides struct {
	usual   Mask        // rows that the client does not see at first: bands, and those that it does not have
	banded  bool        // SetBands was called
	rows    []Mask      // per index: components that the client may not see
	masked  bitset      // indexes with any such
	shape   []tick.Tick // per index of masked: since when the entity has had the rows that the client may see, as far as the server's captures changed them
	touched []tick.Tick // per index: the newest change that is this client's alone
	weight  []uint16    // per index: relevance, 0 = never set
	// turned and since are, per index, and per row and index, the newest change of a
	// row that names entities which is a change to this client; see View.retarget.
	turned []tick.Tick
	since  [][]tick.Tick
	looks  uint64    // changes of rows
	latest tick.Tick // of touched
}

// growUsual makes room for the rows of all indexes where some are hidden at first.
func (o *clientOverrides) growUsual(s *Store) {
	n := len(o.rows)
	o.rows = grown(o.rows, len(s.gens), cap(s.gens))
	o.shape = grown(o.shape, len(s.gens), cap(s.gens))
	for ; n < len(o.rows); n++ {
		o.reset(uint32(n), s.shape[n])
	}
}

// reset gives an index at the start of a lifetime the state that all have at first. shape is the tick since which the entity has its rows.
func (o *clientOverrides) reset(index uint32, shape tick.Tick) {
	if int(index) < len(o.rows) {
		o.hideRows(index, o.usual)
		o.shape[index] = shape
	}
	if int(index) < len(o.touched) {
		o.touched[index] = tick.None
	}
	if int(index) < len(o.turned) {
		o.turned[index] = tick.None
	}
	if int(index) < len(o.weight) {
		o.weight[index] = 0
	}
}

// touch notes a change at tick t that only this client sees.
func (v *View) touch(index uint32, t tick.Tick) {
	if v.lifetimes[index].life >= t { // its first record is still to come, and says everything
		v.wait(index)
		return
	}
	v.overrides.touched = grown(v.overrides.touched, int(index)+1, len(v.acks))
	v.alone(index) // its rows may be others now
	v.overrides.touched[index] = max(v.overrides.touched[index], t)
	v.overrides.latest = max(v.overrides.latest, t)
	g := &v.pages[index/format.PageEntities]
	g.since = max(g.since, t)
	v.wait(index)
	if len(v.store.groups.left) > 0 && v.groupBefore(index, t) != v.store.groups.at(index) {
		v.bind(index, t)
	}
}

func (v *View) touchedAt(index uint32) tick.Tick {
	if int(index) >= len(v.overrides.touched) {
		return tick.None
	}
	return v.overrides.touched[index]
}

// moved returns the tick of an entity's newest change, as this client sees it.
func (v *View) moved(index uint32) tick.Tick {
	moved := max(v.ownWrites.moved(index, v.store.lastChanged(index)), v.touchedAt(index))
	if int(index) < len(v.overrides.turned) {
		moved = max(moved, v.overrides.turned[index])
	}
	return moved
}

// changedOf returns the entities of a word that the newest capture changed in any way.
func (s *Store) changedOf(w int) uint64 { return s.changed[w] | s.refs.retargeted(w) }

// ChangedRows returns the rows of an entity that the newest capture changed, as the client will read them. Call it before
// Observe. Rows that the client may not see are left out.
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

// sinceOf returns the tick of the newest change of a row that names entities. A change of the client's sight alone does not
// count.
func (o *clientOverrides) sinceOf(index uint32, row int) tick.Tick {
	if row >= len(o.since) || int(index) >= len(o.since[row]) {
		return tick.None
	}
	return o.since[row][index]
}
