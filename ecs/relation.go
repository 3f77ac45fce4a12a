package netecs

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// aims brings the targets of relations up to date, when all entities are there:
// a parent may come before its children or after them.
//
// Relations that lead in a circle are refused, every one that lies on it: which
// of them came last says nothing. What counts is what the server says now and
// not what is in the world, so that two entities may change places in one run.
type aims struct {
	rows    snapshot.Mask // rows of the schema that are relations with a target
	list    []uint32      // indexes of entities whose relation is to be looked at
	rings   []ring        // entities that lie on a circle, those of one beside each other
	circles []ringed      // the circles
	before  []ring        // what rings was
	places  []int32       // by index: 1 + where in before, 0 for who is not
	marks   []uint64      // by index: the last walk that came by
	walk    uint64
}

func (s *aims) forget() {
	s.list, s.rings, s.circles = s.list[:0], s.rings[:0], s.circles[:0]
	clear(s.marks)
}

// aimAll sets the targets of the entities listed, and of those for which a
// circle opened or closed.
func (a *Apply) aimAll() {
	s := &a.aims
	s.rings, s.before, s.circles = s.before[:0], s.rings, s.circles[:0]
	for n, r := range s.before { // any of them may be open now
		s.places = extended(s.places, int(r.index))
		s.places[r.index] = 1 + int32(n)
		a.twins[r.index].circle = false
		a.enlist(r.index)
	}
	start := s.walk + 1
	for _, index := range s.list {
		a.seekCircle(index, start)
	}
	for _, r := range s.rings {
		a.enlist(r.index)
	}
	for _, r := range s.before {
		s.places[r.index] = 0
	}
	for _, index := range s.list {
		a.aim(index)
	}
	s.list = s.list[:0]
}

// enlist lists an entity of which nothing was heard in this run.
func (a *Apply) enlist(index uint32) {
	if at := a.watch.at(a.replica.Entity(index).ID); at != nil && !a.twins[index].left {
		a.list(index, at, &a.twins[index])
	}
}

// seekCircle follows relations from an entity as far as nobody has since the
// walk of number start. Each entity is passed once, however many ways lead by.
func (a *Apply) seekCircle(index uint32, start uint64) {
	s := &a.aims
	s.walk++
	for n, on := index, true; on; n, on = a.parent(n) {
		s.marks = extended(s.marks, int(n))
		switch mark := s.marks[n]; {
		case mark == s.walk:
			a.refuse(n)
			return
		case mark >= start:
			return
		}
		s.marks[n] = s.walk
	}
}

// parent is the entity that the server's relation of an entity leads to.
func (a *Apply) parent(index uint32) (uint32, bool) {
	row, ok := a.relation(a.replica.Entity(index).Mask)
	if !ok {
		return 0, false
	}
	id := a.goal(index, row)
	if id.Generation == 0 || id.Index >= snapshot.MaxEntities {
		return 0, false
	}
	up := a.replica.Entity(id.Index)
	return id.Index, up.Alive && up.ID == id && int(id.Index) < len(a.twins)
}

// goal is the target of a relation, as it came.
func (a *Apply) goal(index uint32, row int) wire.NetworkID {
	lane, _ := a.watch.schema.Plan(row).Target()
	lanes := a.replica.Row(index, row)
	return wire.NetworkID{Index: lanes[lane], Generation: lanes[lane+1]}
}

// relation is the row of an entity's relation. There is at most one.
func (a *Apply) relation(mask snapshot.Mask) (row int, ok bool) {
	mask &= a.aims.rows
	if mask == 0 {
		return 0, false
	}
	return first(mask), true
}

// aim sets the target of one entity. The shadow tells whether that is another
// than was applied before: game code may have set one meanwhile.
func (a *Apply) aim(index uint32) {
	now := a.replica.Entity(index)
	at, tw := a.watch.at(now.ID), &a.twins[index]
	row, ok := a.relation(now.Mask &^ tw.gone)
	if !ok || at == nil || tw.left || !a.alive(at.entity) || !a.watch.world.Has(at.entity, a.watch.ids[row]) {
		return
	}
	lane, _ := a.watch.schema.Plan(row).Target()
	id := a.goal(index, row)
	a.refer(index, row, lane, id)
	target := a.local(id)
	if tw.circle {
		target = ecs.Entity{}
	}
	tw.told = tw.told && tw.circle
	relations := a.watch.world.Relations()
	present := relations.Get(at.entity, a.watch.ids[row])
	applied, known := a.watch.keptTarget(at, row)
	if !known { // of who was lost and came back there is nothing better; all of what is new is a change anyway
		applied = present
	}
	if applied != target {
		tw.changed = tw.changed.With(row)
	}
	if present != target {
		a.unsettled = true
		relations.Set(at.entity, a.watch.ids[row], target)
	}
}

// keptTarget is the target of a relation in the shadow, if it is in one.
func (w *watch) keptTarget(at *place, row int) (ecs.Entity, bool) {
	if at.table == nowhere {
		return ecs.Entity{}, false
	}
	t := w.tables[at.table]
	c := t.column(row)
	if c == nil || !c.aimed || int(at.slot) >= t.length {
		return ecs.Entity{}, false
	}
	return c.targets[at.slot], true
}
