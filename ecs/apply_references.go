package netecs

import (
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// value returns the lanes of a row. Entity fields contain the handles of this world. It returns nil if there is no such
// row.
func (r *backRefs) value(index uint32, row int) []uint32 {
	lanes := r.apply.replica.Row(index, row)
	if lanes == nil || !r.rows.Has(row) {
		return lanes
	}
	return r.resolve(index, row, lanes)
}

// backRefs finds the rows that refer to an entity. They are written again when that entity appears or is removed. There
// is one backRef for each entity field that is not nil. It ends when the row is removed or the field refers to another
// entity.
type backRefs struct {
	apply   *Apply
	tracker *tracker

	rows  snapshot.Mask // schema rows with handles in memory
	none  snapshot.Mask // schema rows with neither handles in memory nor a target
	links []backRef
	free  int32   // 1 + the first unused backRef
	to    []int32 // by network index: 1 + the first backRef to it
	from  []int32 // by network index: 1 + the first backRef of its rows
	lanes []uint32
}

// backRef is an entity field that refers to an entity. Numbers of backRefs count from 1; 0 means none.
type backRef struct {
	target     wire.NetworkID
	index      uint32 // index of the entity with the field
	row, lane  int32
	next, prev int32 // in the list of backRefs to the same index
	sibling    int32 // the next backRef of the same entity, or the next unused one
}

// newBackRefs finds the rows of a schema with entity fields.
func newBackRefs(schema *snapshot.Schema) backRefs {
	r := backRefs{none: snapshot.AllRows()}
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

// forgetLinks drops every backRef.
func (r *backRefs) forgetLinks() {
	r.links, r.free = r.links[:0], 0
	clear(r.to)
	clear(r.from)
}

// set stores the entity that a field refers to now.
func (r *backRefs) set(index uint32, row, lane int, target wire.NetworkID) {
	r.from = grown(r.from, int(index))
	n := r.from[index]
	for n != 0 && (r.links[n-1].row != int32(row) || r.links[n-1].lane != int32(lane)) {
		n = r.links[n-1].sibling
	}
	if target.Generation == 0 || target.Index >= snapshot.MaxEntities {
		target = wire.NetworkID{} // no entity can have this id
	}
	switch {
	case n == 0 && target.IsZero():
	case n == 0:
		n = r.take()
		r.links[n-1] = backRef{target: target, index: index, row: int32(row), lane: int32(lane), sibling: r.from[index]}
		r.from[index] = n
		r.link(n)
	case r.links[n-1].target == target:
	case target.IsZero():
		r.unlink(n)
		r.links[n-1].target = target
	default:
		r.unlink(n)
		r.links[n-1].target = target
		r.link(n)
	}
}

// take returns an unused backRef.
func (r *backRefs) take() int32 {
	if n := r.free; n != 0 {
		r.free = r.links[n-1].sibling
		return n
	}
	r.links = append(r.links, backRef{})
	return int32(len(r.links))
}

// link adds a backRef to the list of its target.
func (r *backRefs) link(n int32) {
	l := &r.links[n-1]
	r.to = grown(r.to, int(l.target.Index))
	l.prev, l.next = 0, r.to[l.target.Index]
	if l.next != 0 {
		r.links[l.next-1].prev = n
	}
	r.to[l.target.Index] = n
}

// unlink removes a backRef from the list of its target, if it has one.
func (r *backRefs) unlink(n int32) {
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

// cut drops the backRefs of rows of an entity.
func (r *backRefs) cut(index uint32, rows snapshot.Mask) {
	if rows.Within(r.none) || int(index) >= len(r.from) {
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
		r.unlink(n)
		*at = l.sibling
		*l = backRef{sibling: r.free}
		r.free = n
	}
}

// requeueReferrers makes this run or the next one write the rows again that refer to an entity.
func (r *backRefs) requeueReferrers(id wire.NetworkID) {
	if uint(id.Index) >= uint(len(r.to)) {
		return
	}
	for n := r.to[id.Index]; n != 0; n = r.links[n-1].next {
		if l := &r.links[n-1]; l.target == id {
			r.apply.stats.Resolved++
			r.apply.again = append(r.apply.again, l.index)
		}
	}
}

// refer stores the entity that a field refers to. An index that the replica does not accept counts as nil.
func (r *backRefs) refer(index uint32, row, lane int, id wire.NetworkID) {
	if int(id.Index) >= r.apply.replica.MaxEntities() {
		id = wire.NetworkID{}
	}
	r.set(index, row, lane, id)
}

// local returns the entity of this world with a network id. It returns the zero entity if there is none or game code
// removed it. The id may have any value.
func (r *backRefs) local(id wire.NetworkID) Entity {
	if id.Index >= snapshot.MaxEntities {
		return Entity{}
	}
	at := r.tracker.entry(id)
	if at == nil || r.apply.entities[id.Index].left || !r.apply.alive(at.entity) {
		return Entity{}
	}
	return at.entity
}

// resolve replaces the network ids in the entity fields of a row by handles of this world. The result is valid until
// the next call.
func (r *backRefs) resolve(index uint32, row int, lanes []uint32) []uint32 {
	out := r.lanes[:copy(r.lanes, lanes)]
	for _, lane := range r.tracker.schema.Plan(row).Handles() {
		id := wire.NetworkID{Index: lanes[lane], Generation: lanes[lane+1]}
		r.refer(index, row, lane, id)
		e := r.local(id)
		out[lane], out[lane+1] = e.ID(), world.Generation(e)
	}
	return out
}

// relationTargets sets the targets of relations when all entities exist, since a parent may arrive before or after its
// children.
//
// It clears every relation on a cycle: the client does not know which relation was set last. It decides by the server's
// present relations, not by the world's. So two entities may change places in one run.
type relationTargets struct {
	apply   *Apply
	tracker *tracker

	rows     snapshot.Mask // schema rows of relations with a target
	list     []uint32      // indexes of entities whose target may have changed
	inCycles []cycleEntity // entities on cycles, grouped by cycle
	cycles   []cycle       // ranges of inCycles
	before   []cycleEntity // inCycles of the last run
	places   []int32       // by index: 1 + index in before, 0: not in it
	marks    []uint64      // by index: number of the last walk that reached it
	walk     uint64

	late    snapshot.Mask // rows of relations that are shown at moment at
	at      tick.Time
	waiting []lateTarget
	waits   []int32 // by index: 1 + place in waiting, 0: not in it
}

// lateTarget is an entity whose relation has a newer target than the one shown.
type lateTarget struct {
	index uint32
	shown wire.NetworkID
}

// queueLate queues the entities whose shown target changes at the presented moment.
func (s *relationTargets) queueLate() {
	kept := s.waiting[:0]
	for _, w := range s.waiting {
		row, ok := s.relation(s.apply.replica.Entity(w.index).Mask)
		s.waits[w.index] = 0
		switch {
		case !ok:
		case s.goal(w.index, row) != w.shown:
			s.apply.again = append(s.apply.again, w.index)
		default:
			kept = append(kept, w)
			s.waits[w.index] = int32(len(kept))
		}
	}
	s.waiting = kept
}

// noteLate notes a target that is shown although a newer one is known.
func (s *relationTargets) noteLate(index uint32, row int, shown wire.NetworkID) {
	s.waits = grown(s.waits, int(index))
	if n := s.waits[index]; n > 0 {
		last := s.waiting[len(s.waiting)-1]
		s.waiting[n-1], s.waits[last.index] = last, n
		s.waiting, s.waits[index] = s.waiting[:len(s.waiting)-1], 0
	}
	if s.newestGoal(index, row) != shown {
		s.waiting = append(s.waiting, lateTarget{index, shown})
		s.waits[index] = int32(len(s.waiting))
	}
}

// forgetTargets drops all state. The memory stays.
func (s *relationTargets) forgetTargets() {
	s.list, s.inCycles, s.cycles, s.waiting = s.list[:0], s.inCycles[:0], s.cycles[:0], s.waiting[:0]
	clear(s.marks)
	clear(s.waits)
}

// setTargets sets the targets of the listed entities, and of the entities that joined or left a cycle.
func (s *relationTargets) setTargets() {
	s.inCycles, s.before, s.cycles = s.before[:0], s.inCycles, s.cycles[:0]
	for n, r := range s.before { // any of these cycles may have ended
		s.places = grown(s.places, int(r.index))
		s.places[r.index] = 1 + int32(n)
		s.apply.entities[r.index].circle = false
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

// enlist lists an entity for writing whose rows did not change in this run.
func (s *relationTargets) enlist(index uint32) {
	if at := s.tracker.entry(s.apply.replica.Entity(index).ID); at != nil && !s.apply.entities[index].left {
		s.apply.writer.list(index, at, &s.apply.entities[index])
	}
}

// findCycle follows relations from an entity. It ends at an entity that a walk with number start or above has reached,
// so each entity is visited once. If the walk meets itself, findCycle adds the cycle.
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

// parent returns the index of the target of an entity's relation at the server. It returns false if the target is nil
// or not here.
func (s *relationTargets) parent(index uint32) (uint32, bool) {
	row, ok := s.relation(s.apply.replica.Entity(index).Mask)
	if !ok {
		return 0, false
	}
	id := s.goal(index, row)
	if id.Generation == 0 || id.Index >= snapshot.MaxEntities {
		return 0, false
	}
	up := s.apply.replica.Entity(id.Index)
	return id.Index, up.Alive && up.ID == id && uint(id.Index) < uint(len(s.apply.entities))
}

// goal returns the received target of a relation: the newest one, or the one of the presented moment.
func (s *relationTargets) goal(index uint32, row int) wire.NetworkID {
	if s.late.Has(row) {
		if sample, ok := s.apply.replica.Around(s.apply.replica.Entity(index).ID, s.at); ok {
			if lanes := sample.From.Row(row); lanes != nil {
				return s.goalIn(row, lanes)
			}
		}
	}
	return s.newestGoal(index, row)
}

// newestGoal returns the newest target of a relation.
func (s *relationTargets) newestGoal(index uint32, row int) wire.NetworkID {
	return s.goalIn(row, s.apply.replica.Row(index, row))
}

// goalIn returns the target in the lanes of a relation.
func (s *relationTargets) goalIn(row int, lanes []uint32) wire.NetworkID {
	lane, _ := s.tracker.schema.Plan(row).Target()
	return wire.NetworkID{Index: lanes[lane], Generation: lanes[lane+1]}
}

// relation returns the row of an entity's relation. There is at most one.
func (s *relationTargets) relation(mask snapshot.Mask) (row int, ok bool) {
	mask = mask.Intersect(s.rows)
	if mask.IsZero() {
		return 0, false
	}
	return mask.Lowest(), true
}

// setTarget sets the target of one entity. It compares with the target in the shadow to see whether the target changed,
// since game code may have set another one meanwhile.
func (s *relationTargets) setTarget(index uint32) {
	now := s.apply.replica.Entity(index)
	at, state := s.tracker.entry(now.ID), &s.apply.entities[index]
	row, ok := s.relation(now.Mask.Minus(state.gone))
	if !ok || at == nil || state.left || !s.apply.alive(at.entity) || !world.Has(s.tracker.world, at.entity, s.tracker.ids[row]) {
		return
	}
	lane, _ := s.tracker.schema.Plan(row).Target()
	id := s.goal(index, row)
	s.apply.refs.refer(index, row, lane, id)
	target := s.apply.refs.local(id)
	if s.late.Has(row) {
		if s.noteLate(index, row, id); target.IsZero() {
			target = s.apply.delayed.find(id)
		}
	}
	if state.circle {
		target = Entity{}
	}
	state.told = state.told && state.circle
	present := world.Target(s.tracker.world, at.entity, s.tracker.ids[row])
	kept, known := s.tracker.keptTarget(at, row)
	if !known { // the entity is new or returned: all its rows count as changed
		kept = present
	}
	if kept != target {
		state.changed = state.changed.With(row)
	}
	if present != target {
		s.apply.slotsStale = true
		world.SetTarget(s.tracker.world, at.entity, s.tracker.ids[row], target)
	}
}

// cycleEntity is an entity on a cycle of relations.
type cycleEntity struct {
	index uint32
	up    wire.NetworkID // the target of its relation
	since tick.Tick      // newest received tick when it got this target
}

// cycle is one cycle: a range of inCycles. since is the newest since of its entities.
type cycle struct {
	from, to int
	since    tick.Tick
	told     bool
}

// addCycle stores the cycle through n and marks its entities.
func (s *relationTargets) addCycle(n uint32) {
	c := cycle{from: len(s.inCycles)}
	for x := n; ; {
		row, _ := s.relation(s.apply.replica.Entity(x).Mask)
		r := cycleEntity{index: x, up: s.goal(x, row), since: s.apply.replica.NewestKnown()}
		if int(x) < len(s.places) && s.places[x] > 0 {
			if old := s.before[s.places[x]-1]; old.up == r.up {
				r.since = old.since
			}
		}
		s.inCycles, c.since = append(s.inCycles, r), max(c.since, r.since)
		s.apply.entities[x].circle = true
		if x, _ = s.parent(x); x == n {
			break
		}
	}
	c.to = len(s.inCycles)
	s.cycles = append(s.cycles, c)
}

// reportCycles reports the cycles that exist at the server, once for each entity. The client may have two entities as
// of different ticks. A parent and a child that change places then look like a cycle until the second record arrives. A
// cycle is real if all its entities are as of one tick, or if it has not changed for longer than the history window.
func (s *relationTargets) reportCycles() {
	for n := range s.cycles {
		c := &s.cycles[n]
		if c.told || !s.atOnce(s.inCycles[c.from:c.to]) && s.apply.replica.NewestKnown()-c.since <= s.apply.replica.Window() {
			continue
		}
		c.told = true
		for _, r := range s.inCycles[c.from:c.to] {
			now := s.apply.replica.Entity(r.index)
			at, state := s.tracker.entry(now.ID), &s.apply.entities[r.index]
			row, ok := s.relation(now.Mask.Minus(state.gone))
			if !ok || at == nil || state.told || state.left || !s.apply.alive(at.entity) {
				continue
			}
			state.told = true
			s.tracker.note(Problem{Kind: RelationCycle, Entity: now.ID, Local: at.entity, Component: s.tracker.schema.Plan(row).Name()})
		}
	}
}

// atOnce reports whether the client has all entities of a cycle as of the same tick.
func (s *relationTargets) atOnce(rings []cycleEntity) bool {
	first := s.apply.replica.Entity(rings[0].index).Tick
	for _, r := range rings[1:] {
		if s.apply.replica.Entity(r.index).Tick != first {
			return false
		}
	}
	return true
}
