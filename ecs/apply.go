package netecs

import (
	"iter"
	"reflect"
	"slices"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Hooks are functions that [Apply.Run] calls when all rows of the run are written and the world is unlocked. They may
// change the world.
type Hooks struct {
	// Spawned is called for each new entity that still exists.
	Spawned func(Entity, wire.NetworkID)
	// Despawned is called for each entity before its removal. All calls of a run come before the first removal. It is
	// not called if game code removed the entity or its Replicated.
	Despawned func(Entity, wire.NetworkID)
}

// ApplyStats counts what an [Apply] did.
type ApplyStats struct {
	Applied   uint64 // runs with something to apply
	Spawned   uint64 // entities created
	Despawned uint64 // entities removed
	Rows      uint64 // components written, changed or not
	Restored  uint64 // components restored because client code wrote them
	Resolved  uint64 // rows written again because an entity that they refer to appeared or was removed
}

// Apply writes the state that a client received to its world. Nothing else writes replicated state there.
//
// Game code on the client may write anything. The next Run restores the server's state:
//
//   - A replicated component that game code wrote gets the server's value. Fields tagged net:"-" belong to the game.
//   - A component that game code removed stays removed.
//   - A component that game code added stays local until the server adds it too.
//
// Each kind of change is reported once per entity, a write once per component of it.
//
// A field tagged net:"entity" contains the entity of this world that corresponds to the one at the server. So does the
// target of a relation. It is the zero entity while there is none here: the entity has not arrived, was despawned, or
// is hidden. Run fills it in when the entity appears.
//
// If a new entity of the server has the components.SceneID of an entity of this world, Apply uses that entity and
// creates none. A despawn removes it like any other. When the connection ends, it stays and loses its Replicated.
//
// After World.Reset, Run spawns everything alive again.
type Apply struct {
	tracker  *tracker
	replica  *replica.Replica
	hooks    Hooks
	entities []entityState // by network index
	stats    ApplyStats

	run        uint32   // number of the last run that changed something
	all        bool     // the next run applies everything, not only changes
	again      []uint32 // indexes to apply although nothing was received
	slotsStale bool     // slots must be assigned again

	born           []wire.NetworkID // entities for which Spawned is still to be called
	toRemove       []removal        // entities to remove, after a call of Despawned
	delayed        delayedDespawns
	local          localChanges
	removePerTable removePerTable
	running        bool

	add, rem []world.ID   // arguments of structural changes
	fill     func(Entity) // fillEntity as a value: made once, so that no call allocates
	filling  fillMode
	before   []byte // scratch: the old bytes of a component that is not in the shadow
	births   spawnBatches
	writer   valueWriter
	noRanges bool // writes each entity alone: in plain builds, and for tests
	refs     backRefs
	targets  relationTargets
	mine     func(wire.NetworkID) snapshot.Mask // rows that the client may write; nil: none
	adopts   func(wire.NetworkID) (Entity, bool)
	scene    scene
}

// entityState is the state that Apply stores about the entity at a network index.
type entityState struct {
	mask           snapshot.Mask // rows of the server's entity when it was last applied
	gone           snapshot.Mask // of mask: rows that this entity lacks, since game code removed them or because of secondRelation
	secondRelation snapshot.Mask // of gone: relations that were not added because the entity has another one
	changed        snapshot.Mask // rows that changed in this run before writeAll
	structChange   int32         // 1 + index in writer.structChanges; 0: no such change in the last run
	listed         uint32        // the last run that listed the entity for writing
	left           bool          // game code removed the entity, or its Replicated
	restored       snapshot.Mask // rows for which LocalWriteRestored was reported
	authored       snapshot.Mask // rows that the client has written since it got the right
	reverted       snapshot.Mask // rows that Revert is to put back: what the client wrote of them until the next run does not count
	loaded         bool          // the entity was in this world before the server showed it: see scene
	setAside       snapshot.Mask // rows that Apply leaves alone: see SetAside
	takeBackRows   snapshot.Mask // of setAside: rows that Apply writes again from the next run on
	faulty         bool          // a fault of a written value was reported
}

// NewApply prepares to write what a replica receives to a world. It registers the schema's components with the world,
// which must not be locked. The tag marks the entities of this apply. It is not 0, and no other capture or apply on the
// same world has it. If report is nil, problems are dropped.
func NewApply(w *World, r *replica.Replica, schema *snapshot.Schema, tag uint32,
	hooks Hooks, report func(Problem)) *Apply {
	a := &Apply{tracker: newTracker(w, schema, tag, false, report), replica: r, hooks: hooks, all: true, noRanges: plain.On, scene: newScene(schema)}
	a.add = make([]world.ID, 0, schema.Rows()+1)
	a.rem = make([]world.ID, 0, schema.Rows())
	a.fill = a.fillEntity
	a.births.byMask = map[snapshot.Mask]int{}
	a.refs = newBackRefs(schema)
	a.writer.apply, a.local.apply, a.refs.apply, a.targets.apply, a.delayed.apply = a, a, a, a, a
	a.writer.tracker, a.local.tracker, a.refs.tracker, a.targets.tracker, a.delayed.tracker = a.tracker, a.tracker, a.tracker, a.tracker, a.tracker
	for row := range schema.Rows() {
		if lane, aimed := schema.Plan(row).Target(); aimed {
			a.targets.addGraph(row, lane)
		}
	}
	return a
}

// Run applies what the replica received since the last Run. While the world is locked Run does nothing. A later Run
// then applies everything.
func (a *Apply) Run() {
	if a.running || !a.unlocked() {
		return
	}
	a.running = true
	a.removeQueued() // removals that the last run could not finish
	if !a.tracker.life.isCurrent(a.tracker.world) {
		a.restart()
	}
	a.tracker.scan(&a.local)
	a.local.noticeLost()
	a.tracker.cutOff()
	a.update()
	if len(a.delayed.delayedRefs) > 0 {
		a.delayed.clearRefs()
	}
	if a.slotsStale {
		a.assignSlots()
	}
	for i := range a.targets.graphs {
		a.targets.graphs[i].reportCycles()
	}
	a.tracker.flush()
	a.removeQueued()
	if len(a.born) > 0 {
		a.announceBorn()
	}
	a.running = false
}

// Present sets the moment that a Smooth will present in this frame. Call it before Run: relations that the Smooth shows
// late change their targets in Run.
func (a *Apply) Present(at tick.Time) { a.targets.at = at }

// unlocked reports whether the world may be changed. A locked world is reported once.
func (a *Apply) unlocked() bool {
	locked := a.tracker.noteLocked()
	if locked {
		a.tracker.flush()
	}
	return !locked
}

// restart starts again after a reset of the world.
func (a *Apply) restart() {
	a.forgetAll()
	a.toRemove = a.toRemove[:0]
	a.delayed.forgetDelayed()
	a.delayed.lives++
	a.tracker.life.join(a.tracker.world)
	a.tracker.note(Problem{Kind: WorldReset})
	a.all = true
}

// forgetAll drops all state about entities. The memory stays.
func (a *Apply) forgetAll() {
	a.tracker.forgetShadows()
	clear(a.entities)
	a.born, a.again = a.born[:0], a.again[:0]
	a.writer.clearLists()
	a.refs.forgetLinks()
	a.targets.forgetTargets()
	a.slotsStale = true
}

// assignSlots assigns slots to all entities again after structural changes. It finds entities that are no longer in the
// world.
func (a *Apply) assignSlots() {
	if !a.slotsStale {
		return
	}
	a.slotsStale = false
	a.tracker.assignSlots()
	for _, id := range a.tracker.evicted {
		if at := a.tracker.entry(id); at != nil && at.table == nowhere && !a.entities[id.Index].left {
			a.local.noteRemoved(id, at)
		}
	}
}

// alive reports whether a handle is valid. It checks for a reset of the world first, since a listener of the game may
// reset it.
func (a *Apply) alive(e Entity) bool {
	return a.tracker.life.isCurrent(a.tracker.world) && a.tracker.world.Alive(e)
}

// announceBorn calls Spawned for each new entity.
func (a *Apply) announceBorn() {
	for i := 0; i < len(a.born) && a.hooks.Spawned != nil; i++ {
		if e, ok := a.Entity(a.born[i]); ok {
			a.hooks.Spawned(e, a.born[i])
		}
	}
	a.born = a.born[:0]
}

// Clear removes every entity that Apply manages, as when a connection ends. Entities of this world's own scene stay.
// Clear drops what the replica received and Run has not applied. If a hook calls Clear, or the world is locked, the
// next Run removes the entities.
func (a *Apply) Clear() {
	on, retains := a.delayed.on, a.delayed.retains
	a.delayed.on, a.delayed.retains, a.delayed.shown = false, nil, tick.Time{} // remove at once: nothing is presented any more
	if a.tracker.life.isCurrent(a.tracker.world) {
		a.delayed.removeAll()
		for index := range a.tracker.byIndex {
			queued := len(a.toRemove)
			a.queueRemoval(uint32(index))
			for i := queued; i < len(a.toRemove); i++ {
				a.toRemove[i].keep = a.entities[index].loaded // the next connection can use it again
			}
		}
	}
	a.delayed.on, a.delayed.retains = on, retains
	a.forgetAll()
	a.all = false
	if a.replica != nil {
		a.replica.ClearChanged()
	}
	if !a.running && a.unlocked() {
		a.running = true
		a.removeQueued()
		a.running = false
	}
}

// Follow clears the world and continues with another replica, as at the start of a new connection. A nil replica never
// receives anything.
func (a *Apply) Follow(r *replica.Replica) {
	a.Clear()
	a.replica, a.all = r, true
}

// Release unregisters Apply from the world. Apply must not be used afterwards. Entities stay as they are.
func (a *Apply) Release() { a.tracker.release() }

// Entity returns the entity of a network id in this world.
func (a *Apply) Entity(id wire.NetworkID) (Entity, bool) {
	at := a.tracker.entry(id)
	if at == nil || !a.tracker.life.isCurrent(a.tracker.world) {
		return Entity{}, false
	}
	if !a.tracker.hasID(at.entity, id) {
		if !a.tracker.rebind(at, id) {
			return Entity{}, false
		}
		a.refs.requeueReferrers(id)
	}
	return a.tracker.entry(id).entity, true
}

// ID returns the network id of an entity that came from the server.
func (a *Apply) ID(e Entity) (wire.NetworkID, bool) {
	id, ok := a.tracker.idOf(e)
	if !ok || !a.tracker.life.isCurrent(a.tracker.world) || !a.tracker.hasID(e, id) {
		return wire.NetworkID{}, false
	}
	return id, true
}

// Kind returns the ID of the components.Kind that the server gave to an entity. It returns false if the entity has
// none, or if Kind does not replicate.
func (a *Apply) Kind(e Entity) (id uint16, ok bool) {
	row := a.tracker.schema.RowOf(reflect.TypeFor[components.Kind]())
	if _, ours := a.ID(e); !ours || row < 0 {
		return 0, false
	}
	kind := componentOf[components.Kind](a.tracker.world, e, a.tracker.ids[row])
	if kind == nil {
		return 0, false
	}
	return kind.ID, true
}

// Stats returns the counters.
func (a *Apply) Stats() ApplyStats { return a.stats }

// Change is a change of an entity by [Apply.Run]. The bits of its masks are rows of the schema.
type Change struct {
	Entity  Entity         // in the client's world, alive
	ID      wire.NetworkID // its network id, the same on all ends
	Rows    snapshot.Mask  // components that are new or have a new value
	Added   snapshot.Mask  // components that were added
	Removed snapshot.Mask  // components that were removed
	Spawned bool           // the entity is new
}

// Touched reports whether Changes yields an entity that is new, gained or lost a component, or has a new value in one
// of the rows. It does not iterate over entities.
func (a *Apply) Touched(rows snapshot.Mask) bool {
	return a.writer.touched.Overlaps(rows) || len(a.writer.structChanges) > 0
}

// Changes yields the changes of the last Run that had something to apply, each entity once. [ApplyStats].Applied shows
// whether that was the last Run. The order has no meaning, but is the same at every client that received the same.
// Entities that were removed since are not yielded.
//
// An entity field or a target that was filled in or cleared counts as a change of its component. A value that was
// restored after a write of game code does not.
//
// The world may be changed during the iteration. Changes does not allocate.
func (a *Apply) Changes(yield func(Change) bool) {
	if !a.tracker.life.isCurrent(a.tracker.world) {
		return
	}
	for n := 0; n < len(a.writer.byTable); n++ {
		for i := 0; i < len(a.writer.byTable[n]); i++ {
			d := &a.writer.byTable[n][i]
			if d.rows.IsZero() && a.entities[d.index].structChange == 0 {
				continue // no written row has a new value
			}
			if c, ok := a.changed(d.index, d.rows); ok && !yield(c) {
				return
			}
		}
	}
	r := &a.writer.ranges
	for i := 0; i < len(r.list); i++ {
		for k := range r.list[i].entities.Count {
			if c, ok := a.changed(r.list[i].entities.Index+k, r.changed(&r.list[i], k)); ok && !yield(c) {
				return
			}
		}
	}
	for i := 0; i < len(a.writer.created); i++ {
		if c, ok := a.changed(a.writer.created[i].index, a.writer.created[i].rows); ok && !yield(c) {
			return
		}
	}
}

// changed returns the change of an entity. It returns false if the entity was removed or did not change.
func (a *Apply) changed(index uint32, rows snapshot.Mask) (c Change, ok bool) {
	at, state := &a.tracker.byIndex[index], &a.entities[index]
	if rows.IsZero() && state.structChange == 0 || at.generation == 0 || state.left || !a.alive(at.entity) {
		return Change{}, false
	}
	c = Change{Entity: at.entity, ID: wire.NetworkID{Index: index, Generation: at.generation}, Rows: rows}
	if state.structChange != 0 {
		f := &a.writer.structChanges[state.structChange-1]
		c.Added, c.Removed, c.Spawned = f.added, f.removed, f.spawned
	}
	return c, true
}

// Changed yields the entities whose component T the last Run with something to apply added or changed, with the value.
// For a type that is not in the schema it yields nothing. The pointer is valid until the world's entities change. See
// [Apply.Changes].
func Changed[T any](a *Apply) iter.Seq2[Entity, *T] {
	return func(yield func(Entity, *T) bool) { eachChanged(a, yield) }
}

func eachChanged[T any](a *Apply, yield func(Entity, *T) bool) {
	if a == nil {
		return
	}
	row := a.tracker.schema.RowOf(reflect.TypeFor[T]())
	if row < 0 {
		return
	}
	for c := range a.Changes {
		if !c.Rows.Has(row) || !a.alive(c.Entity) {
			continue
		}
		if v := componentOf[T](a.tracker.world, c.Entity, a.tracker.ids[row]); v != nil && !yield(c.Entity, v) {
			return
		}
	}
}

// Own sets a function that returns the rows of an entity that the client may write itself. After the client's first
// write of a row, Apply does not write that row any more. Until then it applies the server's values: a new author must
// not send the last author's value again. When the rights of the client change, call Revert.
func (a *Apply) Own(rows func(wire.NetworkID) snapshot.Mask) { a.mine = rows }

// may reports whether the client may write a row.
func (a *Apply) may(id wire.NetworkID, row int) bool { return a.mine != nil && a.mine(id).Has(row) }

// owned returns the rows of an entity that the client may write and has written.
func (a *Apply) owned(id wire.NetworkID) snapshot.Mask {
	if a.mine == nil || uint(id.Index) >= uint(len(a.entities)) || a.entities[id.Index].authored.IsZero() {
		return snapshot.Mask{}
	}
	return a.mine(id).Intersect(a.entities[id.Index].authored)
}

// Revert makes the next Run write rows of an entity that the client has written: what it wrote of them until then does not count.
func (a *Apply) Revert(id wire.NetworkID, rows snapshot.Mask) {
	if a.tracker.entry(id) != nil && !a.entities[id.Index].left {
		state := &a.entities[id.Index]
		state.authored, state.reverted = state.authored.Minus(rows), state.reverted.Union(rows)
		a.again = append(a.again, id.Index)
	}
}

// Read quantises the present value of a component that the client writes. A field with a fault keeps its value in
// lanes. Faults are reported once per entity.
//
// Read returns false if the entity does not exist or lacks the component. It also returns false while the component
// still has the value that arrived, since the client has not written it.
func (a *Apply) Read(id wire.NetworkID, row int, lanes []uint32) bool {
	e, ok := a.Entity(id)
	if !ok || !a.alive(e) || a.entities[id.Index].reverted.Has(row) {
		return false
	}
	c := column{id: a.tracker.ids[row], plan: a.tracker.schema.Plan(row), size: int(a.tracker.schema.Plan(row).Size())}
	if !world.Has(a.tracker.world, e, c.id) || !c.bindTo(a.tracker.world, e) {
		return false
	}
	fault := c.plan.Quantise(c.at(0), lanes)
	c.unbind()
	if state := &a.entities[id.Index]; fault.Reason != wire.NoFault && !state.faulty {
		state.faulty = true
		a.tracker.note(Problem{Kind: kindOf(fault.Reason), Entity: id, Local: e, Component: c.plan.Name(), Field: fault.Field()})
		a.tracker.flush()
	}
	if state := &a.entities[id.Index]; !state.authored.Has(row) {
		if slices.Equal(lanes, a.replica.Row(id.Index, row)) {
			return false
		}
		state.authored = state.authored.With(row)
	}
	return true
}

// valueWriter writes the values of a run. It lists the entities to write by table, and stores the changed rows for
// [Apply.Changes].
type valueWriter struct {
	apply   *Apply
	tracker *tracker

	byTable       [][]writeItem // by table number: entities with rows in it
	unplaced      []uint32      // indexes of entities without a known slot
	created       []writeItem   // new entities, which have their values already
	structChanges []structChange
	guard         world.Query   // locks the world while columns point into it
	ranges        tableRanges   // ranges of entities that are written together
	touched       snapshot.Mask // rows that have a new value in any entity
}

// writeItem is an entity to write.
type writeItem struct {
	index uint32
	slot  int32
	has   snapshot.Mask // rows to write
	rows  snapshot.Mask // rows with a new value
}

// structChange is a structural change of an entity in a run: it is new, or gained or lost components.
type structChange struct {
	index          uint32
	added, removed snapshot.Mask
	spawned        bool
}

// noteStructChange stores a structural change.
func (w *valueWriter) noteStructChange(state *entityState, f structChange) {
	w.structChanges = append(w.structChanges, f)
	state.structChange = int32(len(w.structChanges))
}

// clearLists empties the lists. Their memory stays.
func (w *valueWriter) clearLists() {
	for i := range w.byTable {
		w.byTable[i] = w.byTable[i][:0]
	}
	w.unplaced, w.created, w.structChanges = w.unplaced[:0], w.created[:0], w.structChanges[:0]
	w.ranges.list, w.ranges.details = w.ranges.list[:0], w.ranges.details[:0]
	w.touched = snapshot.Mask{}
}

// list adds an entity to the list of its table, or to unplaced. Within a run it adds each entity once.
func (w *valueWriter) list(index uint32, at *entityEntry, state *entityState) {
	if state.listed == w.apply.run {
		return
	}
	state.listed = w.apply.run
	w.apply.targets.noteTargets(index, state.mask)
	if at.table == nowhere || w.apply.slotsStale {
		w.unplaced = append(w.unplaced, index)
		return
	}
	w.listInTable(index, at, state)
}

// listInTable adds an entity to the list of its table.
func (w *valueWriter) listInTable(index uint32, at *entityEntry, state *entityState) {
	if int(at.table) >= len(w.byTable) {
		w.byTable = grown(w.byTable, len(w.tracker.tables)-1)
	}
	d := writeItem{index: index, slot: at.slot, has: state.mask.Minus(state.setAside)}
	if !state.authored.IsZero() {
		d.has = d.has.Minus(w.apply.owned(wire.NetworkID{Index: index, Generation: at.generation}))
	}
	w.byTable[at.table] = pushed(w.byTable[at.table], d)
}

// listChanged lists the entities that changed in the replica.
func (w *valueWriter) listChanged() {
	for _, span := range w.apply.replica.ChangedRanges() {
		for index, end := span.Index, span.Index+span.Count; index < end; {
			if n := w.listRange(index, end-index); n > 0 {
				index += n
				continue
			}
			w.apply.updateEntity(index)
			index++
		}
	}
}

// placeLists assigns slots to the listed entities again after a structural change, which may have moved rows.
func (w *valueWriter) placeLists() {
	for t := range w.byTable {
		for _, d := range w.byTable[t] {
			w.unplaced = append(w.unplaced, d.index)
		}
		w.byTable[t] = w.byTable[t][:0]
	}
	w.unplaced = w.ranges.dissolve(w.unplaced)
	w.apply.assignSlots()
	for _, index := range w.unplaced {
		at, state := &w.tracker.byIndex[index], &w.apply.entities[index]
		if at.table != nowhere {
			w.listInTable(index, at, state)
			continue
		}
		if !state.left && at.generation != 0 { // a listener of the game removed the new entity
			w.apply.local.noteRemoved(wire.NetworkID{Index: index, Generation: at.generation}, at)
		}
	}
	w.unplaced = w.unplaced[:0]
}

// writeAll writes the rows of the listed entities and updates the shadow. It visits other entities only after
// structural changes.
func (w *valueWriter) writeAll() {
	sure := !w.apply.slotsStale
	if !sure || len(w.unplaced) > 0 {
		w.apply.slotsStale = true
		w.placeLists()
	}
	if !w.tracker.life.isCurrent(w.tracker.world) {
		w.clearLists() // a listener of the game reset the world
		return
	}
	w.guard = world.Open(w.tracker.world, &w.tracker.everything)
	for n := range w.byTable {
		list := w.byTable[n]
		if len(list) == 0 {
			continue
		}
		for i := range list { // rows that fillEntity or setTarget changed
			state := &w.apply.entities[list[i].index]
			list[i].rows, state.changed = state.changed, snapshot.Mask{}
			w.touched = w.touched.Union(list[i].rows)
		}
		if t := w.tracker.tables[n]; t.scattered {
			w.writeScattered(t, list)
		} else {
			w.byTable[n] = w.writeTable(t, list, sure)
		}
	}
	if len(w.ranges.list) > 0 {
		w.writeRanges()
	}
	w.guard.Close()
}

// writeTable writes into a table that is not scattered, column by column. If sure is false, it first removes entities
// that are not in their slots from the list. It returns the list.
func (w *valueWriter) writeTable(t *table, list []writeItem, sure bool) []writeItem {
	query := &w.tracker.query
	*query = world.Open(w.tracker.world, &t.filter)
	if !query.Next() {
		return list[:0]
	}
	t.bindColumns(query, 0)
	if !sure {
		list = w.present(t, list, query.Count())
	}
	for i := range t.columns {
		if c := &t.columns[i]; c.row >= 0 { // else the column is not in the schema
			w.writeColumn(c, list)
		}
	}
	t.unbindColumns()
	query.Close()
	return list
}

// present removes entities from a list that are not in their slots: a listener may have removed them.
func (w *valueWriter) present(t *table, list []writeItem, length int) []writeItem {
	kept := list[:0]
	for _, d := range list {
		id := wire.NetworkID{Index: d.index, Generation: w.tracker.byIndex[d.index].generation}
		if int(d.slot) < length && *t.replicas.replicated(int(d.slot)) == (components.Replicated{ID: id, World: w.tracker.tag}) {
			kept = append(kept, d)
		}
	}
	return kept
}

// writeColumn writes one component of the entities of a list. An entity without lanes is skipped: a listener of the
// game received its despawn meanwhile.
func (w *valueWriter) writeColumn(c *column, list []writeItem) {
	bit := snapshot.Mask{}.With(c.row)
	for i := range list {
		d := &list[i]
		if !d.has.Overlaps(bit) {
			continue
		}
		if lanes := w.apply.refs.value(d.index, c.row); lanes != nil {
			w.apply.stats.Rows++
			if c.put(int(d.slot), int(d.slot), lanes) {
				d.rows = d.rows.Union(bit)
				w.touched = w.touched.Union(bit)
			}
		}
	}
}

// writeScattered writes into a scattered table, entity by entity.
func (w *valueWriter) writeScattered(t *table, list []writeItem) {
	for i := range list {
		d := &list[i]
		at := &w.tracker.byIndex[d.index]
		id := wire.NetworkID{Index: d.index, Generation: at.generation}
		if int(d.slot) >= t.length || !w.tracker.hasID(at.entity, id) {
			continue
		}
		for j := range t.columns {
			c := &t.columns[j]
			lanes := w.apply.refs.value(d.index, c.row)
			if lanes == nil || !d.has.Has(c.row) || !c.bindTo(w.tracker.world, at.entity) {
				continue
			}
			w.apply.stats.Rows++
			if c.put(0, int(d.slot), lanes) {
				d.rows, w.touched = d.rows.With(c.row), w.touched.With(c.row)
			}
			c.unbind()
		}
	}
}
