package netecs

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// references is what a capture knows of fields that name entities. Who they
// name may get its network id later in the same scan, or lose it while not a
// byte of the field changes. So rows with such fields wait for the end of the
// scan, and those that name an entity whose id became another come along.
type references struct {
	tables []refTable
	naming snapshot.Mask // rows that name entities, be it by network ids, which are the same in memory as on the wire
	byRow  []int         // by schema row: its place in tables, or -1
	queue  []waiting
	lanes  []uint32 // of the rows that wait
	circle circle
}

// refTable is the entity fields of one component that are handles in memory,
// and the target of a relation. The field's number in links is
// index*len(lanes) + its place in lanes.
type refTable struct {
	row    int
	lanes  []int // the first of each
	target bool  // the last of lanes is the target
	links
}

// waiting is a row whose references are to be resolved. at is where its lanes
// are kept, -1 where they are those of the store.
type waiting struct {
	id    wire.NetworkID
	table int
	at    int
}

func newReferences(schema *snapshot.Schema) references {
	var r references
	for row := range schema.Rows() {
		plan := schema.Plan(row)
		if len(plan.Refs()) > 0 {
			r.naming = r.naming.With(row)
		}
		t := refTable{row: row, lanes: append([]int{}, plan.Handles()...)}
		if lane, ok := plan.Target(); ok {
			t.lanes, t.target = append(t.lanes, lane), true
		}
		if len(t.lanes) == 0 {
			r.byRow = append(r.byRow, -1)
			continue
		}
		r.byRow = append(r.byRow, len(r.tables))
		r.tables = append(r.tables, t)
	}
	return r
}

// wait puts a captured row off until all entities of the scan have their ids.
func (r *references) wait(id wire.NetworkID, table int, lanes []uint32, target ecs.Entity) {
	t := &r.tables[table]
	from := int(id.Index) * len(t.lanes)
	for i, lane := range t.lanes {
		h := handle{lanes[lane], lanes[lane+1]}
		if t.target && i == len(t.lanes)-1 {
			h = handleOf(target)
		}
		t.set(from+i, h)
	}
	r.queue = append(r.queue, waiting{id, table, len(r.lanes)})
	r.lanes = append(r.lanes, lanes...)
}

// targetOf is the target of an entity in a table of relations.
func (t *refTable) targetOf(index uint32) handle {
	return t.get(int(index+1)*len(t.lanes) - 1)
}

// dropRow forgets what a row named that is gone.
func (r *references) dropRow(index uint32, row int) {
	if r.byRow[row] < 0 {
		return
	}
	t := &r.tables[r.byRow[row]]
	if t.target && t.targetOf(index) != (handle{}) {
		r.circle.turn(index, 0, false)
	}
	for i := range t.lanes {
		if field := int(index)*len(t.lanes) + i; t.get(field) != (handle{}) {
			t.set(field, handle{})
		}
	}
}

// drop forgets what all rows of an entity named.
func (r *references) drop(index uint32) {
	for i := range r.tables {
		r.dropRow(index, r.tables[i].row)
	}
}

// forget forgets everything, keeping the memory.
func (r *references) forget() {
	r.queue, r.lanes = r.queue[:0], r.lanes[:0]
	r.circle.clear()
	for i := range r.tables {
		r.tables[i].clear()
	}
}

// resolve brings the rows that wait into the store, when every entity of this
// capture has its id.
func (c *Capture) resolve() {
	r := &c.refs
	c.recall()
	if len(r.queue)+len(r.circle.turned) == 0 {
		return
	}
	for _, q := range r.queue {
		if t := &r.tables[q.table]; t.target {
			target := c.watch.named(t.targetOf(q.id.Index))
			r.circle.turn(q.id.Index, target.Index, !target.IsZero())
		}
	}
	for _, index := range r.circle.settle() {
		c.recallTarget(index)
	}
	for _, q := range r.queue {
		c.setRow(q)
	}
	r.queue, r.lanes = r.queue[:0], r.lanes[:0]
}

// recall lists the rows that name an entity whose id became another.
func (c *Capture) recall() {
	for _, number := range c.watch.touched {
		for table := range c.refs.tables {
			t := &c.refs.tables[table]
			for field := t.first(number); field >= 0; field = t.after(field) {
				c.recallRow(uint32(field/len(t.lanes)), table)
			}
		}
	}
	c.watch.touched = c.watch.touched[:0]
}

// recallTarget lists the row that is an entity's relation.
func (c *Capture) recallTarget(index uint32) {
	for table := range c.refs.tables {
		if t := &c.refs.tables[table]; t.target && t.targetOf(index) != (handle{}) {
			c.recallRow(index, table)
		}
	}
}

func (c *Capture) recallRow(index uint32, table int) {
	id := wire.NetworkID{Index: index, Generation: c.watch.byIndex[index].generation}
	c.refs.queue = append(c.refs.queue, waiting{id, table, -1})
}

// setRow resolves the references of a row and sets it.
func (c *Capture) setRow(q waiting) {
	t, at := &c.refs.tables[q.table], c.watch.at(q.id)
	if at == nil {
		return
	}
	if at.table != nowhere && !c.watch.tables[at.table].rows.Has(t.row) {
		c.refs.dropRow(q.id.Index, t.row)
		return
	}
	n := c.watch.schema.Plan(t.row).Lanes()
	lanes := c.lanes[:n]
	if q.at >= 0 {
		copy(lanes, c.refs.lanes[q.at:q.at+n])
	} else if copy(lanes, c.store.Row(q.id, t.row)) < n {
		return
	}
	for i, lane := range t.lanes {
		id := c.watch.named(t.get(int(q.id.Index)*len(t.lanes) + i))
		if t.target && i == len(t.lanes)-1 && c.refs.circle.on(q.id.Index) {
			id = wire.NetworkID{}
			c.noteCircle(q.id, t.row)
		}
		lanes[lane], lanes[lane+1] = id.Index, id.Generation
	}
	c.store.Set(q.id, t.row, lanes)
}

// noteCircle reports once that an entity's relation leads back to it.
func (c *Capture) noteCircle(id wire.NetworkID, row int) {
	if c.known[id.Index].circle || !c.leadsBack(c.watch.at(id).entity) {
		return
	}
	c.known[id.Index].circle = true
	c.watch.note(Problem{
		Kind: RelationCycle, Entity: id, Local: c.watch.at(id).entity, Component: c.watch.schema.Plan(row).Name(),
	})
}

// leadsBack reports whether an entity's relation leads back to it in the world, too. Where one of those on the way is
// captured later than others, by its rate, what was captured may be a circle that never was one.
func (c *Capture) leadsBack(e ecs.Entity) bool {
	if !c.watch.stands(e) {
		return true // a copy with the same id lies in its place
	}
	to := e
	for range c.store.Len() {
		if to = c.leadsTo(to); to == e || !c.watch.stands(to) {
			break
		}
	}
	return to == e
}

// leadsTo is where the relation of a living entity leads, zero when it has none.
func (c *Capture) leadsTo(e ecs.Entity) ecs.Entity {
	for m := c.watch.relations; m != 0; m &= m - 1 {
		if id := c.watch.ids[first(m)]; c.watch.world.Has(e, id) {
			return c.watch.world.Relations().Get(e, id)
		}
	}
	return ecs.Entity{}
}
