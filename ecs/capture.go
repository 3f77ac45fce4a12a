package netecs

import (
	"reflect"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Capture brings what game code did to a server's world into a
// [snapshot.Store]: entities that gained a components.Replicated are spawned,
// those that lost it or are gone are despawned, and components that were
// added, removed or written become rows.
//
// Game code writes components with plain assignments and need not tell anyone.
// Captures find the changes by comparing columns of bytes with a shadow, so a
// tick in which nothing moved costs little more than reading the memory once.
// No allocation is made once the world has had its present size.
//
// An entity keeps its network id for as long as it has a Replicated, whatever
// game code does to that component's fields:
//
//   - Overwritten, the Replicated is put back.
//   - Copied to another entity, the copy has an id of its own, new if need be.
//   - Copied to a new entity while the original went, or lost its Replicated,
//     before the next capture, the id goes on with the copy: to the clients it
//     is the same entity. Where the copy lies exactly where the original did,
//     fields that name it may be nil for as many captures as there are 64s of ids.
//   - Removed and added again between two captures, nothing happened.
//   - With the tag of another server or client, the entity is left alone.
//
// A field tagged net:"entity" travels as the network id of the entity whose
// handle it holds, and the target of a relation likewise: of one that gets its
// id in the same capture, and as nil of one that is dead, does not replicate or
// is no entity at all. When that changes, so does the row. A relation that leads
// in a circle back to its entity has no target for the clients.
//
// Components with [snapshot.RowOptions].Marked are not compared: game code says [Mark] when it wrote one.
//
// components.Owner, Group, Priority and Rate on an entity are obeyed. By Rate,
// and by the options of the schema's rows, a component that was written may have
// to wait for its turn; it is captured as it is then.
//
// After ecs.World.Reset everything is despawned and capture starts again.
//
// Entities that others spawned in the store are left alone.
type Capture struct {
	watch *watch
	store *snapshot.Store
	refs  references
	pace  pace
	marks marks
	lanes []uint32      // of the row being captured
	group group         // of rows that are captured together
	apart bool          // for tests: no rows are
	blank [][]uint32    // by row: the lanes of the component's zero value
	known []faults      // by network index
	full  bool          // StoreFull was reported, and the store has been full since
	quick snapshot.Mask // rows of which nothing but the value has to be looked at in this run

	looked bool // this run has scanned the world

	sought uint32 // the index that seekCopies looked at last
	along  func() // see Along

	controlled []uint8 // by network index: bit k: the control of kind k was obeyed
}

// faults are what was reported of an entity: of which rows, and whether.
type faults struct {
	notFinite, outOfRange, noRotation, unmarked snapshot.Mask
	circle, weight                              bool
}

// NewCapture prepares to capture a world. It registers the schema's components
// with the world, which must not be locked. The tag marks the entities that
// this capture manages: any number but 0 that no other capture or apply on the
// same world has. A nil report drops the problems.
func NewCapture(w *ecs.World, store *snapshot.Store, schema *snapshot.Schema, tag uint32, report func(Problem)) *Capture {
	c := &Capture{
		watch: newWatch(w, schema, tag, true, report), store: store,
		refs: newReferences(schema), pace: newPace(store, schema),
	}
	c.watch.controls = bindControls(w)
	c.watch.logs = len(c.refs.tables) > 0
	c.marks = newMarks(schema, c.watch.controls, c.watch.ids)
	c.watch.unscanned = c.marks.rows
	for row := range schema.Rows() {
		c.blank = append(c.blank, blankLanes(schema.Plan(row)))
		if n := schema.Plan(row).Lanes(); n > len(c.lanes) {
			c.lanes = make([]uint32, n)
		}
	}
	return c
}

// Run captures tick t, which must be later than the tick of the capture before:
// otherwise nothing is captured. Game code must not run meanwhile.
func (c *Capture) Run(t tick.Tick) {
	if t <= c.store.Tick() {
		return
	}
	c.pace.now, c.pace.before = t, c.store.Tick()
	c.store.Begin(t)
	c.quick = c.quickRows()
	c.group.table = nil
	if !c.watch.mark.goes(c.watch.world) {
		c.rejoin()
	}
	c.watch.noteLocked()
	c.look()
	if len(c.marks.words) > 0 {
		c.captureMarked()
	}
	if len(c.pace.late) > 0 {
		c.captureLate()
	}
	if c.watch.logs { // else nobody names anyone
		c.seekCopies()
		c.resolve()
	}
	c.watch.trim()
	if c.along != nil {
		c.along()
	}
	c.store.Commit()
	c.watch.flush()
}

// Along sets a function that each Run calls before it commits, for others who
// keep entities in the same store. The world is unlocked then.
func (c *Capture) Along(f func()) { c.along = f }

// rejoin starts again after a reset of the world.
func (c *Capture) rejoin() {
	for index := range c.watch.byIndex {
		id := wire.NetworkID{Index: uint32(index), Generation: c.watch.byIndex[index].generation}
		c.store.Despawn(id)
	}
	c.watch.forget()
	c.refs.forget()
	c.pace.forget()
	c.marks.forget()
	c.watch.mark.join(c.watch.world)
	c.watch.note(Problem{Kind: WorldReset})
}

// quickRows are the rows that have neither marks nor a pace, name no entity and control nothing.
func (c *Capture) quickRows() snapshot.Mask {
	if c.marks.checked || len(c.pace.every) > 0 {
		return 0
	}
	return ^(c.refs.naming | c.pace.slow)
}

// isQuick reports whether a column is of quickRows. A rate may be the first of the world and have come in this very run.
func (c *Capture) isQuick(col *column) bool {
	return col.control == noControl && len(c.pace.every) == 0 && c.quick.Has(col.row)
}

// differs captures one component.
func (c *Capture) differs(id wire.NetworkID, col *column, row, _ int) {
	if c.isQuick(col) && c.captureQuick(id, col, row) {
		return
	}
	c.group.table = nil // it may come to have other rows
	if c.unmarked(id, col) {
		return
	}
	if col.control != noControl {
		c.control(id, col, row)
	}
	switch {
	case col.row < 0 || c.pace.never(col):
	case c.pace.due(id, col):
		c.captureRow(id, col, row)
	default:
		c.watch.wait = true
	}
}

// appears captures an entity whole.
func (c *Capture) appears(t *table, row, slot int) {
	c.group.table = nil
	e := c.watch.entityAt(t, row)
	r := t.replicas.replicated(row)
	at, id := c.identify(*r, e)
	if at == nil {
		c.passOver(t, row, slot)
		return
	}
	if slot < 0 {
		slot = t.newSlot(c.watch.run)
	}
	c.unannounced(id, e, t.rows)
	*r = components.Replicated{ID: id, World: c.watch.tag}
	c.watch.depart(id, at)
	c.watch.claim(at, t, slot)
	c.captureEntity(id, t, row)
	t.keepRow(row, slot)
}

// passOver keeps the shadow of an entity that has no id: a foreign one, which
// is then left in peace, or one that found the store full, which is tried
// again. A scattered table needs no shadow of either.
func (c *Capture) passOver(t *table, row, slot int) {
	if slot < 0 {
		return
	}
	t.keepRow(row, slot)
	if r := t.replicas.replicated(row); !c.watch.foreign(*r) {
		t.replicas.spoil(slot, *r)
	}
}

// captureEntity captures all components of a row, and that it has no others.
// What it has had before and is not due yet waits.
func (c *Capture) captureEntity(id wire.NetworkID, t *table, row int) {
	had := c.store.Mask(id)
	for gone := had &^ t.rows; gone != 0; gone &= gone - 1 {
		c.store.Remove(id, first(gone))
		c.refs.dropRow(id.Index, first(gone))
	}
	for bare := t.bare; bare != 0; bare &= bare - 1 {
		c.store.Set(id, first(bare), nil)
	}
	c.uncontrol(id, t.controls)
	for i := range t.columns {
		col := &t.columns[i]
		if col.control != noControl {
			c.control(id, col, row)
		}
		switch {
		case col.row < 0:
		default:
			c.captureFound(id, col, row, had)
		}
	}
	for i := range t.unscanned {
		if col := &t.unscanned[i]; col.aimAt(c.watch.world, c.watch.at(id).entity) {
			c.captureFound(id, col, 0, had)
			col.release()
		}
	}
}

// captureFound captures a component of an entity that was found.
func (c *Capture) captureFound(id wire.NetworkID, col *column, row int, had snapshot.Mask) {
	switch {
	case !had.Has(col.row):
		c.captureRow(id, col, row)
	case c.pace.never(col):
	case c.pace.due(id, col):
		c.captureRow(id, col, row)
	default:
		c.pace.putOff(id, col.row)
	}
}

// captureRow quantises one component into the store, or puts it off until the
// entities that it names are known.
func (c *Capture) captureRow(id wire.NetworkID, col *column, row int) {
	lanes := c.lanes[:len(c.blank[col.row])]
	good := c.store.Row(id, col.row)
	if good == nil {
		good = c.blank[col.row]
	}
	copy(lanes, good) // what a field keeps that cannot be captured
	if fault := col.plan.Quantise(col.at(row), lanes); fault.Reason != wire.NoFault {
		c.noteFault(id, col, row, fault)
	}
	if table := c.refs.byRow[col.row]; table >= 0 {
		c.refs.wait(id, table, lanes, col.target)
		return
	}
	c.store.Set(id, col.row, lanes)
}

// captureQuick is captureRow of a quick row that the entity has had before, which it says.
func (c *Capture) captureQuick(id wire.NetworkID, col *column, row int) bool {
	place := c.store.Row(id, col.row)
	if place == nil {
		return false
	}
	lanes := c.lanes[:len(place)]
	for i, v := range place {
		lanes[i] = v
	}
	if fault := col.plan.Quantise(col.at(row), lanes); fault.Reason != wire.NoFault {
		c.noteFault(id, col, row, fault)
	}
	c.store.Replace(id, col.row, place, lanes)
	return true
}

// noteFault reports the first fault of each kind that a component of an entity has.
func (c *Capture) noteFault(id wire.NetworkID, col *column, row int, fault quantize.Fault) {
	known := &c.known[id.Index]
	kind, told := kindOf(fault.Reason), &known.outOfRange
	switch kind {
	case NotFinite:
		told = &known.notFinite
	case NoRotation:
		told = &known.noRotation
	}
	if told.Has(col.row) {
		return
	}
	*told = told.With(col.row)
	c.watch.note(Problem{
		Kind: kind, Entity: id, Local: c.watch.at(id).entity,
		Component: col.plan.Name(), Field: fault.Field(), Detail: col.plan.Outside(reflect.NewAt(col.plan.Type(), col.at(row)).Elem(), fault),
	})
}

// despawnLost despawns the ids that no row has any more.
func (c *Capture) despawnLost() {
	for _, id := range c.watch.lost {
		if at := c.watch.at(id); at != nil && at.stamp != c.watch.run {
			c.unannounced(id, ecs.Entity{}, 0)
			c.store.Despawn(id)
			c.watch.drop(id)
			c.refs.drop(id.Index)
		}
	}
}

// Entity is the entity that has a network id, as of the last Run.
func (c *Capture) Entity(id wire.NetworkID) (ecs.Entity, bool) {
	at := c.watch.at(id)
	if at == nil || !c.watch.mark.goes(c.watch.world) {
		return ecs.Entity{}, false
	}
	if !c.watch.wears(at.entity, id) && !c.watch.relocate(at, id) {
		return ecs.Entity{}, false
	}
	return c.watch.at(id).entity, true
}

// ID is the network id of a replicated entity, as of the last Run. An entity
// that no Run has seen has none yet. One to which a Replicated was copied whose
// original is gone, and which came to lie exactly in its place, is recognised
// by [Capture.Entity] first.
func (c *Capture) ID(e ecs.Entity) (wire.NetworkID, bool) {
	id, ok := c.watch.holder(e)
	if !ok || !c.watch.mark.goes(c.watch.world) || !c.watch.wears(e, id) {
		return wire.NetworkID{}, false
	}
	return id, true
}

// Release gives back what the capture has registered with the world. The
// capture is of no use afterwards; entities keep their Replicated.
func (c *Capture) Release() { c.watch.release() }
