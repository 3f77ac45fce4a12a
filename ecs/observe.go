package netecs

import (
	"iter"
	"reflect"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

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
	if !a.watch.mark.goes(a.watch.world) {
		return
	}
	for n := 0; n < len(a.writing.byTable); n++ {
		for i := 0; i < len(a.writing.byTable[n]); i++ {
			d := &a.writing.byTable[n][i]
			if c, ok := a.changed(d.index, d.rows); ok && !yield(c) {
				return
			}
		}
	}
	r := &a.writing.ranges
	for i := 0; i < len(r.list); i++ {
		for k := range r.list[i].stretch.Count {
			if c, ok := a.changed(r.list[i].stretch.Index+k, r.changed(&r.list[i], k)); ok && !yield(c) {
				return
			}
		}
	}
	for i := 0; i < len(a.writing.fresh); i++ {
		if c, ok := a.changed(a.writing.fresh[i].index, a.writing.fresh[i].rows); ok && !yield(c) {
			return
		}
	}
}

// changed is what became of an entity, if it is still there and something did.
func (a *Apply) changed(index uint32, rows snapshot.Mask) (c Change, ok bool) {
	at, tw := &a.watch.byIndex[index], &a.twins[index]
	if rows == 0 && tw.form == 0 || at.generation == 0 || tw.left || !a.alive(at.entity) {
		return Change{}, false
	}
	c = Change{Entity: at.entity, ID: wire.NetworkID{Index: index, Generation: at.generation}, Rows: rows}
	if tw.form != 0 {
		f := &a.writing.forms[tw.form-1]
		c.Added, c.Removed, c.Spawned = f.added, f.removed, f.spawned
	}
	return c, true
}

// forgetChanges begins the lists of a run.
func (a *Apply) forgetChanges() {
	for i := range a.writing.forms {
		a.twins[a.writing.forms[i].index].form = 0
	}
	a.writing.forget()
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
	row := a.watch.schema.RowOf(reflect.TypeFor[T]())
	if row < 0 {
		return
	}
	for c := range a.Changes {
		if !c.Rows.Has(row) || !a.alive(c.Entity) {
			continue
		}
		if v := componentOf[T](a.watch.world, c.Entity, a.watch.ids[row]); v != nil && !yield(c.Entity, v) {
			return
		}
	}
}
