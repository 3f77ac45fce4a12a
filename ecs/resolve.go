package netecs

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// refs knows which rows name which entities, so that a row is looked at again
// when an entity that it names comes or goes. There is one link for each entity
// field of each row that is here and not nil, so there are never more than the
// rows have fields; it leaves with its row, and when the field names another.
type refs struct {
	rows  snapshot.Mask // rows of the schema with handles in memory
	none  snapshot.Mask // rows without any entity field that matters here
	links []link
	free  int32   // 1 + first link not in use
	to    []int32 // by network index: 1 + first link that names it
	from  []int32 // by network index: 1 + first link of its rows
	lanes []uint32
}

// link says that an entity field names an entity. Links are joined by numbers
// that count from 1, so that zero is none.
type link struct {
	target     wire.NetworkID
	index      uint32 // of the entity whose row it is
	row, lane  int32
	next, prev int32 // among those that name the same index
	sibling    int32 // the next of the same entity, or the next free one
}

func newRefs(schema *snapshot.Schema) refs {
	r := refs{none: ^snapshot.Mask(0)}
	most := 0
	for row := range schema.Rows() {
		plan := schema.Plan(row)
		_, aimed := plan.Target()
		if len(plan.Handles()) > 0 {
			r.rows, most = r.rows.With(row), max(most, plan.Lanes())
		}
		if aimed || len(plan.Handles()) > 0 {
			r.none = r.none.Without(row)
		}
	}
	r.lanes = make([]uint32, most)
	return r
}

// forget drops every link.
func (r *refs) forget() {
	r.links, r.free = r.links[:0], 0
	clear(r.to)
	clear(r.from)
}

// set says which entity a field names now.
func (r *refs) set(index uint32, row, lane int, target wire.NetworkID) {
	r.from = extended(r.from, int(index))
	n := r.from[index]
	for n != 0 && (r.links[n-1].row != int32(row) || r.links[n-1].lane != int32(lane)) {
		n = r.links[n-1].sibling
	}
	if target.Generation == 0 || target.Index >= snapshot.MaxEntities {
		target = wire.NetworkID{} // nobody that could ever come
	}
	switch {
	case n == 0 && target.IsZero():
	case n == 0:
		n = r.take()
		r.links[n-1] = link{target: target, index: index, row: int32(row), lane: int32(lane), sibling: r.from[index]}
		r.from[index] = n
		r.join(n)
	case r.links[n-1].target == target:
	case target.IsZero():
		r.part(n)
		r.links[n-1].target = target
	default:
		r.part(n)
		r.links[n-1].target = target
		r.join(n)
	}
}

// take returns a link that is not in use.
func (r *refs) take() int32 {
	if n := r.free; n != 0 {
		r.free = r.links[n-1].sibling
		return n
	}
	r.links = append(r.links, link{})
	return int32(len(r.links))
}

// join enters a link among those that name its target.
func (r *refs) join(n int32) {
	l := &r.links[n-1]
	r.to = extended(r.to, int(l.target.Index))
	l.prev, l.next = 0, r.to[l.target.Index]
	if l.next != 0 {
		r.links[l.next-1].prev = n
	}
	r.to[l.target.Index] = n
}

// part takes a link from among those that name its target, if it names one.
func (r *refs) part(n int32) {
	l := &r.links[n-1]
	if l.target.IsZero() {
		return
	}
	if l.prev != 0 {
		r.links[l.prev-1].next = l.next
	} else {
		r.to[l.target.Index] = l.next
	}
	if l.next != 0 {
		r.links[l.next-1].prev = l.prev
	}
}

// cut drops the links of an entity's rows.
func (r *refs) cut(index uint32, rows snapshot.Mask) {
	if rows&^r.none == 0 || int(index) >= len(r.from) {
		return
	}
	at := &r.from[index]
	for *at != 0 {
		n := *at
		l := &r.links[n-1]
		if !rows.Has(int(l.row)) {
			at = &l.sibling
			continue
		}
		r.part(n)
		*at = l.sibling
		*l = link{sibling: r.free}
		r.free = n
	}
}

// revisit has the rows that name an entity looked at again.
func (a *Apply) revisit(id wire.NetworkID) {
	if int(id.Index) >= len(a.refs.to) {
		return
	}
	for n := a.refs.to[id.Index]; n != 0; n = a.refs.links[n-1].next {
		if l := &a.refs.links[n-1]; l.target == id {
			a.stats.Resolved++
			a.again = append(a.again, l.index)
		}
	}
}

// refer notes which entity a field names. Nobody comes whose index is beyond those that the replica takes.
func (a *Apply) refer(index uint32, row, lane int, id wire.NetworkID) {
	if int(id.Index) >= a.replica.MaxEntities() {
		id = wire.NetworkID{}
	}
	a.refs.set(index, row, lane, id)
}

// local is the entity of this world that a network id names, zero when there is
// none that game code has left in place. The id may be anything.
func (a *Apply) local(id wire.NetworkID) ecs.Entity {
	if id.Index >= snapshot.MaxEntities {
		return ecs.Entity{}
	}
	at := a.watch.at(id)
	if at == nil || a.twins[id.Index].left || !a.alive(at.entity) {
		return ecs.Entity{}
	}
	return at.entity
}

// resolve replaces the network ids in a row's entity fields by what they name
// here. The result is valid until the next call.
func (a *Apply) resolve(index uint32, row int, lanes []uint32) []uint32 {
	out := a.refs.lanes[:copy(a.refs.lanes, lanes)]
	for _, lane := range a.watch.schema.Plan(row).Handles() {
		id := wire.NetworkID{Index: lanes[lane], Generation: lanes[lane+1]}
		a.refer(index, row, lane, id)
		e := a.local(id)
		out[lane], out[lane+1] = e.ID(), e.Generation()
	}
	return out
}
