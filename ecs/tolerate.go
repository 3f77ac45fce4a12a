package netecs

import (
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// This file is what Apply does about what game code did to a client's world.

// differs puts back a component that game code wrote.
func (a *Apply) differs(id wire.NetworkID, c *column, row, slot int) (keep bool) {
	a.restore(id, c, row, c, slot)
	return true
}

// differ leaves each row to differs: there are few.
func (a *Apply) differ(*table, *column, []int32) bool { return false }

// restore compares a row with what was applied, which is a slot of a shadow,
// and puts the server's value back if a field that travels is another.
func (a *Apply) restore(id wire.NetworkID, c *column, row int, applied *column, slot int) {
	tw := &a.twins[id.Index]
	if c.row < 0 || !tw.mask.Has(c.row) {
		return // game code's own component
	}
	if a.may(id, c.row) {
		if _, equal := c.plan.Compare(applied.kept(slot), c.at(row)); !equal {
			tw.authored = tw.authored.With(c.row)
		}
		return
	}
	field, equal := c.plan.Compare(applied.kept(slot), c.at(row))
	strayed := c.aimed && applied.aimed && c.target != applied.targets[slot]
	if equal && !strayed || a.replica.Entity(id.Index).ID != id {
		return
	}
	lanes := a.value(id.Index, c.row)
	if lanes == nil {
		return
	}
	if a.refs.rows.Has(c.row) { // whom it names may come or go in this run
		c.takeBack(row, applied, slot, a.refs.lanes)
	} else {
		c.write(row, lanes)
	}
	if _, old := c.plan.Compare(applied.kept(slot), c.at(row)); !old {
		tw.changed = tw.changed.With(c.row) // and the server has another value by now
	}
	if strayed { // it is set when the world is unlocked; the shadow keeps what was applied
		c.target = applied.targets[slot]
		a.again = append(a.again, id.Index)
		if equal {
			field = "target"
		}
	}
	a.restored(id, c, field)
}

// restored notes that client code wrote a component and that it was put back.
func (a *Apply) restored(id wire.NetworkID, c *column, field string) {
	a.stats.Restored++
	if tw := &a.twins[id.Index]; !tw.restored {
		tw.restored = true
		a.watch.note(Problem{
			Kind: LocalWriteRestored, Entity: id, Local: a.watch.at(id).entity,
			Component: c.plan.Name(), Field: field,
		})
	}
}

// appears looks at an entity that is new, was moved, or whose Replicated was
// written.
func (a *Apply) appears(t *table, row, _ int) {
	e := a.watch.entityAt(t, row)
	r := t.replicas.replicated(row)
	if a.late.has(e) {
		a.remain(r, e)
		return
	}
	id, ours := a.watch.holder(e)
	named := a.watch.at(r.ID) != nil && r.World == a.watch.tag
	switch {
	case ours && *r == components.Replicated{ID: id, World: a.watch.tag}:
	case ours && named:
		a.watch.note(Problem{Kind: CopiedReplicated, Entity: id, Local: e})
	case ours:
		a.watch.note(Problem{Kind: OverwrittenReplicated, Entity: id, Local: e})
	case r.World != a.watch.tag:
		switch {
		case !r.ID.IsZero():
			a.watch.noteForeign(e, r.World)
		case r.World == 0 && !a.watch.mark.captured(): // else others keep it, or a server of this world will take it
			a.watch.noteStrange(LocalReplicated, e)
		}
		return
	case named:
		a.watch.noteStrange(CopiedReplicated, e)
	default:
		a.watch.noteStrange(StaleReplicated, e)
	}
	a.unsettled = true
	if !ours {
		*r = components.Replicated{}
		return
	}
	*r = components.Replicated{ID: id, World: a.watch.tag}
	a.moved(id, t, row)
}

// moved looks at an entity of ours whose row is not where it was: game code
// added or removed components, or removed another entity.
func (a *Apply) moved(id wire.NetworkID, t *table, row int) {
	at, tw := a.watch.at(id), &a.twins[id.Index]
	at.stamp = a.watch.run
	a.watch.depart(id, at)
	if tw.left { // its Replicated was removed, and now is back
		tw.left = false
		a.again = append(a.again, id.Index)
		a.revisit(id)
	}
	for m := tw.mask &^ tw.gone &^ t.rows; m != 0; m &= m - 1 {
		tw.gone = tw.gone.With(first(m))
		a.watch.note(Problem{
			Kind: LocallyRemovedComponent, Entity: id, Local: at.entity,
			Component: a.watch.schema.Plan(first(m)).Name(),
		})
	}
	if back := tw.gone & t.rows; back != 0 {
		tw.gone &^= back
		tw.out &^= back
		a.again = append(a.again, id.Index)
	}
	if tw.out != 0 && !t.scattered { // game code removed the relation that was in the way of the server's
		a.again = append(a.again, id.Index)
	}
	if at.table == nowhere {
		a.noteAdded(id, at, t.rows&^tw.mask)
		return
	}
	before := a.watch.tables[at.table]
	a.noteAdded(id, at, t.rows&^tw.mask&^before.rows)
	for i := range t.columns {
		c := &t.columns[i]
		if applied := before.column(c.row); applied != nil {
			a.restore(id, c, row, applied, int(at.slot))
		}
	}
}

// noteAdded notes the replicated components that game code added to an entity.
func (a *Apply) noteAdded(id wire.NetworkID, at *place, rows snapshot.Mask) {
	for ; rows != 0; rows &= rows - 1 {
		a.watch.note(Problem{
			Kind: LocallyAddedComponent, Entity: id, Local: at.entity,
			Component: a.watch.schema.Plan(first(rows)).Name(),
		})
	}
}

// noticeLost notes the entities that game code removed, or took the Replicated of.
func (a *Apply) noticeLost() {
	for _, id := range a.watch.lost {
		if at := a.watch.at(id); at != nil && at.stamp != a.watch.run {
			at.table = nowhere
			a.unsettled = true
			a.lose(id, at)
		}
	}
}

// lose notes that game code took an entity away.
func (a *Apply) lose(id wire.NetworkID, at *place) {
	a.twins[id.Index].left = true
	a.revisit(id)
	p := Problem{Kind: LocallyRemovedEntity, Entity: id}
	if a.alive(at.entity) {
		p = Problem{Kind: LocallyRemovedComponent, Entity: id, Local: at.entity, Component: "Replicated"}
	}
	a.watch.note(p)
}
