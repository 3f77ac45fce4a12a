package netecs

import (
	"bytes"
	"slices"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// fillMode contains the arguments of fillEntity.
type fillMode struct {
	id    wire.NetworkID
	rows  snapshot.Mask
	added snapshot.Mask // of rows: rows that are new on the entity
	born  bool
}

// update applies the changes of the replica. Entities and components come first. Values are written when every entity
// exists.
func (a *Apply) update() {
	if a.replica != nil {
		a.targets.queueLate()
	}
	if a.replica == nil || len(a.again) == 0 && len(a.replica.ChangedRanges()) == 0 && (!a.all || a.replica.Len() == 0) {
		return
	}
	a.stats.Applied++
	a.run++
	for i := range a.writer.structChanges {
		a.entities[a.writer.structChanges[i].index].structChange = 0
	}
	a.writer.clearLists()
	if a.all { // no entity has an id yet
		a.all = false
		for now := range a.replica.All {
			a.updateEntity(now.ID.Index)
		}
	} else {
		a.writer.listChanged()
	}
	a.replica.ClearChanged()
	if len(a.births.batches) > 0 {
		a.spawnAll()
	}
	for i := 0; i < len(a.again); i++ { // spawns and removals add entries
		if at := &a.tracker.byIndex[a.again[i]]; at.generation != 0 {
			a.updateEntity(a.again[i])
			a.entities[a.again[i]].reverted = snapshot.Mask{}
		}
	}
	a.again = a.again[:0]
	a.targets.setTargets()
	a.writer.writeAll()
}

// updateEntity applies the existence and the components of one network index, and lists the entity for its values. It
// queues at most one removal, and one spawn or change.
func (a *Apply) updateEntity(index uint32) {
	now := a.replica.Entity(index)
	if int(index) < len(a.tracker.byIndex) {
		at := &a.tracker.byIndex[index]
		if at.generation != 0 && at.generation == now.ID.Generation && now.Alive {
			a.change(now, at)
			return
		}
		if at.generation != 0 {
			a.queueRemoval(index)
		}
	}
	if now.Alive {
		a.entities = grown(a.entities, int(index))
		if a.adopted(now) {
			return
		}
		a.births.add(now.ID, now.Mask)
	}
}

// entity returns the entity of an id, unless game code removed it. If game code replaced it by a copy in the same row,
// the copy is found.
func (a *Apply) entity(id wire.NetworkID, at *entityEntry) (Entity, bool) {
	if a.alive(at.entity) {
		return at.entity, true
	}
	if a.tracker.life.isCurrent(a.tracker.world) && a.tracker.rebind(at, id) {
		a.refs.requeueReferrers(id)
		return a.tracker.entry(id).entity, true
	}
	return at.entity, false
}

// change applies the components of an existing entity.
func (a *Apply) change(now replica.Entity, at *entityEntry) {
	state := &a.entities[now.ID.Index]
	if state.left {
		a.targets.noteTargets(now.ID.Index, now.Mask) // it may complete a cycle of relations
		return
	}
	if !state.takeBackRows.IsZero() {
		a.takeBack(at.entity, state)
	}
	if now.Mask != state.mask || !state.secondRelation.IsZero() {
		a.exchange(now, at, state)
	}
	a.writer.list(now.ID.Index, at, state)
}

// exchange adds and removes components of an entity, so that it has the components of the server's entity.
func (a *Apply) exchange(now replica.Entity, at *entityEntry, state *entityState) {
	e, ok := a.entity(now.ID, at)
	if !ok {
		return
	}
	a.add, a.rem = a.add[:0], a.rem[:0]
	own := a.owned(now.ID).Intersect(state.mask).Union(state.setAside)
	removed := state.mask.Minus(now.Mask).Minus(state.gone).Minus(state.setAside)
	a.removals(e, state, state.mask.Minus(now.Mask).Minus(state.setAside))
	if late := state.secondRelation.Intersect(now.Mask); !late.IsZero() && !a.related(e) {
		late = snapshot.Mask{}.With(late.Lowest()) // Arche allows one relation
		state.mask, state.gone, state.secondRelation = state.mask.Minus(late), state.gone.Minus(late), state.secondRelation.Minus(late)
	} else if !late.IsZero() && now.Mask == state.mask {
		return
	}
	added := a.additions(e, state, now, now.Mask.Minus(state.mask).Minus(state.setAside))
	if !added.Union(removed).IsZero() {
		a.writer.noteStructChange(state, structChange{index: now.ID.Index, added: added, removed: removed})
	}
	state.changed = state.changed.Union(added)
	a.refs.cut(now.ID.Index, state.mask.Minus(now.Mask))
	state.mask = now.Mask
	if len(a.add)+len(a.rem) == 0 {
		return
	}
	a.slotsStale = true
	a.filling = fillMode{id: now.ID, rows: now.Mask.Minus(state.gone).Minus(own), added: added}
	world.Exchange(a.tracker.world, e, a.add, a.rem, a.fill)
}

// removals lists the components to remove, except components that game code has already removed.
func (a *Apply) removals(e Entity, state *entityState, rows snapshot.Mask) {
	for ; !rows.IsZero(); rows = rows.Rest() {
		row := rows.Lowest()
		if id := a.tracker.ids[row]; world.Has(a.tracker.world, e, id) {
			a.rem = append(a.rem, id)
		}
		state.gone, state.secondRelation = state.gone.Without(row), state.secondRelation.Without(row)
	}
}

// additions lists the components to add and returns the rows that the entity will have. Components that game code has
// already added are not listed.
func (a *Apply) additions(e Entity, state *entityState, now replica.Entity, rows snapshot.Mask) (added snapshot.Mask) {
	added = rows
	for ; !rows.IsZero(); rows = rows.Rest() {
		row := rows.Lowest()
		id := a.tracker.ids[row]
		switch {
		case world.Has(a.tracker.world, e, id): // noteAdded has reported it
		case !world.SeveralRelations && a.tracker.relations.Has(row) && a.related(e):
			a.skipSecondRelation(now.ID, state, snapshot.Mask{}.With(row))
			added = added.Without(row)
		default:
			a.add = append(a.add, id)
		}
	}
	return added
}

// related reports whether an entity will have a relation after the listed removals and additions.
func (a *Apply) related(e Entity) bool {
	mask := world.MaskOf(a.tracker.world, e)
	for _, id := range a.rem {
		mask.Set(id, false)
	}
	for _, id := range a.add {
		mask.Set(id, true)
	}
	return hasRelation(a.tracker.world, &mask)
}

// fillEntity writes the rows of the entity in filling. Arche calls it while it creates or moves the entity, so that a
// listener of the game sees the entity with its values.
func (a *Apply) fillEntity(e Entity) {
	f := a.filling
	if f.born {
		a.tracker.assign(f.id, e)
		*replicatedOf(a.tracker.world, e, a.tracker.replicated) = components.Replicated{ID: f.id, World: a.tracker.tag}
		a.refs.requeueReferrers(f.id)
	}
	at, state := a.tracker.entry(f.id), &a.entities[f.id.Index]
	for m := f.rows; !m.IsZero(); m = m.Rest() {
		row := m.Lowest()
		if a.refs.rows.Has(row) && !f.born && !f.added.Has(row) {
			continue // writeAll writes and compares it, when the entities that it refers to exist
		}
		lanes := a.refs.value(f.id.Index, row)
		if len(lanes) == 0 {
			continue
		}
		a.stats.Rows++
		c := column{id: a.tracker.ids[row], plan: a.tracker.schema.Plan(row), size: int(a.tracker.schema.Plan(row).Size())}
		if !c.bindTo(a.tracker.world, e) {
			continue
		}
		before := a.tracker.kept(at, row)
		if before == nil && !f.born { // cutOff dropped its slot; the scan has already restored writes of game code
			a.before = append(a.before[:0], c.bytes(0, 1)...)
			before = a.before
		}
		c.write(0, lanes)
		if before != nil && !bytes.Equal(before, c.bytes(0, 1)) {
			state.changed = state.changed.With(row)
		}
		c.unbind()
	}
}

// spawnBatches contains the entities to create in this run, grouped by their rows. Batches are in the order of their
// first entity.
type spawnBatches struct {
	byMask  map[snapshot.Mask]int // by rows: index in batches
	batches []spawnBatch
}

// spawnBatch contains the entities to create with the same rows.
type spawnBatch struct {
	mask snapshot.Mask
	ids  []wire.NetworkID
}

// add adds an entity to create.
func (b *spawnBatches) add(id wire.NetworkID, mask snapshot.Mask) {
	n, known := b.byMask[mask]
	if !known {
		n = len(b.batches)
		b.byMask[mask] = n
		if n < cap(b.batches) {
			b.batches = b.batches[:n+1]
		} else {
			b.batches = append(b.batches, spawnBatch{})
		}
		k := &b.batches[n]
		k.mask, k.ids = mask, k.ids[:0]
	}
	b.batches[n].ids = append(b.batches[n].ids, id)
}

// spawnAll creates the entities of all batches.
func (a *Apply) spawnAll() {
	a.slotsStale = true
	for i := range a.births.batches {
		k := &a.births.batches[i]
		rows := a.spawning(k.mask)
		if len(k.ids) < batchMin || !a.spawnBatch(k, rows) {
			for _, id := range k.ids {
				a.expect(id, k.mask, rows)
				a.filling = fillMode{id: id, rows: rows, born: true}
				world.Spawn(a.tracker.world, a.fill, a.add...)
			}
		}
		if lacks := k.mask.Minus(rows); !lacks.IsZero() {
			for _, id := range k.ids {
				a.skipSecondRelation(id, &a.entities[id.Index], lacks)
			}
		}
	}
	a.births.batches = a.births.batches[:0]
	clear(a.births.byMask)
}

// spawning lists the components of an entity to create and returns their rows. It leaves out a second relation where the
// ECS allows one.
func (a *Apply) spawning(mask snapshot.Mask) (rows snapshot.Mask) {
	a.add = append(a.add[:0], a.tracker.replicated)
	related := false
	for m := mask; !m.IsZero(); m = m.Rest() {
		row := m.Lowest()
		if !world.SeveralRelations && a.tracker.relations.Has(row) {
			if related {
				continue
			}
			related = true
		}
		rows = rows.With(row)
		a.add = append(a.add, a.tracker.ids[row])
	}
	return rows
}

// spawnBatch creates the entities of a batch with one call, in consecutive rows, and writes them column by column. It
// returns false if the world cannot.
func (a *Apply) spawnBatch(k *spawnBatch, rows snapshot.Mask) bool {
	query, ok := &a.tracker.query, false
	if *query, ok = world.SpawnBatch(a.tracker.world, len(k.ids), a.add); !ok {
		return false
	}
	for _, id := range k.ids {
		a.expect(id, k.mask, rows)
	}
	query.Next()
	replicas := column{id: a.tracker.replicated, size: replicatedSize}
	replicas.bind(query)
	for i, id := range k.ids {
		a.tracker.assign(id, query.EntityAt(i))
		*replicas.replicated(i) = components.Replicated{ID: id, World: a.tracker.tag}
	}
	for m := rows; !m.IsZero(); m = m.Rest() {
		row := m.Lowest()
		plan := a.tracker.schema.Plan(row)
		if plan.Lanes() == 0 {
			continue
		}
		c := column{id: a.tracker.ids[row], row: row, plan: plan, size: int(plan.Size())}
		c.bind(query)
		for i, id := range k.ids {
			if lanes := a.refs.value(id.Index, row); lanes != nil {
				c.write(i, lanes)
				a.stats.Rows++
			}
		}
	}
	query.Close()
	for _, id := range k.ids {
		a.refs.requeueReferrers(id)
	}
	return true
}

// expect sets the state of an entity that is about to be created.
func (a *Apply) expect(id wire.NetworkID, mask, rows snapshot.Mask) {
	state := &a.entities[id.Index]
	*state = entityState{mask: mask, listed: a.run}
	a.stats.Spawned++
	a.born = append(a.born, id)
	a.writer.noteStructChange(state, structChange{index: id.Index, added: rows, spawned: true})
	a.targets.noteBorn(id.Index, rows)
	if rows.Overlaps(a.refs.rows.Union(a.targets.rows)) {
		state.changed = rows // entity fields are written when all entities exist
		a.writer.unplaced = append(a.writer.unplaced, id.Index)
	} else {
		a.writer.created = append(a.writer.created, writeItem{index: id.Index, rows: rows})
	}
}

// skipSecondRelation notes and reports relations that cannot be added while the entity has another relation.
func (a *Apply) skipSecondRelation(id wire.NetworkID, state *entityState, rows snapshot.Mask) {
	state.gone = state.gone.Union(rows)
	state.secondRelation = state.secondRelation.Union(rows)
	for ; !rows.IsZero(); rows = rows.Rest() {
		a.tracker.note(Problem{Kind: SecondRelation, Entity: id, Component: a.tracker.schema.Plan(rows.Lowest()).Name()})
	}
}

// batchMin is the least number of entities with equal components that are created or removed together. Arche's batches
// cost some allocations each.
const batchMin = 16

// removal is an entity to remove. It no longer has a network id.
type removal struct {
	id     wire.NetworkID
	entity Entity
	told   bool // Despawned was called for it
	keep   bool // the entity stays and only loses its Replicated
}

// removePerTable counts the entities to remove in each table.
type removePerTable struct {
	count []int    // by table
	seen  []uint32 // by entity number: 1 + generation of the entity counted last
}

// queueRemoval frees the id of an index and queues its entity for removal, which happens when all rows are written. If
// game code removed the entity or its Replicated, it only frees the id.
func (a *Apply) queueRemoval(index uint32) {
	at := &a.tracker.byIndex[index]
	if at.generation == 0 {
		return
	}
	id := wire.NetworkID{Index: index, Generation: at.generation}
	if !a.entities[index].left {
		if e, _ := a.entity(id, at); !a.delayed.delay(id, e) {
			a.toRemove = append(a.toRemove, removal{id: id, entity: e})
		}
	}
	if at.table != nowhere {
		if t := a.tracker.tables[at.table]; !t.scattered && int(at.slot) < t.length {
			a.tracker.spoilSlot(t, int(at.slot))
		}
	}
	a.tracker.free(id)
	a.refs.cut(index, a.refs.none.Not())
	a.refs.requeueReferrers(id)
}

// removeQueued calls Despawned for the queued entities and removes them. If a hook locks the world, a later run removes
// the rest.
func (a *Apply) removeQueued() {
	if len(a.toRemove) == 0 {
		return
	}
	open := true
	for i := 0; i < len(a.toRemove) && open; i++ {
		c := a.toRemove[i]
		if a.hooks.Despawned != nil && !c.told && !c.keep && a.alive(c.entity) {
			a.toRemove[i].told = true
			a.hooks.Despawned(c.entity, c.id) // it may queue more removals
		}
		open = a.unlocked()
	}
	if !open {
		return
	}
	a.removeWholeTables()
	done := 0
	for ; done < len(a.toRemove) && a.unlocked(); done++ {
		if e := a.toRemove[done].entity; a.alive(e) && a.toRemove[done].keep {
			if world.Has(a.tracker.world, e, a.tracker.replicated) {
				world.Exchange(a.tracker.world, e, nil, []world.ID{a.tracker.replicated}, nil)
			}
		} else if a.alive(e) {
			a.stats.Despawned++
			a.tracker.world.RemoveEntity(e)
		}
	}
	a.toRemove = a.toRemove[:copy(a.toRemove, a.toRemove[done:])]
}

// removeWholeTables removes all entities of a table with one call, if all of them are queued. Arche can remove all
// entities of a filter, or single ones.
func (a *Apply) removeWholeTables() {
	if len(a.toRemove) < batchMin || !a.tracker.life.isCurrent(a.tracker.world) {
		return
	}
	d, w := &a.removePerTable, a.tracker.world
	d.count = grown(d.count, len(a.tracker.tables))
	clear(d.count)
	clear(d.seen)
	var last world.Mask // no entity of this apply has the empty mask
	var t *table
	for i := range a.toRemove {
		e := a.toRemove[i].entity
		if !w.Alive(e) || a.toRemove[i].keep {
			continue
		}
		d.seen = grown(d.seen, int(e.ID()))
		if d.seen[e.ID()] == world.Generation(e)+1 {
			continue
		}
		d.seen[e.ID()] = world.Generation(e) + 1
		if mask := world.MaskOf(w, e); mask != last {
			t, last = a.tracker.byMask[mask], mask
		}
		if t != nil {
			d.count[t.number]++
		}
	}
	for _, t := range a.tracker.tables {
		if n := d.count[t.number]; n >= batchMin && !t.scattered && n == a.tracker.count(&t.filter) {
			a.stats.Despawned += uint64(world.RemoveAll(w, &t.filter))
		}
	}
}

// SetAside makes Apply leave rows of an entity alone, as for a prediction. Apply does not write, add, remove or restore
// them, and Smooth does not write their twins.
//
// The mask replaces the one of the last call. Rows that are no longer in it belong to Apply again: the next Run makes
// them equal to the server's.
//
// An entity with rows set aside is removed in the Run that receives its despawn, even if a Smooth still presents an
// earlier moment, unless Retain keeps it. SetAside does nothing for an entity that does not exist.
func (a *Apply) SetAside(id wire.NetworkID, rows snapshot.Mask) {
	if a.tracker.entry(id) == nil || a.entities[id.Index].left {
		return
	}
	state := &a.entities[id.Index]
	if back := state.setAside.Minus(rows); back != state.takeBackRows {
		state.takeBackRows = back
		a.again = append(a.again, id.Index)
	}
	state.setAside = state.setAside.Union(rows)
	state.gone = state.gone.Minus(rows)
}

// setAside returns the rows of an entity that are set aside.
func (a *Apply) setAside(id wire.NetworkID, e Entity) snapshot.Mask {
	if place := a.tracker.entry(id); place == nil || place.entity != e {
		return snapshot.Mask{}
	}
	return a.entities[id.Index].setAside
}

// takeBack makes Apply manage the rows in takeBackRows again. The entity may have gained or lost them meanwhile.
func (a *Apply) takeBack(e Entity, state *entityState) {
	for m := state.takeBackRows; !m.IsZero(); m = m.Rest() {
		row := m.Lowest()
		state.mask = state.mask.Without(row)
		if a.alive(e) && world.Has(a.tracker.world, e, a.tracker.ids[row]) {
			state.mask = state.mask.With(row)
		}
	}
	state.setAside, state.takeBackRows = state.setAside.Minus(state.takeBackRows), snapshot.Mask{}
}

// Retain sets a function that Run calls for each entity with rows set aside whose despawn was received. If it returns true
// the entity stays in the world, without a network id, until RemoveRetained or Clear.
func (a *Apply) Retain(f func(wire.NetworkID) bool) { a.delayed.retains = f }

// RemoveRetained removes an entity that Retain has kept, after a call of Hooks.Despawned.
func (a *Apply) RemoveRetained(e Entity) {
	l := &a.delayed
	for i := range l.list {
		if d := &l.list[i]; d.retained && d.entity == e {
			l.queue(d)
			l.list = slices.Delete(l.list, i, i+1)
			l.removeNow()
			return
		}
	}
}

// Adopt sets a function that Run calls for each new entity of the server. If it returns an entity of this world, Run
// uses that entity: it gives it the network id and the server's values. The entity must not have a network id.
// Hooks.Spawned is not called for it.
func (a *Apply) Adopt(f func(wire.NetworkID) (Entity, bool)) { a.adopts = f }

// adopted uses an entity of this world for a new entity of the server, if Adopt's function or the scene has one. It
// returns false if there is none.
func (a *Apply) adopted(now replica.Entity) bool {
	if now.Mask.Overlaps(a.tracker.relations) {
		return false
	}
	e, ok, loaded := Entity{}, false, false
	if a.adopts != nil {
		e, ok = a.adopts(now.ID)
	}
	if !ok {
		e, ok = a.scene.sceneEntity(a, now)
		loaded = ok
	}
	if !ok || !a.alive(e) {
		return false
	}
	a.slotsStale = true
	a.expect(now.ID, now.Mask, now.Mask)
	a.entities[now.ID.Index].loaded = loaded
	a.born = a.born[:len(a.born)-1]
	a.add = a.add[:0]
	if !world.Has(a.tracker.world, e, a.tracker.replicated) {
		a.add = append(a.add, a.tracker.replicated)
	}
	for m := now.Mask; !m.IsZero(); m = m.Rest() {
		if id := a.tracker.ids[m.Lowest()]; !world.Has(a.tracker.world, e, id) {
			a.add = append(a.add, id)
		}
	}
	a.filling = fillMode{id: now.ID, rows: now.Mask, born: true}
	if len(a.add) == 0 {
		a.fillEntity(e)
	} else {
		world.Exchange(a.tracker.world, e, a.add, nil, a.fill)
	}
	return true
}
