package netecs

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// value is what the lanes of a row are in this world: those that came, with
// the entities of this world in entity fields. Nil when there is no such row.
func (r *backRefs) value(index uint32, row int) []uint32 {
	lanes := r.replica.Row(index, row)
	if lanes == nil || !r.rows.Has(row) {
		return lanes
	}
	return r.resolve(index, row, lanes)
}

// backRefs knows which rows name which entities, so that a row is looked at again
// when an entity that it names comes or goes. There is one link for each entity
// field of each row that is here and not nil, so there are never more than the
// rows have fields; it leaves with its row, and when the field names another.
type backRefs struct {
	*Apply
	rows  snapshot.Mask // rows of the schema with handles in memory
	none  snapshot.Mask // rows without any entity field that matters here
	links []backRef
	free  int32   // 1 + first link not in use
	to    []int32 // by network index: 1 + first link that names it
	from  []int32 // by network index: 1 + first link of its rows
	lanes []uint32
}

// backRef says that an entity field names an entity. Links are joined by numbers
// that count from 1, so that zero is none.
type backRef struct {
	target     wire.NetworkID
	index      uint32 // of the entity whose row it is
	row, lane  int32
	next, prev int32 // among those that name the same index
	sibling    int32 // the next of the same entity, or the next free one
}

func newBackRefs(schema *snapshot.Schema) backRefs {
	r := backRefs{none: ^snapshot.Mask(0)}
	most := 0
	for row := range schema.Rows() {
		plan := schema.Plan(row)
		_, aimed := plan.Target()
		if len(plan.Handles()) > 0 {
			r.rows, most = r.rows.With(row), max(most, plan.Lanes())
		}
		if aimed || len(plan.Handles()) > 0 {
			r.none = r.none.Without(row)
		}
	}
	r.lanes = make([]uint32, most)
	return r
}

// forgetLinks drops every link.
func (r *backRefs) forgetLinks() {
	r.links, r.free = r.links[:0], 0
	clear(r.to)
	clear(r.from)
}

// set says which entity a field names now.
func (r *backRefs) set(index uint32, row, lane int, target wire.NetworkID) {
	r.from = grown(r.from, int(index))
	n := r.from[index]
	for n != 0 && (r.links[n-1].row != int32(row) || r.links[n-1].lane != int32(lane)) {
		n = r.links[n-1].sibling
	}
	if target.Generation == 0 || target.Index >= snapshot.MaxEntities {
		target = wire.NetworkID{} // nobody that could ever come
	}
	switch {
	case n == 0 && target.IsZero():
	case n == 0:
		n = r.take()
		r.links[n-1] = backRef{target: target, index: index, row: int32(row), lane: int32(lane), sibling: r.from[index]}
		r.from[index] = n
		r.join(n)
	case r.links[n-1].target == target:
	case target.IsZero():
		r.part(n)
		r.links[n-1].target = target
	default:
		r.part(n)
		r.links[n-1].target = target
		r.join(n)
	}
}

// take returns a link that is not in use.
func (r *backRefs) take() int32 {
	if n := r.free; n != 0 {
		r.free = r.links[n-1].sibling
		return n
	}
	r.links = append(r.links, backRef{})
	return int32(len(r.links))
}

// join enters a link among those that name its target.
func (r *backRefs) join(n int32) {
	l := &r.links[n-1]
	r.to = grown(r.to, int(l.target.Index))
	l.prev, l.next = 0, r.to[l.target.Index]
	if l.next != 0 {
		r.links[l.next-1].prev = n
	}
	r.to[l.target.Index] = n
}

// part takes a link from among those that name its target, if it names one.
func (r *backRefs) part(n int32) {
	l := &r.links[n-1]
	if l.target.IsZero() {
		return
	}
	if l.prev != 0 {
		r.links[l.prev-1].next = l.next
	} else {
		r.to[l.target.Index] = l.next
	}
	if l.next != 0 {
		r.links[l.next-1].prev = l.prev
	}
}

// cut drops the links of an entity's rows.
func (r *backRefs) cut(index uint32, rows snapshot.Mask) {
	if rows&^r.none == 0 || int(index) >= len(r.from) {
		return
	}
	at := &r.from[index]
	for *at != 0 {
		n := *at
		l := &r.links[n-1]
		if !rows.Has(int(l.row)) {
			at = &l.sibling
			continue
		}
		r.part(n)
		*at = l.sibling
		*l = backRef{sibling: r.free}
		r.free = n
	}
}

// requeueReferrers has the rows that name an entity looked at again.
func (r *backRefs) requeueReferrers(id wire.NetworkID) {
	if int(id.Index) >= len(r.to) {
		return
	}
	for n := r.to[id.Index]; n != 0; n = r.links[n-1].next {
		if l := &r.links[n-1]; l.target == id {
			r.stats.Resolved++
			r.again = append(r.again, l.index)
		}
	}
}

// refer notes which entity a field names. Nobody comes whose index is beyond those that the replica takes.
func (r *backRefs) refer(index uint32, row, lane int, id wire.NetworkID) {
	if int(id.Index) >= r.replica.MaxEntities() {
		id = wire.NetworkID{}
	}
	r.set(index, row, lane, id)
}

// local is the entity of this world that a network id names, zero when there is
// none that game code has left in place. The id may be anything.
func (r *backRefs) local(id wire.NetworkID) ecs.Entity {
	if id.Index >= snapshot.MaxEntities {
		return ecs.Entity{}
	}
	at := r.tracker.entry(id)
	if at == nil || r.applied[id.Index].left || !r.alive(at.entity) {
		return ecs.Entity{}
	}
	return at.entity
}

// resolve replaces the network ids in a row's entity fields by what they name
// here. The result is valid until the next call.
func (r *backRefs) resolve(index uint32, row int, lanes []uint32) []uint32 {
	out := r.lanes[:copy(r.lanes, lanes)]
	for _, lane := range r.tracker.schema.Plan(row).Handles() {
		id := wire.NetworkID{Index: lanes[lane], Generation: lanes[lane+1]}
		r.refer(index, row, lane, id)
		e := r.local(id)
		out[lane], out[lane+1] = e.ID(), e.Generation()
	}
	return out
}

// relationTargets brings the targets of relations up to date, when all entities are there:
// a parent may come before its children or after them.
//
// Relations that lead in a circle are refused, every one that lies on it: which
// of them came last says nothing. What counts is what the server says now and
// not what is in the world, so that two entities may change places in one run.
type relationTargets struct {
	*Apply
	rows     snapshot.Mask // rows of the schema that are relations with a target
	list     []uint32      // indexes of entities whose relation is to be looked at
	inCycles []cycleEntity // entities that lie on a circle, those of one beside each other
	cycles   []cycle       // the circles
	before   []cycleEntity // what rings was
	places   []int32       // by index: 1 + where in before, 0 for who is not
	marks    []uint64      // by index: the last walk that came by
	walk     uint64
}

func (s *relationTargets) forgetTargets() {
	s.list, s.inCycles, s.cycles = s.list[:0], s.inCycles[:0], s.cycles[:0]
	clear(s.marks)
}

// setTargets sets the targets of the entities listed, and of those for which a
// circle opened or closed.
func (s *relationTargets) setTargets() {
	s.inCycles, s.before, s.cycles = s.before[:0], s.inCycles, s.cycles[:0]
	for n, r := range s.before { // any of them may be open now
		s.places = grown(s.places, int(r.index))
		s.places[r.index] = 1 + int32(n)
		s.applied[r.index].circle = false
		s.enlist(r.index)
	}
	start := s.walk + 1
	for _, index := range s.list {
		s.findCycle(index, start)
	}
	for _, r := range s.inCycles {
		s.enlist(r.index)
	}
	for _, r := range s.before {
		s.places[r.index] = 0
	}
	for _, index := range s.list {
		s.setTarget(index)
	}
	s.list = s.list[:0]
}

// enlist lists an entity of which nothing was heard in this run.
func (s *relationTargets) enlist(index uint32) {
	if at := s.tracker.entry(s.replica.Entity(index).ID); at != nil && !s.applied[index].left {
		s.writer.list(index, at, &s.applied[index])
	}
}

// findCycle follows relations from an entity as far as nobody has since the
// walk of number start. Each entity is passed once, however many ways lead by.
func (s *relationTargets) findCycle(index uint32, start uint64) {
	s.walk++
	for n, on := index, true; on; n, on = s.parent(n) {
		s.marks = grown(s.marks, int(n))
		switch mark := s.marks[n]; {
		case mark == s.walk:
			s.addCycle(n)
			return
		case mark >= start:
			return
		}
		s.marks[n] = s.walk
	}
}

// parent is the entity that the server's relation of an entity leads to.
func (s *relationTargets) parent(index uint32) (uint32, bool) {
	row, ok := s.relation(s.replica.Entity(index).Mask)
	if !ok {
		return 0, false
	}
	id := s.goal(index, row)
	if id.Generation == 0 || id.Index >= snapshot.MaxEntities {
		return 0, false
	}
	up := s.replica.Entity(id.Index)
	return id.Index, up.Alive && up.ID == id && int(id.Index) < len(s.applied)
}

// goal is the target of a relation, as it came.
func (s *relationTargets) goal(index uint32, row int) wire.NetworkID {
	lane, _ := s.tracker.schema.Plan(row).Target()
	lanes := s.replica.Row(index, row)
	return wire.NetworkID{Index: lanes[lane], Generation: lanes[lane+1]}
}

// relation is the row of an entity's relation. There is at most one.
func (s *relationTargets) relation(mask snapshot.Mask) (row int, ok bool) {
	mask &= s.rows
	if mask == 0 {
		return 0, false
	}
	return lowestRow(mask), true
}

// setTarget sets the target of one entity. The shadow tells whether that is another
// than was applied before: game code may have set one meanwhile.
func (s *relationTargets) setTarget(index uint32) {
	now := s.replica.Entity(index)
	at, tw := s.tracker.entry(now.ID), &s.applied[index]
	row, ok := s.relation(now.Mask &^ tw.gone)
	if !ok || at == nil || tw.left || !s.alive(at.entity) || !s.tracker.world.Has(at.entity, s.tracker.ids[row]) {
		return
	}
	lane, _ := s.tracker.schema.Plan(row).Target()
	id := s.goal(index, row)
	s.refs.refer(index, row, lane, id)
	target := s.refs.local(id)
	if tw.circle {
		target = ecs.Entity{}
	}
	tw.told = tw.told && tw.circle
	relations := s.tracker.world.Relations()
	present := relations.Get(at.entity, s.tracker.ids[row])
	applied, known := s.tracker.keptTarget(at, row)
	if !known { // of who was lost and came back there is nothing better; all of what is new is a change anyway
		applied = present
	}
	if applied != target {
		tw.changed = tw.changed.With(row)
	}
	if present != target {
		s.unsettled = true
		relations.Set(at.entity, s.tracker.ids[row], target)
	}
}

// cycleEntity is an entity on a circle of relations.
type cycleEntity struct {
	index uint32
	up    wire.NetworkID // where its relation leads
	since tick.Tick      // what the client had heard of the server when it came to lead there
}

// cycle is one circle: which of the rings, and the newest since.
type cycle struct {
	from, to int
	since    tick.Tick
	told     bool
}

// addCycle marks every entity of the circle that n lies on.
func (s *relationTargets) addCycle(n uint32) {
	c := cycle{from: len(s.inCycles)}
	for x := n; ; {
		row, _ := s.relation(s.replica.Entity(x).Mask)
		r := cycleEntity{index: x, up: s.goal(x, row), since: s.replica.Heard()}
		if int(x) < len(s.places) && s.places[x] > 0 {
			if old := s.before[s.places[x]-1]; old.up == r.up {
				r.since = old.since
			}
		}
		s.inCycles, c.since = append(s.inCycles, r), max(c.since, r.since)
		s.applied[x].circle = true
		if x, _ = s.parent(x); x == n {
			break
		}
	}
	c.to = len(s.inCycles)
	s.cycles = append(s.cycles, c)
}

// reportCycles reports the circles that there are at the server, once for each entity. What the client knows of two entities may be
// as of different ticks, so that a parent and a child that change places may seem to be a circle until the other record has
// come: a circle is one if all of it is as of one tick, or nothing of it has changed for longer than the window.
func (s *relationTargets) reportCycles() {
	for n := range s.cycles {
		c := &s.cycles[n]
		if c.told || !s.atOnce(s.inCycles[c.from:c.to]) && s.replica.Heard()-c.since <= s.replica.Window() {
			continue
		}
		c.told = true
		for _, r := range s.inCycles[c.from:c.to] {
			now := s.replica.Entity(r.index)
			at, tw := s.tracker.entry(now.ID), &s.applied[r.index]
			row, ok := s.relation(now.Mask &^ tw.gone)
			if !ok || at == nil || tw.told || tw.left || !s.alive(at.entity) {
				continue
			}
			tw.told = true
			s.tracker.note(Problem{Kind: RelationCycle, Entity: now.ID, Local: at.entity, Component: s.tracker.schema.Plan(row).Name()})
		}
	}
}

// atOnce reports whether all that is known of a circle is as of one tick.
func (s *relationTargets) atOnce(rings []cycleEntity) bool {
	first := s.replica.Entity(rings[0].index).Tick
	for _, r := range rings[1:] {
		if s.replica.Entity(r.index).Tick != first {
			return false
		}
	}
	return true
}
