package netecs

import (
	"strconv"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/components"
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
	tracker  *tracker
	store    *snapshot.Store
	refs     captureRefs
	rates    captureRates
	marks    marks
	lanes    []uint32         // of the row being captured
	batch    rowBatch         // of rows that are captured together
	apart    bool             // for tests: no rows are
	blank    [][]uint32       // by row: the lanes of the component's zero value
	reported []reportedFaults // by network index
	full     bool             // StoreFull was reported, and the store has been full since
	quick    snapshot.Mask    // rows that are always captured when they differ, in this run: see alwaysDue

	looked bool // this run has scanned the world

	sought uint32 // the index that seekCopies looked at last
	along  func() // see Along

	controlled []uint8 // by network index: bit k: the control of kind k was obeyed
}

// reportedFaults are what was reported of an entity: of which rows, and whether.
type reportedFaults struct {
	notFinite, outOfRange, noRotation, unmarked snapshot.Mask
	circle, weight                              bool
}

// NewCapture prepares to capture a world. It registers the schema's components
// with the world, which must not be locked. The tag marks the entities that
// this capture manages: any number but 0 that no other capture or apply on the
// same world has. A nil report drops the problems.
func NewCapture(w *ecs.World, store *snapshot.Store, schema *snapshot.Schema, tag uint32, report func(Problem)) *Capture {
	c := &Capture{
		tracker: newTracker(w, schema, tag, true, report), store: store,
		refs: newCaptureRefs(schema), rates: newCaptureRates(store, schema),
	}
	c.tracker.controls = bindControls(w)
	c.tracker.logs = len(c.refs.tables) > 0
	c.marks = newMarks(schema, c.tracker.controls, c.tracker.ids)
	c.marks.Capture, c.refs.Capture, c.rates.Capture, c.batch.Capture = c, c, c, c
	c.tracker.unscanned = c.marks.rows
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
	c.rates.now, c.rates.before = t, c.store.Tick()
	c.store.Begin(t)
	c.quick = c.alwaysDue()
	c.batch.table = nil
	if !c.tracker.life.isCurrent(c.tracker.world) {
		c.rejoin()
	}
	c.tracker.noteLocked()
	m := &c.marks
	if c.looked = !m.only || m.world || m.checked; c.looked { // by marks alone nothing there may need a look
		c.tracker.scan(c)
		c.despawnLost()
		m.world = false
	}
	if len(m.words) > 0 {
		c.marks.captureMarked()
	}
	if len(c.rates.deferred) > 0 {
		c.rates.captureDeferred()
	}
	if c.tracker.logs { // else nobody names anyone
		c.seekCopies()
		c.refs.resolve()
	}
	c.tracker.trim()
	if c.along != nil {
		c.along()
	}
	c.store.Commit()
	c.tracker.flush()
}

// Along sets a function that each Run calls before it commits, for others who
// keep entities in the same store. The world is unlocked then.
func (c *Capture) Along(f func()) { c.along = f }

// rejoin starts again after a reset of the world.
func (c *Capture) rejoin() {
	for index := range c.tracker.byIndex {
		id := wire.NetworkID{Index: uint32(index), Generation: c.tracker.byIndex[index].generation}
		c.store.Despawn(id)
	}
	c.tracker.forgetShadows()
	c.refs.forgetRefs()
	c.rates.forgetRates()
	c.marks.forgetMarks()
	c.tracker.life.join(c.tracker.world)
	c.tracker.note(Problem{Kind: WorldReset})
}

// differs captures one component.
func (c *Capture) differs(id wire.NetworkID, col *column, row, _ int) (keep bool) {
	if c.isQuick(col) {
		c.captureRow(id, col, row)
		return true
	}
	c.batch.table = nil // it may come to have other rows
	if c.marks.markDecides(id, col) {
		return c.marks.has(id, col.row)
	}
	if col.control != noControl {
		c.control(id, col, row)
	}
	switch {
	case col.row < 0 || c.rates.never(col):
	case c.rates.due(id, col):
		c.captureRow(id, col, row)
	default:
		return false
	}
	return true
}

// appears captures an entity whole.
func (c *Capture) appears(t *table, row, slot int) {
	c.batch.table = nil
	e := c.tracker.entityAt(t, row)
	r := t.replicas.replicated(row)
	at, id := c.identify(*r, e)
	if at == nil {
		c.passOver(t, row, slot)
		return
	}
	if slot < 0 {
		slot = t.newSlot(c.tracker.run)
	}
	c.marks.noteUnmarked(id, e, t.rows)
	*r = components.Replicated{ID: id, World: c.tracker.tag}
	c.tracker.noteMoved(id, at)
	c.tracker.setSlot(at, t, slot)
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
	if r := t.replicas.replicated(row); !c.tracker.foreign(*r) {
		t.replicas.spoil(slot, *r)
	}
}

// despawnLost despawns the ids that no row has any more.
func (c *Capture) despawnLost() {
	for _, id := range c.tracker.lost {
		if at := c.tracker.entry(id); at != nil && at.stamp != c.tracker.run {
			c.marks.noteUnmarked(id, ecs.Entity{}, 0)
			c.store.Despawn(id)
			c.tracker.free(id)
			c.refs.drop(id.Index)
		}
	}
}

// Entity is the entity that has a network id, as of the last Run.
func (c *Capture) Entity(id wire.NetworkID) (ecs.Entity, bool) {
	at := c.tracker.entry(id)
	if at == nil || !c.tracker.life.isCurrent(c.tracker.world) {
		return ecs.Entity{}, false
	}
	if !c.tracker.hasID(at.entity, id) && !c.tracker.rebind(at, id) {
		return ecs.Entity{}, false
	}
	return c.tracker.entry(id).entity, true
}

// ID is the network id of a replicated entity, as of the last Run. An entity
// that no Run has seen has none yet. One to which a Replicated was copied whose
// original is gone, and which came to lie exactly in its place, is recognised
// by [Capture.Entity] first.
func (c *Capture) ID(e ecs.Entity) (wire.NetworkID, bool) {
	id, ok := c.tracker.idOf(e)
	if !ok || !c.tracker.life.isCurrent(c.tracker.world) || !c.tracker.hasID(e, id) {
		return wire.NetworkID{}, false
	}
	return id, true
}

// Release gives back what the capture has registered with the world. The
// capture is of no use afterwards; entities keep their Replicated.
func (c *Capture) Release() { c.tracker.release() }

// identify says which id an entity has that the scan came upon, given what its
// Replicated says. The answer hangs on the handle: Arche never gives the same
// one to two entities of a world's life, so a row whose Replicated names an id
// is that entity moved, or a copy, and which of the two is known at once.
func (c *Capture) identify(r components.Replicated, e ecs.Entity) (*entityEntry, wire.NetworkID) {
	own, has := c.tracker.idOf(e)
	if r.ID.IsZero() && has {
		return c.tracker.entry(own), own
	}
	if c.tracker.foreign(r) {
		if has {
			return c.putBack(OverwrittenReplicated, own, e)
		}
		c.tracker.noteForeign(e, r.World)
		return nil, wire.NetworkID{}
	}
	if r.ID.IsZero() {
		return c.spawn(e)
	}
	kind := StaleReplicated
	if at := c.tracker.entry(r.ID); at != nil {
		if at.entity == e {
			return at, r.ID
		}
		if !has && !c.tracker.isReplicated(at.entity) {
			return c.tracker.assign(r.ID, e), r.ID // the id goes on with the copy
		}
		kind = CopiedReplicated
	}
	if has {
		return c.putBack(kind, own, e)
	}
	at, id := c.spawn(e)
	if at != nil {
		c.tracker.note(Problem{Kind: kind, Entity: id, Local: e})
	}
	return at, id
}

// spawn gives a new id to an entity, none when the store is full.
func (c *Capture) spawn(e ecs.Entity) (*entityEntry, wire.NetworkID) {
	id := c.store.Spawn()
	if id.IsZero() {
		if !c.full {
			c.tracker.note(Problem{Kind: StoreFull, Local: e, Detail: strconv.Itoa(c.store.MaxEntities())})
		}
		c.full = true
		return nil, id
	}
	c.full = false
	c.reported = grown(c.reported, int(id.Index))
	c.reported[id.Index] = reportedFaults{}
	c.rates.begin(id.Index)
	return c.tracker.assign(id, e), id
}

// putBack keeps the id of an entity whose Replicated was overwritten.
func (c *Capture) putBack(kind ProblemKind, own wire.NetworkID, e ecs.Entity) (*entityEntry, wire.NetworkID) {
	c.tracker.note(Problem{Kind: kind, Entity: own, Local: e})
	return c.tracker.entry(own), own
}

// soughtEach is how many ids are looked at in a capture.
const soughtEach = 64

// seekCopies looks at some ids, the next ones each time, whether their entity went and a copy came to lie in its place: then
// whoever names the copy names nobody until that is known, and who named the entity goes on to.
func (c *Capture) seekCopies() {
	w := c.tracker
	for range min(soughtEach, len(w.byIndex)) {
		c.sought = (c.sought + 1) % uint32(len(w.byIndex))
		if at := &w.byIndex[c.sought]; at.generation != 0 && !w.world.Alive(at.entity) {
			w.rebind(at, w.idAt(c.sought))
		}
	}
}

// ByMarks makes Run capture what was marked and look at nothing else, so that it costs what was written and not what there
// is. Game code then says [Mark] for every write, of control components too where they are of the schema, and
// [Capture.MarkWorld] when entities came, went, gained or lost components, or other control components were written.
func (c *Capture) ByMarks(on bool) { c.marks.only = on }

// MarkWorld has the next Run look at the whole world after [Capture.ByMarks]. What was written without a mark goes along.
func (c *Capture) MarkWorld() { c.marks.world = true }

// CheckMarks makes every Run look at the whole world and report, as UnmarkedWrite, what was written without a mark, once for
// each component of each entity. It still does not travel, until MarkWorld or a mark takes it along. It is for tests: it costs
// what marks save. It must be called before the first Run.
func (c *Capture) CheckMarks() { c.marks.checked, c.tracker.unscanned = true, 0 }

// Write gives a component of an entity the value that a client wrote. The next Run captures it like what game code writes.
// It is false when the entity is not there, or lacks the component.
func (c *Capture) Write(id wire.NetworkID, row int, lanes []uint32) bool {
	e, ok := c.Entity(id)
	if !ok {
		return false
	}
	c.marks.mark(e, snapshot.Mask(0).With(row))
	return write(c.tracker.world, e, column{
		id: c.tracker.ids[row], plan: c.tracker.schema.Plan(row), size: int(c.tracker.schema.Plan(row).Size()),
	}, lanes)
}

// write writes one component of an entity.
func write(w *ecs.World, e ecs.Entity, c column, lanes []uint32) bool {
	if !w.Has(e, c.id) || !c.bindTo(w, e) {
		return false
	}
	c.write(0, lanes)
	c.unbind()
	return true
}
