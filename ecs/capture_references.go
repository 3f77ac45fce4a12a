package netecs

import (
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// captureRefs replaces the handles in entity fields by network ids. The entity of a handle may get its id later in the
// same scan. It may also lose its id while the bytes of the field stay the same. So rows with entity fields wait for
// the end of the scan. Rows that refer to an entity whose id changed are resolved again.
type captureRefs struct {
	capture *Capture
	tracker *tracker
	store   *snapshot.Store

	tables []refTable
	naming snapshot.Mask // rows with entity fields, including fields that are network ids in memory
	byRow  []int         // by schema row: index in tables, or -1
	queue  []pendingRow
	lanes  []uint32 // lanes of the rows in queue, one after the other
}

// refTable contains the entity fields of one component that are handles in memory, and the target of its relation. The
// number of a field in the handleIndex is index*len(lanes) + its position in lanes.
type refTable struct {
	row    int
	lanes  []int // the first lane of each field
	target bool  // the last field is the target
	cycles cycleFinder
	handleIndex
}

// pendingRow is a row with references to resolve. at is the offset of its lanes in captureRefs.lanes. If at is -1, the
// lanes are in the store.
type pendingRow struct {
	id    wire.NetworkID
	table int
	at    int
}

func newCaptureRefs(schema *snapshot.Schema) captureRefs {
	var r captureRefs
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

// wait queues a captured row until all entities of the scan have their ids.
func (r *captureRefs) wait(id wire.NetworkID, table int, lanes []uint32, target Entity) {
	t := &r.tables[table]
	from := int(id.Index) * len(t.lanes)
	for i, lane := range t.lanes {
		h := handle{lanes[lane], lanes[lane+1]}
		if t.target && i == len(t.lanes)-1 {
			h = handleOf(target)
		}
		t.set(from+i, h)
	}
	r.queue = append(r.queue, pendingRow{id, table, len(r.lanes)})
	r.lanes = append(r.lanes, lanes...)
}

// targetOf returns the target of the relation of an entity.
func (t *refTable) targetOf(index uint32) handle {
	return t.get(int(index+1)*len(t.lanes) - 1)
}

// dropRow drops the references of a row that was removed.
func (r *captureRefs) dropRow(index uint32, row int) {
	if r.byRow[row] < 0 {
		return
	}
	t := &r.tables[r.byRow[row]]
	if t.target && t.targetOf(index) != (handle{}) {
		t.cycles.setTarget(index, 0, false)
	}
	for i := range t.lanes {
		if field := int(index)*len(t.lanes) + i; t.get(field) != (handle{}) {
			t.set(field, handle{})
		}
	}
}

// drop drops the references of all rows of an entity.
func (r *captureRefs) drop(index uint32) {
	for i := range r.tables {
		r.dropRow(index, r.tables[i].row)
	}
}

// forgetRefs drops all references. The memory stays.
func (r *captureRefs) forgetRefs() {
	r.queue, r.lanes = r.queue[:0], r.lanes[:0]
	for i := range r.tables {
		r.tables[i].cycles.clear()
		r.tables[i].clear()
	}
}

// resolve stores the queued rows. Every entity of this capture has its id by now.
func (r *captureRefs) resolve() {
	r.requeue()
	for _, q := range r.queue {
		if t := &r.tables[q.table]; t.target {
			target := r.tracker.idOfHandle(t.targetOf(q.id.Index))
			t.cycles.setTarget(q.id.Index, target.Index, !target.IsZero())
		}
	}
	for table := range r.tables {
		t := &r.tables[table]
		for _, index := range t.cycles.updateCycles() {
			if t.targetOf(index) != (handle{}) {
				r.requeueRow(index, table)
			}
		}
	}
	for _, q := range r.queue {
		r.setRow(q)
	}
	r.queue, r.lanes = r.queue[:0], r.lanes[:0]
}

// requeue queues the rows that refer to an entity whose id changed.
func (r *captureRefs) requeue() {
	for _, number := range r.tracker.touched {
		for table := range r.tables {
			t := &r.tables[table]
			for field := t.first(number); field >= 0; field = t.after(field) {
				r.requeueRow(uint32(field/len(t.lanes)), table)
			}
		}
	}
	r.tracker.touched = r.tracker.touched[:0]
}

// requeueRow queues a row whose lanes are in the store.
func (r *captureRefs) requeueRow(index uint32, table int) {
	id := wire.NetworkID{Index: index, Generation: r.tracker.byIndex[index].generation}
	r.queue = append(r.queue, pendingRow{id, table, -1})
}

// setRow resolves the references of a row and stores it.
func (r *captureRefs) setRow(q pendingRow) {
	t, at := &r.tables[q.table], r.tracker.entry(q.id)
	if at == nil {
		return
	}
	if at.table != nowhere && !r.tracker.tables[at.table].rows.Has(t.row) {
		r.dropRow(q.id.Index, t.row)
		return
	}
	n := r.tracker.schema.Plan(t.row).Lanes()
	lanes := r.capture.lanes[:n]
	if q.at >= 0 {
		copy(lanes, r.lanes[q.at:q.at+n])
	} else if copy(lanes, r.store.Row(q.id, t.row)) < n {
		return
	}
	for i, lane := range t.lanes {
		id := r.tracker.idOfHandle(t.get(int(q.id.Index)*len(t.lanes) + i))
		if t.target && i == len(t.lanes)-1 && t.cycles.on(q.id.Index) {
			id = wire.NetworkID{}
			r.noteCircle(q.id, t.row)
		}
		lanes[lane], lanes[lane+1] = id.Index, id.Generation
	}
	r.store.Set(q.id, t.row, lanes)
}

// noteCircle reports a relation on a cycle, once for each entity.
func (r *captureRefs) noteCircle(id wire.NetworkID, row int) {
	if r.capture.reported[id.Index].circle || !r.leadsBack(r.tracker.entry(id).entity, r.tracker.ids[row]) {
		return
	}
	r.capture.reported[id.Index].circle = true
	r.tracker.note(Problem{
		Kind: RelationCycle, Entity: id, Local: r.tracker.entry(id).entity, Component: r.tracker.schema.Plan(row).Name(),
	})
}

// leadsBack reports whether the relations of a component also form a cycle through the entity in the world. The captured
// relations may form a cycle that never existed, if a rate delays the capture of one of them.
func (r *captureRefs) leadsBack(e Entity, relation world.ID) bool {
	if !r.tracker.isReplicated(e) {
		return true // a copy with the same id is in its row
	}
	to := e
	for range r.store.Len() {
		if to = r.leadsTo(to, relation); to == e || !r.tracker.isReplicated(to) {
			break
		}
	}
	return to == e
}

// leadsTo returns the target of a relation of a living entity, or the zero entity.
func (r *captureRefs) leadsTo(e Entity, relation world.ID) Entity {
	if !world.Has(r.tracker.world, e, relation) {
		return Entity{}
	}
	return world.Target(r.tracker.world, e, relation)
}

// handle is the number and generation of an entity, as in memory. The entity may be dead or may never have existed.
// Number 0 is nil.
type handle struct{ number, generation uint32 }

// handleOf returns the handle of an entity, nil for the zero entity.
func handleOf(e Entity) handle {
	if e.IsZero() {
		return handle{}
	}
	return handle{e.ID(), world.Generation(e)}
}

// handleIndex stores one handle for each field, and finds all fields whose handle has a given entity number. The caller
// chooses the field numbers.
//
// Fields are in linked lists, chosen by the low bits of the entity number. Invalid numbers need no extra memory.
type handleIndex struct {
	held   []handle
	next   []int32 // by field: 1 + the next field of the list, 0 at its end
	before []int32 // by field: 1 + the field before, or minus (1 + list) at its start
	heads  []int32 // by list: 1 + its first field; the length is a power of two
	count  int     // fields that are not nil
}

// get returns the handle of a field.
func (l *handleIndex) get(field int) handle {
	if field >= len(l.held) {
		return handle{}
	}
	return l.held[field]
}

// set changes the handle of a field.
func (l *handleIndex) set(field int, h handle) {
	if h.number == 0 {
		h = handle{}
	}
	if l.get(field) == h {
		return
	}
	l.held = grown(l.held, field)
	l.next = grown(l.next, field)
	l.before = grown(l.before, field)
	if l.held[field].number != 0 {
		l.unlink(field)
	}
	l.held[field] = handle{}
	if l.count == len(l.heads) {
		l.grow()
	}
	l.held[field] = h
	if h.number != 0 {
		l.link(field)
	}
}

func (l *handleIndex) link(field int) {
	l.count++
	list := l.list(l.held[field].number)
	first := l.heads[list]
	l.next[field], l.before[field] = first, int32(-1-list)
	if first != 0 {
		l.before[first-1] = int32(field + 1)
	}
	l.heads[list] = int32(field + 1)
}

func (l *handleIndex) unlink(field int) {
	l.count--
	next, before := l.next[field], l.before[field]
	if next != 0 {
		l.before[next-1] = before
	}
	if before > 0 {
		l.next[before-1] = next
	} else {
		l.heads[-1-before] = next
	}
}

// grow doubles the number of lists and links every field again.
func (l *handleIndex) grow() {
	l.heads = make([]int32, max(64, 2*len(l.heads)))
	l.count = 0
	for field := range l.held {
		if l.held[field].number != 0 {
			l.link(field)
		}
	}
}

func (l *handleIndex) list(number uint32) int { return int(number) & (len(l.heads) - 1) }

// first returns a field whose handle has the number, or -1. The method after returns the next ones, in no particular
// order. The index must not change between the calls.
func (l *handleIndex) first(number uint32) int {
	if l.count == 0 || number == 0 {
		return -1
	}
	return l.match(l.heads[l.list(number)], number)
}

// after returns the next field with the same number as this one, or -1.
func (l *handleIndex) after(field int) int { return l.match(l.next[field], l.held[field].number) }

func (l *handleIndex) match(at int32, number uint32) int {
	for at != 0 && l.held[at-1].number != number {
		at = l.next[at-1]
	}
	return int(at) - 1
}

// clear makes every field nil. The memory stays.
func (l *handleIndex) clear() {
	clear(l.held)
	clear(l.heads)
	l.count = 0
}

// cycleFinder finds the network indexes on cycles of the relations of one component. Each index has at most one target.
type cycleFinder struct {
	target     []uint32 // by index: 1 + its target, 0: none
	onCycle    []bool   // by index: whether it is on a cycle
	seen       []uint64 // by index: number of the last walk that reached it
	walk       uint64
	retargeted []retarget // since the last updateCycles
	other      []uint32   // scratch: indexes that joined or left a cycle
}

// retarget is an index with another target than before.
type retarget struct{ index, target uint32 }

// setTarget changes the target of an index. If any is false, the index has none. The next updateCycles applies it.
func (c *cycleFinder) setTarget(index, target uint32, any bool) {
	t := retarget{index: index}
	if any {
		t.target = 1 + target
	}
	c.retargeted = append(c.retargeted, t)
}

// on reports whether an index is on a cycle.
func (c *cycleFinder) on(index uint32) bool { return int(index) < len(c.onCycle) && c.onCycle[index] }

// updateCycles updates the cycles and returns the indexes that may have joined or left one. It visits each index that can be
// reached from a retargeted index once. The slice is valid until the next call.
func (c *cycleFinder) updateCycles() []uint32 {
	c.other = c.other[:0]
	for _, t := range c.retargeted {
		c.grow(t)
		for i := t.index; c.onCycle[i]; i = c.target[i] - 1 {
			c.onCycle[i] = false
			c.other = append(c.other, i)
		}
	}
	for _, t := range c.retargeted {
		c.target[t.index] = t.target
	}
	done := c.walk
	for _, t := range c.retargeted {
		c.follow(t.index, done)
	}
	c.retargeted = c.retargeted[:0]
	return c.other
}

// follow walks from an index to the end of the chain, or to an index that a walk with a number above done has visited.
// If this walk meets itself, follow marks the cycle.
func (c *cycleFinder) follow(i uint32, done uint64) {
	c.walk++
	for c.seen[i] <= done {
		c.seen[i] = c.walk
		if c.target[i] == 0 {
			return
		}
		i = c.target[i] - 1
	}
	if c.seen[i] != c.walk {
		return
	}
	for ; !c.onCycle[i]; i = c.target[i] - 1 {
		c.onCycle[i] = true
		c.other = append(c.other, i)
	}
}

// grow makes room for both ends of a retarget.
func (c *cycleFinder) grow(t retarget) {
	last := int(max(t.index+1, t.target)) - 1
	c.target = grown(c.target, last)
	c.onCycle = grown(c.onCycle, last)
	c.seen = grown(c.seen, last)
}

// clear drops all relations. The memory stays.
func (c *cycleFinder) clear() {
	clear(c.target)
	clear(c.onCycle)
	c.retargeted = c.retargeted[:0]
}
