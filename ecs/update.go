package netecs

import (
	"bytes"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// filling says what fillEntity writes.
type filling struct {
	id    wire.NetworkID
	rows  snapshot.Mask
	added snapshot.Mask // of them: that the entity did not have
	born  bool
}

// update brings the world up to date with the replica: first what entities and
// components there are, then their values, when every entity is there.
func (a *Apply) update() {
	if a.replica == nil || len(a.again) == 0 && len(a.replica.ChangedSpans()) == 0 && (!a.all || a.replica.Len() == 0) {
		return
	}
	a.stats.Applied++
	a.run++
	a.forgetChanges()
	if a.all { // nobody has an id yet
		a.all = false
		for now := range a.replica.All {
			a.updateEntity(now.ID.Index)
		}
	} else {
		a.listChanged()
	}
	a.replica.ClearChanged()
	if len(a.births.kinds) > 0 {
		a.spawnAll()
	}
	for i := 0; i < len(a.again); i++ { // what was spawned or condemned has added to it
		if at := &a.watch.byIndex[a.again[i]]; at.generation != 0 {
			a.updateEntity(a.again[i])
		}
	}
	a.again = a.again[:0]
	if len(a.aims.list)+len(a.aims.rings) > 0 {
		a.aimAll()
	}
	a.writeAll()
}

// updateEntity brings what is at one network index up to date, but for values:
// at most one entity leaves and one comes or changes.
func (a *Apply) updateEntity(index uint32) {
	now := a.replica.Entity(index)
	if int(index) < len(a.watch.byIndex) {
		at := &a.watch.byIndex[index]
		if at.generation != 0 && at.generation == now.ID.Generation && now.Alive {
			a.change(now, at)
			return
		}
		if at.generation != 0 {
			a.condemn(index)
		}
	}
	if now.Alive {
		a.twins = extended(a.twins, int(index))
		a.births.add(now.ID, now.Mask)
	}
}

// entity is the entity of an id that game code has not taken away, whether or
// not its handle was exchanged by game code.
func (a *Apply) entity(id wire.NetworkID, at *place) (ecs.Entity, bool) {
	if a.alive(at.entity) {
		return at.entity, true
	}
	if a.watch.mark.goes(a.watch.world) && a.watch.relocate(at, id) {
		a.revisit(id)
		return a.watch.at(id).entity, true
	}
	return at.entity, false
}

// change brings the components of an entity up to date that is there.
func (a *Apply) change(now snapshot.Entity, at *place) {
	tw := &a.twins[now.ID.Index]
	if tw.left {
		if now.Mask&a.aims.rows != 0 { // it may close a circle of others
			a.aims.list = append(a.aims.list, now.ID.Index)
		}
		return
	}
	if now.Mask != tw.mask || tw.out != 0 {
		a.exchange(now, at, tw)
	}
	a.list(now.ID.Index, at, tw)
}

// exchange adds and removes components.
func (a *Apply) exchange(now snapshot.Entity, at *place, tw *twin) {
	e, ok := a.entity(now.ID, at)
	if !ok {
		return
	}
	a.add, a.rem = a.add[:0], a.rem[:0]
	own := a.owned(now.ID) & tw.mask
	removed := tw.mask &^ now.Mask &^ tw.gone
	a.removals(e, tw, tw.mask&^now.Mask)
	if late := tw.out & now.Mask; late != 0 && !a.related(e) {
		late &= -late // one is all that there is room for
		tw.mask, tw.gone, tw.out = tw.mask&^late, tw.gone&^late, tw.out&^late
	} else if late != 0 && now.Mask == tw.mask {
		return
	}
	added := a.additions(e, tw, now, now.Mask&^tw.mask)
	if added|removed != 0 {
		a.writing.form(tw, form{index: now.ID.Index, added: added, removed: removed})
	}
	tw.changed |= added
	a.refs.cut(now.ID.Index, tw.mask&^now.Mask)
	tw.mask = now.Mask
	if len(a.add)+len(a.rem) == 0 {
		return
	}
	a.unsettled = true
	a.filling = filling{id: now.ID, rows: now.Mask &^ tw.gone &^ own, added: added}
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
		tw.gone, tw.out = tw.gone.Without(row), tw.out.Without(row)
	}
}

// additions lists the components to add and returns the rows that there will
// be. Those that game code added before are there already.
func (a *Apply) additions(e ecs.Entity, tw *twin, now snapshot.Entity, rows snapshot.Mask) (added snapshot.Mask) {
	added = rows
	for ; rows != 0; rows &= rows - 1 {
		row := first(rows)
		id := a.watch.ids[row]
		switch {
		case a.watch.world.Has(e, id): // noteAdded has told of it
		case a.watch.relations.Has(row) && a.related(e):
			a.leaveOut(now.ID, tw, snapshot.Mask(0).With(row))
			added = added.Without(row)
		default:
			a.add = append(a.add, id)
		}
	}
	return added
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

// fillEntity writes the rows of the entity that filling names, while Arche
// creates or moves it: a listener of the game sees it when it is written.
func (a *Apply) fillEntity(e ecs.Entity) {
	f := a.filling
	if f.born {
		a.watch.hold(f.id, e)
		*replicatedOf(a.watch.world, e, a.watch.replicated) = components.Replicated{ID: f.id, World: a.watch.tag}
		a.revisit(f.id)
	}
	at, tw := a.watch.at(f.id), &a.twins[f.id.Index]
	for m := f.rows; m != 0; m &= m - 1 {
		row := first(m)
		if a.refs.rows.Has(row) && !f.born && !f.added.Has(row) {
			continue // whom it names may come or go in this run: it is written, and compared, when everybody is there
		}
		lanes := a.value(f.id.Index, row)
		if len(lanes) == 0 {
			continue
		}
		a.stats.Rows++
		c := column{id: a.watch.ids[row], plan: a.watch.schema.Plan(row), size: int(a.watch.schema.Plan(row).Size())}
		if !c.aimAt(a.watch.world, e) {
			continue
		}
		before := a.watch.kept(at, row)
		if before == nil && !f.born { // its slot was cut off, as those are that others have left; what game code wrote is put back by now
			a.before = append(a.before[:0], c.bytes(0, 1)...)
			before = a.before
		}
		c.write(0, lanes)
		if before != nil && !bytes.Equal(before, c.bytes(0, 1)) {
			tw.changed = tw.changed.With(row)
		}
		c.release()
	}
}
