package snapshot

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// personal is what differs from client to client beside visibility. Most games
// use none of it for most entities, so its memory is there once it is used.
type personal struct {
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

// reset gives an index that begins a life what all have at first.
func (o *personal) reset(index uint32) {
	if int(index) < len(o.rows) {
		o.hides(index, 0)
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

// SetRows says which components of a visible entity the client may see: all,
// until it is told otherwise, and again when a new life begins. Components that
// it may not see any more are removed there.
func (v *View) SetRows(id wire.NetworkID, rows Mask) {
	if v.waitsForCommit(order{what: orderRows, id: id, rows: rows}) {
		return
	}
	was := v.Rows(id)
	if !v.Visible(id) || was == rows {
		return
	}
	v.own.rows = grown(v.own.rows, int(id.Index)+1, len(v.slots))
	v.own.shape = grown(v.own.shape, int(id.Index)+1, len(v.slots))
	if !v.own.masked.has(id.Index) {
		v.own.shape[id.Index] = v.store.shape[id.Index]
	}
	v.own.hides(id.Index, ^rows)
	v.own.looks++
	if (was^rows)&v.store.rows.masks[id.Index] != 0 {
		v.touch(id.Index, v.next())
	}
}

// Rows is the components that the client may see of an entity, whether the
// entity has them or not; none when the entity is not visible.
func (v *View) Rows(id wire.NetworkID) Mask {
	if !v.Visible(id) {
		return 0
	}
	return v.rowsOf(id.Index)
}

func (v *View) rowsOf(index uint32) Mask {
	if int(index) >= len(v.own.rows) {
		return ^Mask(0)
	}
	return ^v.own.rows[index]
}

// SetWeight says how relevant a visible entity is to this client,
// [NormalWeight] being 1.0 and what a new life begins with. It is multiplied
// with the entity's priority. Zero counts as 1, the least.
func (v *View) SetWeight(id wire.NetworkID, weight uint16) {
	if v.waitsForCommit(order{what: orderWeight, id: id, weight: weight}) {
		return
	}
	if !v.Visible(id) {
		return
	}
	v.own.weight = grown(v.own.weight, int(id.Index)+1, len(v.slots))
	v.own.weight[id.Index] = max(weight, 1)
}

func (v *View) weightOf(index uint32) int64 {
	if int(index) >= len(v.own.weight) || v.own.weight[index] == 0 {
		return NormalWeight
	}
	return int64(v.own.weight[index])
}

// touch notes a change at tick t that only this client sees.
func (v *View) touch(index uint32, t tick.Tick) {
	if v.tenants[index].life >= t { // its first record is still to come, and says everything
		v.wait(index)
		return
	}
	v.own.touched = grown(v.own.touched, int(index)+1, len(v.slots))
	v.alone(index) // its rows may be others now
	v.own.touched[index] = max(v.own.touched[index], t)
	v.own.latest = max(v.own.latest, t)
	g := &v.pages[index/pageEntities]
	g.since = max(g.since, t)
	v.wait(index)
	if len(v.store.groups.left) > 0 && v.groupBefore(index, t) != v.store.groups.at(index) {
		v.bind(index, t)
	}
}

func (v *View) touchedAt(index uint32) tick.Tick {
	if int(index) >= len(v.own.touched) {
		return tick.None
	}
	return v.own.touched[index]
}

// moved is the newest change of an entity, as this client sees it.
func (v *View) moved(index uint32) tick.Tick {
	moved := max(v.author.moved(index, v.store.movedAt(index)), v.touchedAt(index))
	if int(index) < len(v.own.turned) {
		moved = max(moved, v.own.turned[index])
	}
	return moved
}
