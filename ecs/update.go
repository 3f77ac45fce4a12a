package netecs

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// filling says what fillEntity writes.
type filling struct {
	id   wire.NetworkID
	rows snapshot.Mask
	born bool
}

// updateEntity brings one network index up to date: at most one entity leaves
// and one comes or changes.
func (a *Apply) updateEntity(index uint32) {
	now := a.replica.Entity(index)
	if int(index) < len(a.watch.byIndex) {
		held := a.watch.byIndex[index].generation
		if held != 0 && (!now.Alive || held != now.ID.Generation) {
			a.condemn(index)
		}
	}
	if !now.Alive {
		return
	}
	if at := a.watch.at(now.ID); at != nil {
		a.change(now, at)
	} else {
		a.spawn(now)
	}
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
		e, _ := a.entity(id, at)
		a.condemned = append(a.condemned, condemned{id: id, entity: e})
	}
	a.watch.drop(id)
}

// entity is the entity of an id that game code has not taken away, whether or
// not its handle was exchanged by game code.
func (a *Apply) entity(id wire.NetworkID, at *place) (ecs.Entity, bool) {
	if a.alive(at.entity) {
		return at.entity, true
	}
	if a.watch.mark.goes(a.watch.world) && a.watch.relocate(at, id) {
		return a.watch.at(id).entity, true
	}
	return at.entity, false
}

// spawn creates an entity with all its components at once. A listener of the
// game sees it when its values are written.
func (a *Apply) spawn(now snapshot.Entity) {
	a.twins = extended(a.twins, int(now.ID.Index))
	tw := &a.twins[now.ID.Index]
	*tw = twin{mask: now.Mask}
	a.add = append(a.add[:0], a.watch.replicated)
	related := false
	for m := now.Mask; m != 0; m &= m - 1 {
		row := first(m)
		if a.watch.relations.Has(row) {
			if related {
				a.leaveOut(now.ID, tw, row)
				continue
			}
			related = true
		}
		a.add = append(a.add, a.watch.ids[row])
	}
	a.filling = filling{id: now.ID, rows: now.Mask &^ tw.gone, born: true}
	a.unsettled = true
	a.stats.Spawned++
	a.born = append(a.born, now.ID)
	a.watch.world.NewEntityFn(a.fill, a.add...)
}

// change brings an entity's components up to date.
func (a *Apply) change(now snapshot.Entity, at *place) {
	tw := &a.twins[now.ID.Index]
	e, ok := a.entity(now.ID, at)
	if tw.left || !ok {
		return
	}
	a.unsettled = true
	a.add, a.rem = a.add[:0], a.rem[:0]
	if now.Mask != tw.mask {
		a.removals(e, tw, tw.mask&^now.Mask)
		a.additions(e, tw, now, now.Mask&^tw.mask)
		tw.mask = now.Mask
	}
	a.filling = filling{id: now.ID, rows: now.Mask &^ tw.gone}
	if len(a.add)+len(a.rem) == 0 {
		a.fillEntity(e)
		return
	}
	a.watch.world.ExchangeFn(e, a.add, a.rem, a.fill)
}

// removals lists the components to remove. Those that game code removed before
// are gone already.
func (a *Apply) removals(e ecs.Entity, tw *twin, rows snapshot.Mask) {
	for ; rows != 0; rows &= rows - 1 {
		row := first(rows)
		if id := a.watch.ids[row]; a.watch.world.Has(e, id) {
			a.rem = append(a.rem, id)
		}
		tw.gone = tw.gone.Without(row)
	}
}

// additions lists the components to add. Those that game code added before are
// there already.
func (a *Apply) additions(e ecs.Entity, tw *twin, now snapshot.Entity, rows snapshot.Mask) {
	for ; rows != 0; rows &= rows - 1 {
		row := first(rows)
		id := a.watch.ids[row]
		switch {
		case a.watch.world.Has(e, id):
			a.watch.note(Problem{
				Kind: LocallyAddedComponent, Entity: now.ID, Local: e, Component: a.watch.schema.Plan(row).Name(),
			})
		case a.watch.relations.Has(row) && a.related(e):
			a.leaveOut(now.ID, tw, row)
		default:
			a.add = append(a.add, id)
		}
	}
}

// related reports whether an entity will have a relation after the removals
// and additions listed so far.
func (a *Apply) related(e ecs.Entity) bool {
	mask := a.watch.world.Mask(e)
	for _, id := range a.rem {
		mask.Set(id, false)
	}
	for _, id := range a.add {
		mask.Set(id, true)
	}
	return hasRelation(a.watch.world, &mask)
}

// leaveOut notes that a component cannot be added.
func (a *Apply) leaveOut(id wire.NetworkID, tw *twin, row int) {
	tw.gone = tw.gone.With(row)
	a.watch.note(Problem{Kind: SecondRelation, Entity: id, Component: a.watch.schema.Plan(row).Name()})
}

// fillEntity writes the rows of the entity that filling names.
func (a *Apply) fillEntity(e ecs.Entity) {
	f := a.filling
	if f.born {
		a.watch.hold(f.id, e)
		*replicatedOf(a.watch.world, e, a.watch.replicated) = components.Replicated{ID: f.id, World: a.watch.tag}
	}
	for m := f.rows; m != 0; m &= m - 1 {
		row := first(m)
		if lanes := a.replica.Row(f.id.Index, row); len(lanes) > 0 {
			a.stats.Rows++
			writeRow(a.watch.world, e, a.watch.ids[row], a.watch.schema.Plan(row), lanes)
		}
	}
}
