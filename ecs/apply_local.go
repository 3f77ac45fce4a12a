package netecs

import (
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// localChanges handles the changes that game code made to a client's world. It implements trackerEvents.
type localChanges struct {
	apply   *Apply
	tracker *tracker
}

// differs restores a component that game code wrote.
func (l *localChanges) differs(id wire.NetworkID, c *column, row, slot int) (keep bool) {
	l.restore(id, c, row, c, slot)
	return true
}

// rowsDiffer returns false: local changes are few, so differs handles each row.
func (l *localChanges) rowsDiffer(*table, *column, []int32) bool { return false }

// restore compares a row with the applied value in a slot of a shadow. If a sent field differs, it writes the server's
// value. A row that the client may write is only noted as written.
func (l *localChanges) restore(id wire.NetworkID, c *column, row int, shadow *column, slot int) {
	state := &l.apply.entities[id.Index]
	if c.row < 0 || !state.mask.Has(c.row) || state.setAside.Has(c.row) {
		return // a component of game code
	}
	if state.reverted.Has(c.row) {
		return // written when the client had the right, and written again in this run
	}
	if l.apply.may(id, c.row) {
		if _, equal := c.plan.Compare(shadow.kept(slot), c.at(row)); !equal {
			state.authored = state.authored.With(c.row)
		}
		return
	}
	field, equal := c.plan.Compare(shadow.kept(slot), c.at(row))
	strayed := c.relation && shadow.relation && c.target != shadow.targets[slot]
	if equal && !strayed || l.apply.replica.Entity(id.Index).ID != id {
		return
	}
	lanes := l.apply.refs.value(id.Index, c.row)
	if lanes == nil {
		return
	}
	if l.apply.refs.rows.Has(c.row) { // the entities that it refers to may appear or be removed in this run
		c.takeBack(row, shadow, slot, l.apply.refs.lanes)
	} else {
		c.write(row, lanes)
	}
	if _, old := c.plan.Compare(shadow.kept(slot), c.at(row)); !old {
		state.changed = state.changed.With(c.row) // the server has a new value by now
	}
	if strayed { // setTarget restores it when the world is unlocked; the shadow keeps the applied target
		c.target = shadow.targets[slot]
		l.apply.again = append(l.apply.again, id.Index)
		if equal {
			field = "target"
		}
	}
	l.restored(id, c, field)
}

// restored counts a restored component, and reports the first time for each component of an entity.
func (l *localChanges) restored(id wire.NetworkID, c *column, field string) {
	l.apply.stats.Restored++
	if state := &l.apply.entities[id.Index]; !state.restored.Has(c.row) {
		state.restored = state.restored.With(c.row)
		l.tracker.note(Problem{
			Kind: LocalWriteRestored, Entity: id, Local: l.tracker.entry(id).entity,
			Component: c.plan.Name(), Field: field,
		})
	}
}

// appears handles an entity that is new, was moved, or has another Replicated than before. It restores the Replicated
// of this apply's entities and clears copies of it.
func (l *localChanges) appears(t *table, row, _ int) {
	e := l.tracker.entityAt(t, row)
	r := t.replicas.replicated(row)
	if l.apply.delayed.has(e) {
		l.apply.delayed.restoreReplicated(r, e)
		return
	}
	id, ours := l.tracker.idOf(e)
	named := l.tracker.entry(r.ID) != nil && r.World == l.tracker.tag
	switch {
	case ours && *r == components.Replicated{ID: id, World: l.tracker.tag}:
	case ours && named:
		l.tracker.note(Problem{Kind: CopiedReplicated, Entity: id, Local: e})
	case ours:
		l.tracker.note(Problem{Kind: OverwrittenReplicated, Entity: id, Local: e})
	case r.World != l.tracker.tag:
		switch {
		case !r.ID.IsZero():
			l.tracker.noteForeign(e, r.World)
		case r.World == 0 && !l.tracker.life.captured(): // else another apply manages it, or a capture on this world will spawn it
			l.tracker.noteStrange(LocalReplicated, e)
		}
		return
	case named:
		l.tracker.noteStrange(CopiedReplicated, e)
	default:
		l.tracker.noteStrange(StaleReplicated, e)
	}
	l.apply.slotsStale = true
	if !ours {
		*r = components.Replicated{}
		return
	}
	*r = components.Replicated{ID: id, World: l.tracker.tag}
	l.moved(id, t, row)
}

// moved handles an entity of this apply whose row moved. Game code added or removed components, or removed another
// entity of the table.
func (l *localChanges) moved(id wire.NetworkID, t *table, row int) {
	at, state := l.tracker.entry(id), &l.apply.entities[id.Index]
	at.stamp = l.tracker.run
	l.tracker.noteMoved(id, at)
	if state.left { // game code removed its Replicated and added it again
		state.left = false
		l.apply.again = append(l.apply.again, id.Index)
		l.apply.refs.requeueReferrers(id)
	}
	for m := state.mask.Minus(state.gone).Minus(state.setAside).Minus(t.rows); !m.IsZero(); m = m.Rest() {
		state.gone = state.gone.With(m.Lowest())
		l.tracker.note(Problem{
			Kind: LocallyRemovedComponent, Entity: id, Local: at.entity,
			Component: l.tracker.schema.Plan(m.Lowest()).Name(),
		})
	}
	if back := state.gone.Intersect(t.rows); !back.IsZero() {
		state.gone = state.gone.Minus(back)
		state.secondRelation = state.secondRelation.Minus(back)
		l.apply.again = append(l.apply.again, id.Index)
	}
	if !state.secondRelation.IsZero() && !t.scattered { // game code may have removed the relation that blocked the server's
		l.apply.again = append(l.apply.again, id.Index)
	}
	if at.table == nowhere {
		l.noteAdded(id, at, t.rows.Minus(state.mask).Minus(state.setAside))
		return
	}
	before := l.tracker.tables[at.table]
	l.noteAdded(id, at, t.rows.Minus(state.mask).Minus(state.setAside).Minus(before.rows))
	for i := range t.columns {
		c := &t.columns[i]
		if shadow := before.column(c.row); shadow != nil {
			l.restore(id, c, row, shadow, int(at.slot))
		}
	}
}

// noteAdded reports replicated components that game code added to an entity.
func (l *localChanges) noteAdded(id wire.NetworkID, at *entityEntry, rows snapshot.Mask) {
	for ; !rows.IsZero(); rows = rows.Rest() {
		l.tracker.note(Problem{
			Kind: LocallyAddedComponent, Entity: id, Local: at.entity,
			Component: l.tracker.schema.Plan(rows.Lowest()).Name(),
		})
	}
}

// noticeLost handles the entities that the scan did not find: game code removed them or their Replicated.
func (l *localChanges) noticeLost() {
	for _, id := range l.tracker.lost {
		if at := l.tracker.entry(id); at != nil && at.stamp != l.tracker.run {
			at.table = nowhere
			l.apply.slotsStale = true
			l.noteRemoved(id, at)
		}
	}
}

// noteRemoved notes and reports that game code removed an entity or its Replicated.
func (l *localChanges) noteRemoved(id wire.NetworkID, at *entityEntry) {
	l.apply.entities[id.Index].left = true
	l.apply.refs.requeueReferrers(id)
	p := Problem{Kind: LocallyRemovedEntity, Entity: id}
	if l.apply.alive(at.entity) {
		p = Problem{Kind: LocallyRemovedComponent, Entity: id, Local: at.entity, Component: "Replicated"}
	}
	l.tracker.note(p)
}
