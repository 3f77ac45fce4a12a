package netecs

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Capture writes the changes of a server's world to a [snapshot.Store]. It spawns entities that gained a
// components.Replicated, and despawns entities that lost it or were removed. It stores the components that were added,
// removed or written as rows.
//
// Game code writes components with plain assignments. Run compares the bytes of each column with the shadow, the bytes
// at the capture before. A tick without changes costs little more than reading the memory once. Run does not allocate
// once the world has reached its present size.
//
// An entity keeps its network id as long as it has a Replicated. Game code may write the fields of that component:
//
//   - An overwritten Replicated is restored.
//   - A copy on another entity gets a new id.
//   - A copy on a new entity keeps the id if the original was removed, or lost its Replicated, before the next capture.
//     For the clients it is the same entity. If the copy is in the row of the original, fields that refer to it may be
//     nil for up to n/64 captures, with n ids.
//   - A Replicated that was removed and added again between two captures changes nothing.
//   - An entity with the tag of another server or client is left alone.
//
// A field tagged net:"entity" contains an entity handle. It is sent as the network id of that entity, and so is the
// target of a relation. The entity may get its id in the same capture. A handle of an entity that is dead, not
// replicated or never existed is sent as nil. When the id of an entity changes, Run stores the rows that refer to it
// again. A relation on a cycle is sent without a target.
//
// Run does not compare components with [snapshot.RowOptions].Marked: game code calls [Mark] after it wrote one.
//
// components.Owner, Group, Priority and Rate of an entity take effect. A Rate, or the options of a row in the schema,
// may delay the capture of a component. Run then stores the value at the later tick.
//
// After World.Reset, Run despawns all entities of this capture and starts again. Entities that others spawned in
// the store stay.
type Capture struct {
	tracker   *tracker
	store     *snapshot.Store
	refs      captureRefs
	rates     captureRates
	marks     marks
	lanes     []uint32         // scratch of captureRow
	batch     rowBatch         // rows that are captured together
	noBatches bool             // captures each row alone: in plain builds, and for tests
	blank     [][]uint32       // by row: the lanes of the component's zero value
	reported  []reportedFaults // by network index
	full      bool             // StoreFull was reported, and the store has been full since

	copyIndex    uint32 // the last index that seekCopies checked
	beforeCommit func() // see BeforeCommit

	controlled []uint8 // by network index: bit k: the control of kind k took effect

	scene        sceneCheck
	unreplicated unreplicated

	reserved   map[Entity]wire.NetworkID // ids that Reserve gave out; each Run empties it
	reservedBy map[wire.NetworkID]Entity // the reverse of reserved
	unbornIDs  []wire.NetworkID          // scratch of endUnborn

	newOwners []Entity // entities that SetOwner gave a new owner since the last Run
}

// reportedFaults contains the rows of an entity for which each problem was reported.
type reportedFaults struct {
	notFinite, outOfRange, noRotation snapshot.Mask
	circle, weight                    bool
}

// NewCapture prepares to capture a world. It registers the schema's components with the world, which must not be
// locked. The tag marks the entities of this capture. It is not 0, and no other capture or apply on the same world has
// it. If report is nil, problems are dropped.
func NewCapture(w *World, store *snapshot.Store, schema *snapshot.Schema, tag uint32, report func(Problem)) *Capture {
	c := &Capture{
		tracker: newTracker(w, schema, tag, true, report), store: store,
		refs: newCaptureRefs(schema), rates: newCaptureRates(schema), noBatches: plain.On,
		scene: sceneCheck{row: schema.RowOf(reflect.TypeFor[components.SceneID]())},
	}
	c.tracker.controls = bindControls(w)
	c.tracker.logs = len(c.refs.tables) > 0
	c.unreplicated = newUnreplicated(&c.tracker.binding)
	c.marks = newMarks(schema, c.tracker.controls, c.tracker.ids)
	c.refs.capture, c.refs.tracker, c.refs.store = c, c.tracker, store
	c.batch.capture = c
	c.tracker.unscanned = c.marks.rows
	c.tracker.steady = c.refs.naming.Union(c.rates.slow).Not()
	for row := range schema.Rows() {
		c.blank = append(c.blank, blankLanes(schema.Plan(row)))
		if n := schema.Plan(row).Lanes(); n > len(c.lanes) {
			c.lanes = make([]uint32, n)
		}
	}
	return c
}

// Prompt sets a function that returns components of an entity that are captured in each tick, whatever its
// components.Rate. Run calls it only for components that a Rate or the schema's options delay.
func (c *Capture) Prompt(rows func(wire.NetworkID) snapshot.Mask) { c.rates.prompt = rows }

// Run captures tick t. It does nothing if t is not later than the tick of the capture before. Game code must not run
// meanwhile. Run reports whether the world was reset since the capture before.
func (c *Capture) Run(t tick.Tick) (reset bool) {
	tr, before := c.tracker, c.store.Tick()
	if t <= before {
		return false
	}
	c.rates.before = before
	c.store.Begin(t)
	c.batch.table = nil
	if reset = !tr.life.isCurrent(tr.world); reset {
		c.restart()
	}
	if tr.locked || tr.world.IsLocked() {
		tr.noteLocked()
	}
	tr.scan(c) // calls differs, rowsDiffer and appears below
	if len(tr.lost) > 0 {
		c.despawnLost()
	}
	if len(c.marks.list) > 0 {
		c.captureMarked()
	}
	if len(c.newOwners) > 0 {
		c.readOwners()
	}
	if len(c.rates.deferred) > 0 {
		c.captureDeferred()
	}
	if tr.logs { // components have entity fields
		c.seekCopies()
		c.refs.resolve()
	}
	tr.trim()
	if len(c.reserved) > 0 {
		c.endUnborn()
	}
	if c.beforeCommit != nil {
		c.beforeCommit()
	}
	c.store.Commit()
	if c.scene.row >= 0 {
		c.scene.checkBirths(c)
	}
	if u := &c.unreplicated; u.reported < unreplicatedSets {
		if u.wait--; u.wait <= 0 {
			u.check(tr)
		}
	}
	if len(tr.problems) > 0 {
		tr.flush()
	}
	return reset
}

// SetOwner gives an entity that has a components.Owner to another client, at once. The next Run reads the component
// again, with or without a mark, since game code may write it in between.
func (c *Capture) SetOwner(e Entity, client wire.ClientID) {
	w := c.tracker.world
	if _, ok := OwnerOf(w, e); !ok {
		return
	}
	(*components.Owner)(world.Get(w, e, c.tracker.controls[snapshot.OwnerControl])).Client = client
	if id, ok := c.ID(e); ok {
		c.store.SetOwner(id, client)
		c.newOwners = append(c.newOwners, e)
	}
}

// readOwners reads the owners of the entities that SetOwner changed.
func (c *Capture) readOwners() {
	for _, e := range c.newOwners {
		if id, ok := c.ID(e); ok {
			c.store.SetOwner(id, ownerOf(c.tracker.world, e, c.tracker.controls[snapshot.OwnerControl]))
		}
	}
	c.newOwners = c.newOwners[:0]
}

// BeforeCommit sets a function that each Run calls before it commits, for other code that writes to the same store. The world
// is not locked during the call.
func (c *Capture) BeforeCommit(f func()) { c.beforeCommit = f }

// restart starts again after a reset of the world.
func (c *Capture) restart() {
	for index := range c.tracker.byIndex {
		id := wire.NetworkID{Index: uint32(index), Generation: c.tracker.byIndex[index].generation}
		c.store.Despawn(id)
	}
	c.endUnborn()
	c.tracker.forgetShadows()
	c.refs.forgetRefs()
	c.rates.forgetRates()
	c.marks.forgetMarks()
	c.unreplicated.seen = c.unreplicated.seen[:0] // each component set is still reported only once
	c.tracker.life.join(c.tracker.world)
	c.tracker.note(Problem{Kind: WorldReset})
}

// differs captures one component. It implements trackerEvents.
func (c *Capture) differs(id wire.NetworkID, col *column, row, _ int) (keep bool) {
	if c.isQuick(col) {
		c.captureRow(id, col, row)
		return true
	}
	c.batch.table = nil // its entities may get other rows
	if col.control != snapshot.NoControl {
		c.control(id, col, row)
	}
	return col.row < 0 || c.captureDue(id, col, row)
}

// appears captures all components of an entity. It implements trackerEvents.
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
	*r = components.Replicated{ID: id, World: c.tracker.tag}
	c.tracker.noteMoved(id, at)
	at.table, at.slot, at.stamp = t.number, int32(slot), c.tracker.run
	c.captureEntity(id, t, row)
	t.keepRow(row, slot)
}

// captureEntity captures all components of a row and removes the entity's other components from the store. A component
// that the store already has and that is not due is deferred.
func (c *Capture) captureEntity(id wire.NetworkID, t *table, row int) {
	had := c.store.Mask(id)
	for gone := had.Minus(t.rows); !gone.IsZero(); gone = gone.Rest() {
		c.store.Remove(id, gone.Lowest())
		c.refs.dropRow(id.Index, gone.Lowest())
	}
	for bare := t.bare; !bare.IsZero(); bare = bare.Rest() {
		c.store.Set(id, bare.Lowest(), nil)
	}
	c.uncontrol(id, t.controls)
	for i := range t.columns {
		col := &t.columns[i]
		if col.control != snapshot.NoControl {
			c.control(id, col, row)
		}
		if col.row >= 0 {
			c.captureFound(id, col, row, had)
		}
	}
	for i := range t.unscanned {
		if col := &t.unscanned[i]; col.bindTo(c.tracker.world, c.tracker.entry(id).entity) {
			c.captureFound(id, col, 0, had)
			col.unbind()
		}
	}
}

// captureFound captures a component of an entity that the scan found new or moved.
func (c *Capture) captureFound(id wire.NetworkID, col *column, row int, had snapshot.Mask) {
	if !had.Has(col.row) {
		c.captureRow(id, col, row)
	} else if !c.captureDue(id, col, row) {
		c.rates.deferRow(id, col.row)
	}
}

// passOver updates the shadow of an entity without an id. A foreign entity is not examined again. An entity that did
// not fit in the full store is tried again by the next scan. A scattered table has no shadow of either.
func (c *Capture) passOver(t *table, row, slot int) {
	if slot < 0 {
		return
	}
	t.keepRow(row, slot)
	if r := t.replicas.replicated(row); !c.tracker.foreign(*r) {
		t.replicas.spoil(slot, *r)
	}
}

// despawnLost despawns the ids that no longer have a row in the world.
func (c *Capture) despawnLost() {
	for _, id := range c.tracker.lost {
		if at := c.tracker.entry(id); at != nil && at.stamp != c.tracker.run {
			c.store.Despawn(id)
			c.tracker.free(id)
			c.refs.drop(id.Index)
		}
	}
}

// Entity returns the entity of a network id, as of the last Run or from [Capture.Reserve].
func (c *Capture) Entity(id wire.NetworkID) (Entity, bool) {
	if c.store.Reserved(id) {
		return c.unborn(id)
	}
	at := c.tracker.entry(id)
	if at == nil || !c.tracker.life.isCurrent(c.tracker.world) {
		return Entity{}, false
	}
	if !c.tracker.hasID(at.entity, id) && !c.tracker.rebind(at, id) {
		return Entity{}, false
	}
	return c.tracker.entry(id).entity, true
}

// ID returns the network id of a replicated entity, as of the last Run. An entity that no Run has seen has no id. If
// the original was removed and a copy of its Replicated took its row, ID finds the copy only after [Capture.Entity]
// did.
func (c *Capture) ID(e Entity) (wire.NetworkID, bool) {
	id, ok := c.tracker.idOf(e)
	if !ok || !c.tracker.life.isCurrent(c.tracker.world) || !c.tracker.hasID(e, id) {
		return wire.NetworkID{}, false
	}
	return id, true
}

// Reserve returns the network id of an entity, as ID does. If the entity has a Replicated and no Run has seen it,
// Reserve gives it an id at once: the next Run spawns the entity with this id. If the entity is then gone, or has no
// Replicated, the id is never sent. Reserve returns false where [Capture.ID] does for other entities, and if the store
// is full.
func (c *Capture) Reserve(e Entity) (wire.NetworkID, bool) {
	if id, ok := c.ID(e); ok {
		return id, true
	}
	tr := c.tracker
	if !tr.life.isCurrent(tr.world) || !tr.world.Alive(e) {
		return wire.NetworkID{}, false
	}
	if id, ok := c.reserved[e]; ok {
		return id, true
	}
	_, has := tr.idOf(e)
	if r := replicatedOf(tr.world, e, tr.replicated); r == nil || has || *r != (components.Replicated{}) {
		return wire.NetworkID{}, false
	}
	id := c.store.Reserve()
	if id.IsZero() {
		return id, false
	}
	if c.reserved == nil {
		c.reserved, c.reservedBy = map[Entity]wire.NetworkID{}, map[wire.NetworkID]Entity{}
	}
	c.reserved[e], c.reservedBy[id] = id, e
	if owner := ownerOf(tr.world, e, tr.controls[snapshot.OwnerControl]); owner != 0 {
		c.store.SetOwner(id, owner)
	}
	return id, true
}

// unborn returns the entity of a reserved id, if it is still alive.
func (c *Capture) unborn(id wire.NetworkID) (Entity, bool) {
	e, ok := c.reservedBy[id]
	return e, ok && c.tracker.life.isCurrent(c.tracker.world) && c.tracker.world.Alive(e)
}

// endUnborn ends the reserved ids whose entities the scan did not find.
func (c *Capture) endUnborn() {
	for _, id := range c.reserved {
		c.unbornIDs = append(c.unbornIDs, id)
	}
	slices.SortFunc(c.unbornIDs, func(a, b wire.NetworkID) int { return cmp.Compare(a.Index, b.Index) })
	for _, id := range c.unbornIDs {
		c.store.Adopt(id)
		c.store.Despawn(id)
	}
	c.unbornIDs = c.unbornIDs[:0]
	clear(c.reserved)
	clear(c.reservedBy)
}

// Release unregisters the capture from the world. The capture must not be used afterwards. Entities keep their
// Replicated.
func (c *Capture) Release() { c.tracker.release() }

// identify returns the id of an entity that the scan found, given its Replicated. Arche does not reuse a handle within
// a life of the world. So the handle shows whether a Replicated with a known id is on the same entity, which moved, or
// on a copy.
func (c *Capture) identify(r components.Replicated, e Entity) (*entityEntry, wire.NetworkID) {
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
			return c.tracker.assign(r.ID, e), r.ID // the copy keeps the id
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

// spawn gives a new id to an entity. It returns the zero id if the store is full.
func (c *Capture) spawn(e Entity) (*entityEntry, wire.NetworkID) {
	id, reserved := c.reserved[e]
	if reserved {
		delete(c.reserved, e)
		delete(c.reservedBy, id)
		c.store.Adopt(id)
	} else {
		id = c.store.Spawn()
	}
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
	c.rates.forget(id.Index)
	return c.tracker.assign(id, e), id
}

// putBack restores the id of an entity whose Replicated was overwritten.
func (c *Capture) putBack(kind ProblemKind, own wire.NetworkID, e Entity) (*entityEntry, wire.NetworkID) {
	c.tracker.note(Problem{Kind: kind, Entity: own, Local: e})
	return c.tracker.entry(own), own
}

// copyChecks is the number of ids that seekCopies checks in each capture.
const copyChecks = 64

// seekCopies checks the next ids in turn. It finds ids whose entity was removed while a copy of it took the same row.
// Until then, fields that refer to the copy are nil, and fields that refer to the removed entity still have its id.
func (c *Capture) seekCopies() {
	tr := c.tracker
	for range min(copyChecks, len(tr.byIndex)) {
		c.copyIndex = (c.copyIndex + 1) % uint32(len(tr.byIndex))
		if at := &tr.byIndex[c.copyIndex]; at.generation != 0 && !tr.world.Alive(at.entity) {
			tr.rebind(at, wire.NetworkID{Index: c.copyIndex, Generation: at.generation})
		}
	}
}

// Write sets a component of an entity to a value that a client wrote. The next Run captures it like a write of game
// code. Write returns false if the entity does not exist or lacks the component.
func (c *Capture) Write(id wire.NetworkID, row int, lanes []uint32) bool {
	e, ok := c.Entity(id)
	if !ok {
		return false
	}
	c.mark(e, row)
	return write(c.tracker.world, e, column{
		id: c.tracker.ids[row], plan: c.tracker.schema.Plan(row), size: int(c.tracker.schema.Plan(row).Size()),
	}, lanes)
}

// Read quantises the present value of a component. A field with a fault keeps its value in lanes. Read returns false if the entity does not
// exist or lacks the component.
func (c *Capture) Read(id wire.NetworkID, row int, lanes []uint32) bool {
	e, ok := c.Entity(id)
	if !ok {
		return false
	}
	plan := c.tracker.schema.Plan(row)
	col := column{id: c.tracker.ids[row], plan: plan, size: int(plan.Size())}
	if !world.Has(c.tracker.world, e, col.id) || !col.bindTo(c.tracker.world, e) {
		return false
	}
	_ = plan.Quantise(col.at(0), lanes)
	col.unbind()
	return true
}

// write writes one component of an entity. It returns false if the entity lacks the component.
func write(w *World, e Entity, c column, lanes []uint32) bool {
	if !world.Has(w, e, c.id) || !c.bindTo(w, e) {
		return false
	}
	c.write(0, lanes)
	c.unbind()
	return true
}
