package netecs

import (
	"iter"
	"reflect"
	"slices"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Hooks are called by [Apply.Run] when all rows of the run are written and the
// world is unlocked. They may change the world as they like.
type Hooks struct {
	// Spawned is called for each new entity that is still there.
	Spawned func(ecs.Entity, wire.NetworkID)
	// Despawned is called for each entity before it is removed: for all of a run
	// before the first of them is. It is not called for one that game code
	// removed itself, or whose Replicated it took.
	Despawned func(ecs.Entity, wire.NetworkID)
}

// ApplyStats counts what an [Apply] did.
type ApplyStats struct {
	Applied   uint64 // runs that found something to apply
	Spawned   uint64 // entities created
	Despawned uint64 // entities removed
	Rows      uint64 // components written, with the value they had or another
	Restored  uint64 // components put back because client code wrote them
	Resolved  uint64 // rows looked at again because an entity that they name came or went
}

// Apply brings what a client received into its world. It is the gate: nothing
// else writes replicated state there.
//
// Game code on the client may do what it likes and gets the server's state at
// the next Run. A replicated component that it wrote is put back; fields tagged
// net:"-" are its own. What it removed stays removed; a component that it added
// is its own until the server adds it too. Each is reported once per entity.
//
// A field tagged net:"entity" holds the entity of this world that the server's
// names, and so does the target of a relation. It is the zero entity while there
// is none here: not yet, not any more, or hidden. It is filled in when the entity
// comes.
//
// After ecs.World.Reset everything alive is spawned again.
type Apply struct {
	tracker *tracker
	replica *snapshot.Replica
	hooks   Hooks
	applied []appliedEntity // by network index
	stats   ApplyStats

	run       uint32   // number of the run
	all       bool     // bring everything up to date, not only what changed
	again     []uint32 // indexes to bring up to date though nothing arrived
	unsettled bool     // the shadow and the places are not those of the world

	born           []wire.NetworkID // Spawned is still to be called
	toRemove       []removal        // to be removed, Despawned being called first
	delayed        delayedDespawns
	local          localChanges
	removePerTable removePerTable
	running        bool

	add, rem []ecs.ID         // arguments of structural changes
	fill     func(ecs.Entity) // fillEntity, bound once
	filling  fillMode
	before   []byte // a component that is about to be written, where the shadow does not have it
	births   spawnBatches
	writer   valueWriter
	apart    bool // for tests: ranges are listed entity by entity
	refs     backRefs
	targets  relationTargets
	mine     func(wire.NetworkID) snapshot.Mask // rows that the client writes itself; nil: none
}

// appliedEntity is what Apply knows of the entity at a network index.
type appliedEntity struct {
	mask         snapshot.Mask // rows that the server's entity had when last applied
	gone         snapshot.Mask // of them: not on this entity, because game code removed them
	out          snapshot.Mask // of gone: relations left out because the entity has another
	changed      snapshot.Mask // rows that this run gave another value before the writing
	structChange int32         // 1 + index of what the last run did to its structure
	listed       uint32        // the run that has it in its list of entities to write
	left         bool          // game code removed the entity, or its Replicated
	restored     bool          // LocalWriteRestored was reported
	authored     snapshot.Mask // rows that the client has written since it may
	faulty       bool          // a value that cannot travel was reported
	circle       bool          // its relation is part of a circle
	told         bool          // RelationCycle was reported
}

// NewApply prepares to bring what a replica receives into a world. It registers
// the schema's components with the world, which must not be locked. The tag
// marks the entities that this apply manages: any number but 0 that no other
// capture or apply on the same world has. A nil report drops the problems.
func NewApply(w *ecs.World, replica *snapshot.Replica, schema *snapshot.Schema, tag uint32,
	hooks Hooks, report func(Problem)) *Apply {
	a := &Apply{tracker: newTracker(w, schema, tag, false, report), replica: replica, hooks: hooks, all: true}
	a.add = make([]ecs.ID, 0, schema.Rows()+1)
	a.rem = make([]ecs.ID, 0, schema.Rows())
	a.fill = a.fillEntity
	a.births.byMask = map[snapshot.Mask]int{}
	a.refs = newBackRefs(schema)
	a.writer.Apply, a.local.Apply, a.refs.Apply, a.targets.Apply, a.delayed.Apply = a, a, a, a, a
	for row := range schema.Rows() {
		if _, aimed := schema.Plan(row).Target(); aimed {
			a.targets.rows = a.targets.rows.With(row)
		}
	}
	return a
}

// Run applies what the replica received since the last Run. It does nothing
// while the world is locked, and makes up for it the next time.
func (a *Apply) Run() {
	if a.running || !a.unlocked() {
		return
	}
	a.running = true
	a.removeQueued() // those that had to wait
	if !a.tracker.life.isCurrent(a.tracker.world) {
		a.rejoin()
	}
	a.tracker.scan(&a.local)
	a.local.noticeLost()
	a.tracker.cutOff()
	a.update()
	a.delayed.clearNames()
	a.settle()
	if len(a.targets.cycles) > 0 {
		a.targets.reportCycles()
	}
	a.tracker.flush()
	a.removeQueued()
	a.announceBorn()
	a.running = false
}

// unlocked reports whether the world may be changed, and says so once if not.
func (a *Apply) unlocked() bool {
	locked := a.tracker.noteLocked()
	if locked {
		a.tracker.flush()
	}
	return !locked
}

// rejoin starts again after a reset of the world.
func (a *Apply) rejoin() {
	a.forgetAll()
	a.toRemove = a.toRemove[:0]
	a.delayed.forgetDelayed()
	a.delayed.lives++
	a.tracker.life.join(a.tracker.world)
	a.tracker.note(Problem{Kind: WorldReset})
	a.all = true
}

// forgetAll drops every id.
func (a *Apply) forgetAll() {
	a.tracker.forgetShadows()
	clear(a.applied)
	a.born, a.again = a.born[:0], a.again[:0]
	a.writer.clearLists()
	a.refs.forgetLinks()
	a.targets.forgetTargets()
	a.unsettled = true
}

// settle puts every entity in its place again after changes of structure.
func (a *Apply) settle() {
	if !a.unsettled {
		return
	}
	a.unsettled = false
	a.tracker.settle()
	for _, id := range a.tracker.evicted {
		if at := a.tracker.entry(id); at != nil && at.table == nowhere && !a.applied[id.Index].left {
			a.local.lose(id, at)
		}
	}
}

// alive reports whether a handle given out in this life of the world is valid.
// A listener of the game may have done anything since.
func (a *Apply) alive(e ecs.Entity) bool {
	return a.tracker.life.isCurrent(a.tracker.world) && a.tracker.world.Alive(e)
}

// announceBorn calls Spawned for the new entities.
func (a *Apply) announceBorn() {
	for i := 0; i < len(a.born) && a.hooks.Spawned != nil; i++ {
		if e, ok := a.Entity(a.born[i]); ok {
			a.hooks.Spawned(e, a.born[i])
		}
	}
	a.born = a.born[:0]
}

// Clear removes every entity that Apply manages, as when a connection ended,
// and drops what the replica has received but not yet given. Called by a hook,
// or while the world is locked, the removal waits for the next Run.
func (a *Apply) Clear() {
	on := a.delayed.on
	a.delayed.on, a.delayed.shown = false, tick.Time{} // at once: what was presented is over
	if a.tracker.life.isCurrent(a.tracker.world) {
		a.delayed.removeAll()
		for index := range a.tracker.byIndex {
			a.queueRemoval(uint32(index))
		}
	}
	a.delayed.on = on
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

// Follow clears the world of what came from the present replica and continues
// with another, as when a new connection begins. Nil is a replica that never
// receives anything.
func (a *Apply) Follow(replica *snapshot.Replica) {
	a.Clear()
	a.replica, a.all = replica, true
}

// Release gives back what Apply has registered with the world. It is of no use
// afterwards; entities stay as they are.
func (a *Apply) Release() { a.tracker.release() }

// Entity is the entity that has a network id here.
func (a *Apply) Entity(id wire.NetworkID) (ecs.Entity, bool) {
	at := a.tracker.entry(id)
	if at == nil || !a.tracker.life.isCurrent(a.tracker.world) {
		return ecs.Entity{}, false
	}
	if !a.tracker.hasID(at.entity, id) {
		if !a.tracker.rebind(at, id) {
			return ecs.Entity{}, false
		}
		a.refs.requeueReferrers(id)
	}
	return a.tracker.entry(id).entity, true
}

// ID is the network id of an entity that came from the server.
func (a *Apply) ID(e ecs.Entity) (wire.NetworkID, bool) {
	id, ok := a.tracker.idOf(e)
	if !ok || !a.tracker.life.isCurrent(a.tracker.world) || !a.tracker.hasID(e, id) {
		return wire.NetworkID{}, false
	}
	return id, true
}

// Kind is the ID of an entity's components.Kind, which the server gave it. It is
// false for an entity that has none, and where Kind does not replicate.
func (a *Apply) Kind(e ecs.Entity) (id uint16, ok bool) {
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

// Stats is what Apply has done so far.
func (a *Apply) Stats() ApplyStats { return a.stats }

// Change is what an [Apply.Run] did to an entity. Rows of the schema are bits
// of its masks.
type Change struct {
	Entity  ecs.Entity     // in the client's world, alive
	ID      wire.NetworkID // its network id, alike at all ends
	Rows    snapshot.Mask  // components that have another value than before, or are new
	Added   snapshot.Mask  // components that were added
	Removed snapshot.Mask  // components that were removed
	Spawned bool           // the entity is new
}

// Changes yields what the last Run did that found something to apply, each
// entity once, in an order that is of no meaning but the same in every client
// that received the same. [ApplyStats].Applied tells whether that was the very
// last Run. Entities that are gone since are left out. An entity field or a
// target that was filled in or became zero counts as a change of its component;
// what was put back after game code wrote it does not.
//
// The world may be changed while it is used. It allocates nothing.
func (a *Apply) Changes(yield func(Change) bool) {
	if !a.tracker.life.isCurrent(a.tracker.world) {
		return
	}
	for n := 0; n < len(a.writer.byTable); n++ {
		for i := 0; i < len(a.writer.byTable[n]); i++ {
			d := &a.writer.byTable[n][i]
			if c, ok := a.changed(d.index, d.rows); ok && !yield(c) {
				return
			}
		}
	}
	r := &a.writer.ranges
	for i := 0; i < len(r.list); i++ {
		for k := range r.list[i].stretch.Count {
			if c, ok := a.changed(r.list[i].stretch.Index+k, r.changed(&r.list[i], k)); ok && !yield(c) {
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

// changed is what became of an entity, if it is still there and something did.
func (a *Apply) changed(index uint32, rows snapshot.Mask) (c Change, ok bool) {
	at, tw := &a.tracker.byIndex[index], &a.applied[index]
	if rows == 0 && tw.structChange == 0 || at.generation == 0 || tw.left || !a.alive(at.entity) {
		return Change{}, false
	}
	c = Change{Entity: at.entity, ID: wire.NetworkID{Index: index, Generation: at.generation}, Rows: rows}
	if tw.structChange != 0 {
		f := &a.writer.structChanges[tw.structChange-1]
		c.Added, c.Removed, c.Spawned = f.added, f.removed, f.spawned
	}
	return c, true
}

// forgetChanges begins the lists of a run.
func (a *Apply) forgetChanges() {
	for i := range a.writer.structChanges {
		a.applied[a.writer.structChanges[i].index].structChange = 0
	}
	a.writer.clearLists()
}

// Changed yields the entities of which the last Run that found something to
// apply added the component T or gave it another value, with what it is now. T
// is of the schema; of any other type there are none. The pointer is good until
// the world's entities change. See [Apply.Changes].
func Changed[T any](a *Apply) iter.Seq2[ecs.Entity, *T] {
	return func(yield func(ecs.Entity, *T) bool) { eachChanged(a, yield) }
}

func eachChanged[T any](a *Apply, yield func(ecs.Entity, *T) bool) {
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

// Own says which rows of an entity the client may write itself. From its first write on Apply leaves a row as it is; until
// then the server's values go on to come, since a new author that has nothing to say must not repeat what it has of the one
// before. When what the client may write changes, Revert begins anew.
func (a *Apply) Own(rows func(wire.NetworkID) snapshot.Mask) { a.mine = rows }

// may tells if the client may write a row.
func (a *Apply) may(id wire.NetworkID, row int) bool { return a.mine != nil && a.mine(id).Has(row) }

// owned is the rows of an entity that the client has written and may write.
func (a *Apply) owned(id wire.NetworkID) snapshot.Mask {
	if a.mine == nil || int(id.Index) >= len(a.applied) || a.applied[id.Index].authored == 0 {
		return 0
	}
	return a.mine(id) & a.applied[id.Index].authored
}

// Revert brings an entity up to date in the next Run, whether or not something arrives, also in the rows that the client
// has written.
func (a *Apply) Revert(id wire.NetworkID) {
	if a.tracker.entry(id) != nil && !a.applied[id.Index].left {
		a.applied[id.Index].authored = 0
		a.again = append(a.again, id.Index)
	}
}

// Read quantises a component that the client writes, as it is now. Fields that cannot travel keep what lanes has, which is
// reported once per entity. It is false when the entity is not there, or lacks the component, or the
// client has not written it yet: it is what arrived.
func (a *Apply) Read(id wire.NetworkID, row int, lanes []uint32) bool {
	e, ok := a.Entity(id)
	if !ok || !a.alive(e) {
		return false
	}
	c := column{id: a.tracker.ids[row], plan: a.tracker.schema.Plan(row), size: int(a.tracker.schema.Plan(row).Size())}
	if !a.tracker.world.Has(e, c.id) || !c.bindTo(a.tracker.world, e) {
		return false
	}
	fault := c.plan.Quantise(c.at(0), lanes)
	c.unbind()
	if tw := &a.applied[id.Index]; fault.Reason != wire.NoFault && !tw.faulty {
		tw.faulty = true
		a.tracker.note(Problem{Kind: kindOf(fault.Reason), Entity: id, Local: e, Component: c.plan.Name(), Field: fault.Field()})
		a.tracker.flush()
	}
	if tw := &a.applied[id.Index]; !tw.authored.Has(row) {
		if slices.Equal(lanes, a.replica.Row(id.Index, row)) {
			return false
		}
		tw.authored = tw.authored.With(row)
	}
	return true
}
