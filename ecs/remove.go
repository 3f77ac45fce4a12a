package netecs

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/wire"
)

// fewest is how many entities of the same components are created or removed
// together rather than one by one: Arche's batches cost some allocations each.
const fewest = 16

// condemned is an entity that has no id any more.
type condemned struct {
	id     wire.NetworkID
	entity ecs.Entity
	told   bool // Despawned was called
}

// doomed counts the condemned entities of each table.
type doomed struct {
	count []int    // by table
	seen  []uint32 // by entity number: 1 + generation of the entity counted last
}

// condemn takes an index's id from its entity, which is removed when all rows
// are written. An entity that game code took for itself stays.
func (a *Apply) condemn(index uint32) {
	at := &a.watch.byIndex[index]
	if at.generation == 0 {
		return
	}
	id := wire.NetworkID{Index: index, Generation: at.generation}
	if !a.twins[index].left {
		if e, _ := a.entity(id, at); !a.linger(id, e) {
			a.condemned = append(a.condemned, condemned{id: id, entity: e})
		}
	}
	a.watch.drop(id)
	a.refs.cut(index, ^a.refs.none)
	a.revisit(id)
}

// removeCondemned calls Despawned for the entities without an id and removes
// them. Should the world become locked, the rest waits.
func (a *Apply) removeCondemned() {
	if len(a.condemned) == 0 {
		return
	}
	open := true
	for i := 0; i < len(a.condemned) && open; i++ {
		c := a.condemned[i]
		if a.hooks.Despawned != nil && !c.told && a.alive(c.entity) {
			a.condemned[i].told = true
			a.hooks.Despawned(c.entity, c.id) // it may condemn more
		}
		open = a.unlocked()
	}
	if !open {
		return
	}
	a.removeWholeTables()
	done := 0
	for ; done < len(a.condemned) && a.unlocked(); done++ {
		if e := a.condemned[done].entity; a.alive(e) {
			a.stats.Despawned++
			a.watch.world.RemoveEntity(e)
		}
	}
	a.condemned = a.condemned[:copy(a.condemned, a.condemned[done:])]
}

// removeWholeTables removes the entities of the tables of which every entity is
// condemned. Arche removes all that a filter finds, or one.
func (a *Apply) removeWholeTables() {
	if len(a.condemned) < fewest || !a.watch.mark.goes(a.watch.world) {
		return
	}
	d, w := &a.doomed, a.watch.world
	d.count = extended(d.count, len(a.watch.tables))
	clear(d.count)
	clear(d.seen)
	var last ecs.Mask // never that of an entity of ours
	var t *table
	for i := range a.condemned {
		e := a.condemned[i].entity
		if !w.Alive(e) {
			continue
		}
		d.seen = extended(d.seen, int(e.ID()))
		if d.seen[e.ID()] == e.Generation()+1 {
			continue
		}
		d.seen[e.ID()] = e.Generation() + 1
		if mask := w.Mask(e); mask != last {
			t, last = a.watch.byMask[mask], mask
		}
		if t != nil {
			d.count[t.number]++
		}
	}
	for _, t := range a.watch.tables {
		if n := d.count[t.number]; n >= fewest && !t.scattered && n == a.watch.length(t) {
			a.stats.Despawned += uint64(w.Batch().RemoveEntities(&t.filter))
		}
	}
}

// length is the number of entities that a table has in the world.
func (w *watch) length(t *table) int {
	w.query = w.world.Query(&t.filter)
	n := w.query.Count()
	w.query.Close()
	return n
}
