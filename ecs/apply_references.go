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
type relationTargets struct {
	apply   *Apply
	tracker *tracker
	rows    snapshot.Mask // schema rows of relations with a target
	late    snapshot.Mask // rows of relations that are shown at moment at
	at      tick.Time
	graphs  []relationGraph // one for each of rows
}

// relationGraph contains the targets of one relation component.
//
// It clears every relation on a cycle: the client does not know which relation was set last. It decides by the server's
// present relations, not by the world's. So two entities may change places in one run. Relations of different components
// form no cycle: a seat may name its driver, who hangs on the seat.
type relationGraph struct {
	*relationTargets
	row, lane int

	list     []uint32      // indexes of entities whose target may have changed
	inCycles []cycleEntity // entities on cycles, grouped by cycle
	cycles   []cycle       // ranges of inCycles
	before   []cycleEntity // inCycles of the last run
	places   []int32       // by index: 1 + index in before, 0: not in it
	circle   []bool        // by index: the relation is part of a cycle
	told     []bool        // by index: RelationCycle was reported
	marks    []uint64      // by index: number of the last walk that reached it
	walk     uint64
	waiting  []lateTarget
	waits    []int32 // by index: 1 + place in waiting, 0: not in it
}

// lateTarget is an entity whose relation has a newer target than the one shown.
type lateTarget struct {
	index uint32
	shown wire.NetworkID
}

// addGraph adds the relation of a row.
func (s *relationTargets) addGraph(row, lane int) {
	s.rows = s.rows.With(row)
	s.graphs = append(s.graphs, relationGraph{relationTargets: s, row: row, lane: lane})
}

// noteTargets lists an entity with some rows: the targets of its relations may have changed.
func (s *relationTargets) noteTargets(index uint32, rows snapshot.Mask) {
	if !rows.Overlaps(s.rows) {
		return
	}
	for i := range s.graphs {
		if g := &s.graphs[i]; rows.Has(g.row) {
			g.list = append(g.list, index)
		}
	}
}

// noteBorn lists a new entity.
func (s *relationTargets) noteBorn(index uint32, rows snapshot.Mask) {
	s.noteTargets(index, rows)
	for i := range s.graphs {
		if g := &s.graphs[i]; int(index) < len(g.told) {
			g.circle[index], g.told[index] = false, false
		}
	}
}

// queueLate queues the entities whose shown target changes at the presented moment.
func (s *relationTargets) queueLate() {
	for i := range s.graphs {
		g := &s.graphs[i]
		kept := g.waiting[:0]
		for _, w := range g.waiting {
			g.waits[w.index] = 0
			switch {
			case !s.apply.replica.Entity(w.index).Mask.Has(g.row):
			case g.goal(w.index) != w.shown:
				s.apply.again = append(s.apply.again, w.index)
			default:
				kept = append(kept, w)
				g.waits[w.index] = int32(len(kept))
			}
		}
		g.waiting = kept
	}
}

// forgetTargets drops all state. The memory stays.
func (s *relationTargets) forgetTargets() {
	for i := range s.graphs {
		g := &s.graphs[i]
		g.list, g.inCycles, g.cycles, g.waiting = g.list[:0], g.inCycles[:0], g.cycles[:0], g.waiting[:0]
		clear(g.marks)
		clear(g.waits)
		clear(g.circle)
		clear(g.told)
	}
}

// setTargets sets the targets of the listed entities, and of the entities that joined or left a cycle.
func (s *relationTargets) setTargets() {
	for i := range s.graphs {
		s.graphs[i].openCycles()
	}
	for i := range s.graphs { // listed by now, for every graph: any entity of a cycle
		s.graphs[i].findCycles()
	}
	for i := range s.graphs {
		for _, r := range s.graphs[i].inCycles {
			s.enlist(r.index)
		}
	}
	for i := range s.graphs {
		g := &s.graphs[i]
		for _, index := range g.list {
			g.setTarget(index)
		}
		g.list = g.list[:0]
	}
}

// enlist lists an entity for writing whose rows did not change in this run.
func (s *relationTargets) enlist(index uint32) {
	if at := s.tracker.entry(s.apply.replica.Entity(index).ID); at != nil && !s.apply.entities[index].left {
		s.apply.writer.list(index, at, &s.apply.entities[index])
	}
}

// openCycles lists the entities of all cycles: any of these may have ended.
func (g *relationGraph) openCycles() {
	g.inCycles, g.before, g.cycles = g.before[:0], g.inCycles, g.cycles[:0]
	for n, r := range g.before {
		g.places = grown(g.places, int(r.index))
		g.places[r.index] = 1 + int32(n)
		g.circle[r.index] = false
		g.enlist(r.index)
	}
}

// findCycles finds the cycles that the listed entities lead to.
func (g *relationGraph) findCycles() {
	start := g.walk + 1
	for _, index := range g.list {
		g.findCycle(index, start)
	}
	for _, r := range g.before {
		g.places[r.index] = 0
	}
}

// findCycle follows relations from an entity. It ends at an entity that a walk with number start or above has reached,
// so each entity is visited once. If the walk meets itself, findCycle adds the cycle.
func (g *relationGraph) findCycle(index uint32, start uint64) {
	g.walk++
	for n, on := index, true; on; n, on = g.parent(n) {
		g.marks = grown(g.marks, int(n))
		switch mark := g.marks[n]; {
		case mark == g.walk:
			g.addCycle(n)
			return
		case mark >= start:
			return
		}
		g.marks[n] = g.walk
	}
}

// parent returns the index of the target of an entity's relation at the server. It returns false if the target is nil
// or not here.
func (g *relationGraph) parent(index uint32) (uint32, bool) {
	if !g.apply.replica.Entity(index).Mask.Has(g.row) {
		return 0, false
	}
	id := g.goal(index)
	if id.Generation == 0 || id.Index >= snapshot.MaxEntities {
		return 0, false
	}
	up := g.apply.replica.Entity(id.Index)
	return id.Index, up.Alive && up.ID == id && uint(id.Index) < uint(len(g.apply.entities))
}

// goal returns the received target of a relation: the newest one, or the one of the presented moment.
func (g *relationGraph) goal(index uint32) wire.NetworkID {
	if g.late.Has(g.row) {
		if sample, ok := g.apply.replica.Around(g.apply.replica.Entity(index).ID, g.at); ok {
			if lanes := sample.From.Row(g.row); lanes != nil {
				return g.goalIn(lanes)
			}
		}
	}
	return g.goalIn(g.apply.replica.Row(index, g.row))
}

// goalIn returns the target in the lanes of the relation.
func (g *relationGraph) goalIn(lanes []uint32) wire.NetworkID {
	return wire.NetworkID{Index: lanes[g.lane], Generation: lanes[g.lane+1]}
}

// setTarget sets the target of one entity. It compares with the target in the shadow to see whether the target changed,
// since game code may have set another one meanwhile.
func (g *relationGraph) setTarget(index uint32) {
	now, component := g.apply.replica.Entity(index), g.tracker.ids[g.row]
	at, state := g.tracker.entry(now.ID), &g.apply.entities[index]
	if !now.Mask.Minus(state.gone).Has(g.row) || at == nil || state.left || !g.apply.alive(at.entity) || !world.Has(g.tracker.world, at.entity, component) {
		return
	}
	id := g.goal(index)
	g.apply.refs.refer(index, g.row, g.lane, id)
	target := g.apply.refs.local(id)
	if g.late.Has(g.row) {
		if g.noteLate(index, id); target.IsZero() {
			target = g.apply.delayed.find(id)
		}
	}
	if int(index) < len(g.circle) {
		if g.circle[index] {
			target = Entity{}
		}
		g.told[index] = g.told[index] && g.circle[index]
	}
	present := world.Target(g.tracker.world, at.entity, component)
	kept, known := g.tracker.keptTarget(at, g.row)
	if !known { // the entity is new or returned: all its rows count as changed
		kept = present
	}
	if kept != target {
		state.changed = state.changed.With(g.row)
	}
	if present != target {
		g.apply.slotsStale = true
		world.SetTarget(g.tracker.world, at.entity, component, target)
	}
}

// noteLate notes a target that is shown although a newer one is known.
func (g *relationGraph) noteLate(index uint32, shown wire.NetworkID) {
	g.waits = grown(g.waits, int(index))
	if n := g.waits[index]; n > 0 {
		last := g.waiting[len(g.waiting)-1]
		g.waiting[n-1], g.waits[last.index] = last, n
		g.waiting, g.waits[index] = g.waiting[:len(g.waiting)-1], 0
	}
	if g.goalIn(g.apply.replica.Row(index, g.row)) != shown {
		g.waiting = append(g.waiting, lateTarget{index, shown})
		g.waits[index] = int32(len(g.waiting))
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
func (g *relationGraph) addCycle(n uint32) {
	c := cycle{from: len(g.inCycles)}
	for x := n; ; {
		r := cycleEntity{index: x, up: g.goal(x), since: g.apply.replica.NewestKnown()}
		if int(x) < len(g.places) && g.places[x] > 0 {
			if old := g.before[g.places[x]-1]; old.up == r.up {
				r.since = old.since
			}
		}
		g.inCycles, c.since = append(g.inCycles, r), max(c.since, r.since)
		g.circle, g.told = grown(g.circle, int(x)), grown(g.told, int(x))
		g.circle[x] = true
		if x, _ = g.parent(x); x == n {
			break
		}
	}
	c.to = len(g.inCycles)
	g.cycles = append(g.cycles, c)
}

// reportCycles reports the cycles that exist at the server, once for each entity. The client may have two entities as
// of different ticks. A parent and a child that change places then look like a cycle until the second record arrives. A
// cycle is real if all its entities are as of one tick, or if it has not changed for longer than the history window.
func (g *relationGraph) reportCycles() {
	for n := range g.cycles {
		c := &g.cycles[n]
		if c.told || !g.atOnce(g.inCycles[c.from:c.to]) && g.apply.replica.NewestKnown()-c.since <= g.apply.replica.Window() {
			continue
		}
		c.told = true
		for _, r := range g.inCycles[c.from:c.to] {
			now := g.apply.replica.Entity(r.index)
			at, state := g.tracker.entry(now.ID), &g.apply.entities[r.index]
			if !now.Mask.Minus(state.gone).Has(g.row) || at == nil || g.told[r.index] || state.left || !g.apply.alive(at.entity) {
				continue
			}
			g.told[r.index] = true
			g.tracker.note(Problem{Kind: RelationCycle, Entity: now.ID, Local: at.entity, Component: g.tracker.schema.Plan(g.row).Name()})
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
