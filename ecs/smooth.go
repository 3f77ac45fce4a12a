package netecs

import (
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// SmoothStats counts the work of a [Smooth].
type SmoothStats struct {
	Appeared uint64 // entities that got their first twin
	Written  uint64 // twins written, changed or not
	Rested   uint64 // entities skipped because their values do not change with time
}

// Smooth shows what an [Apply] received, at the presented moment. Each interpolated component has a twin, which is
// another component on the same entity. Smooth adds the twin when the entity exists at that moment, and writes
// interpolated values to it. Apply writes the component itself, with the newest value.
//
// Apply removes a despawned entity only when the presented moment has reached its end. Until then the entity has no
// network id, its Replicated has only the tag, and its twins move to the last values. Smooth leaves alone entities that
// game code removed or took over, and twins that game code removed.
type Smooth struct {
	apply       *Apply
	rate        int
	rows        []smoothRow
	states      []smoothState // by network index
	replica     *replica.Replica
	lives       uint32
	add         []world.ID
	rem         []world.ID
	blendInputs []quantize.BlendInput // scratch: input of the blend for each of rows
	has         uint64                // scratch: bit n: the entity has the component of rows[n] at the presented moment
	stats       SmoothStats

	// Presented is called by Run for each entity that is shown for the first time, with its twins. All entities are
	// written by then, and the world is unlocked.
	Presented func(Entity, wire.NetworkID)
	fresh     []wire.NetworkID // entities for which Presented is still to be called
}

// smoothRow is one interpolated component.
type smoothRow struct {
	replica.Interpolation
	id    world.ID // of the twin
	blend *quantize.Blend
}

// smoothState is the presented state of the entity at a network index.
type smoothState struct {
	entity Entity
	born   tick.Tick // before this tick the id belonged to another entity
	newest tick.Tick // the entity's newest tick at the last Run
	ended  tick.Tick
	twins  uint64 // bit n: Smooth added the twin of rows[n]
	still  bool   // the twins do not change until something arrives
	shown  bool   // the entity was shown
}

// NewSmooth prepares to show what an apply receives, for at most 64 components. The apply then delays despawns until
// they are presented, and shows relations of the list late: see Apply.Present. NewSmooth registers the twins with the world, which must not be locked. rate is in ticks per
// second.
func NewSmooth(a *Apply, list []replica.Interpolation, rate int) *Smooth {
	s := &Smooth{apply: a, rate: rate, blendInputs: make([]quantize.BlendInput, len(list))}
	for _, in := range list {
		if in.Relation {
			a.targets.late = a.targets.late.With(in.Row)
			continue
		}
		s.rows = append(s.rows, smoothRow{in, world.TypeID(a.tracker.world, in.Twin), in.Blend()})
	}
	s.add, s.rem = make([]world.ID, 0, len(list)), make([]world.ID, 0, len(list))
	a.delayed.on = true
	return s
}

// SetRate changes the number of ticks per second, as for a new connection.
func (s *Smooth) SetRate(rate int) { s.rate = rate }

// Stats returns the counters.
func (s *Smooth) Stats() SmoothStats { return s.stats }

// Run shows the moment at. While the world is locked Run does nothing.
func (s *Smooth) Run(at tick.Time) {
	a := s.apply
	if a.replica == nil || a.running || !a.tracker.life.isCurrent(a.tracker.world) || a.tracker.world.IsLocked() {
		return
	}
	if s.replica != a.replica || s.lives != a.delayed.lives {
		s.replica, s.lives = a.replica, a.delayed.lives
		clear(s.states)
	}
	a.delayed.removePresented(at)
	for i := range a.delayed.list {
		if d := &a.delayed.list[i]; !d.retained && a.alive(d.entity) {
			s.show(d.id, &d.state, at)
		}
	}
	s.states = grown(s.states, len(a.tracker.byIndex))
	for index := range a.tracker.byIndex {
		place := &a.tracker.byIndex[index]
		if place.generation == 0 {
			continue
		}
		st := &s.states[index]
		id := wire.NetworkID{Index: uint32(index), Generation: place.generation}
		newest, ended := a.replica.Latest(id)
		if st.entity != place.entity {
			*st = smoothState{entity: place.entity, born: ended}
		} else if st.still && st.newest == newest && st.ended == ended {
			s.stats.Rested++
			continue
		}
		if a.entities[index].left || !a.alive(place.entity) {
			continue
		}
		st.newest, st.ended = newest, ended
		s.show(id, st, at)
	}
	s.tellPresented()
}

// tellPresented calls Presented for the entities in fresh.
func (s *Smooth) tellPresented() {
	for i := 0; i < len(s.fresh) && s.Presented != nil; i++ {
		if e, ok := s.apply.Entity(s.fresh[i]); ok {
			s.Presented(e, s.fresh[i])
		}
	}
	s.fresh = s.fresh[:0]
}

// show writes the twins of an entity for a moment, except twins of rows that are set aside.
func (s *Smooth) show(id wire.NetworkID, st *smoothState, at tick.Time) {
	sample, there := s.apply.replica.Around(id, at)
	there = there && sample.From.Tick >= st.born
	s.has = 0
	aside := s.apply.setAside(id, st.entity)
	for n := range s.rows {
		if aside.Has(s.rows[n].Row) {
			s.has |= st.twins & (1 << n)
		} else if there && s.rows[n].Way(&sample, at, s.rate, &s.blendInputs[n]) {
			s.has |= 1 << n
		}
	}
	st.still = there && sample.Still && s.has == st.twins && aside.IsZero()
	if s.has != st.twins {
		s.exchange(st)
	}
	if there && !st.shown && s.Presented != nil {
		st.shown = true
		s.fresh = append(s.fresh, id)
	}
	for n := range s.rows {
		if s.has>>n&1 != 0 && !aside.Has(s.rows[n].Row) && s.write(n, st.entity) {
			s.stats.Written++
		}
	}
}

// exchange adds and removes twins.
func (s *Smooth) exchange(st *smoothState) {
	w := s.apply.tracker.world
	s.add, s.rem = s.add[:0], s.rem[:0]
	for n := range s.rows {
		switch id, now, was := s.rows[n].id, s.has>>n&1 != 0, st.twins>>n&1 != 0; {
		case now && !was && !world.Has(w, st.entity, id):
			s.add = append(s.add, id)
		case was && !now && world.Has(w, st.entity, id):
			s.rem = append(s.rem, id)
		}
	}
	if st.twins == 0 {
		s.stats.Appeared++
	}
	st.twins = s.has
	if len(s.add)+len(s.rem) > 0 {
		world.Exchange(w, st.entity, s.add, s.rem, nil)
	}
}

// delayedDespawns contains entities that are despawned and still shown, since the presented moment is before their end, or
// that Retain keeps.
// Their Replicated has the tag and no id, so that no capture or apply takes them for new entities.
type delayedDespawns struct {
	apply   *Apply
	tracker *tracker

	on          bool
	retains     func(wire.NetworkID) bool // see Apply.Retain
	shown       tick.Time
	lives       uint32 // counts resets of the world, since handles may repeat after a reset
	list        []delayedDespawn
	byID        map[wire.NetworkID]Entity // the entities of list
	stays       []uint32                  // by entity number: 1 + generation of the last delayed entity
	delayedRefs []delayedRef
}

// delayedRef is an entity field or a target of a delayed entity. It is cleared when the entity that it refers to is
// removed, as the backRefs of other entities are.
type delayedRef struct {
	holder, target Entity
	id             wire.NetworkID // of target
	row, lane      int
}

// delayedDespawn is an entity without a network id. It is removed when its end is presented, a retained one by
// RemoveRetained.
type delayedDespawn struct {
	id       wire.NetworkID
	entity   Entity
	ends     tick.Tick
	retained bool
	state    smoothState
}

// delay keeps a despawned entity until its end is presented. It returns false if the end is already presented, if
// nothing is presented, or if rows of the entity are set aside and Retain does not keep it.
func (l *delayedDespawns) delay(id wire.NetworkID, e Entity) bool {
	if l.apply.replica == nil || !l.apply.alive(e) {
		return false
	}
	_, ends := l.apply.replica.Latest(id)
	retained := false
	if aside := l.apply.entities[id.Index].setAside; !aside.IsZero() {
		if retained = l.retains != nil && l.retains(id); !retained {
			return false
		}
	} else if !l.on || ends <= l.shown.Tick {
		return false
	}
	if r := replicatedOf(l.tracker.world, e, l.tracker.replicated); r != nil {
		*r = l.gone() // the id may soon belong to another entity
	}
	l.stays = grown(l.stays, int(e.ID()))
	l.stays[e.ID()] = world.Generation(e) + 1
	l.trackRefs(id.Index, e)
	if l.byID == nil {
		l.byID = map[wire.NetworkID]Entity{}
	}
	l.byID[id] = e
	l.list = append(l.list, delayedDespawn{id: id, entity: e, ends: ends, retained: retained, state: smoothState{entity: e}})
	l.apply.slotsStale = true
	return true
}

// find returns the delayed entity that had a network id.
func (l *delayedDespawns) find(id wire.NetworkID) (e Entity) {
	if e = l.byID[id]; !l.apply.alive(e) {
		return Entity{}
	}
	return e
}

// gone returns the Replicated of delayed entities.
func (l *delayedDespawns) gone() components.Replicated {
	return components.Replicated{World: l.tracker.tag}
}

// has reports whether an entity is delayed, or was. No other entity gets its handle in this life of the world.
func (l *delayedDespawns) has(e Entity) bool {
	return int(e.ID()) < len(l.stays) && l.stays[e.ID()] == world.Generation(e)+1
}

// forgetDelayed drops all delayed entities from the lists.
func (l *delayedDespawns) forgetDelayed() {
	l.list, l.delayedRefs = l.list[:0], l.delayedRefs[:0]
	clear(l.byID)
	clear(l.stays)
}

// restoreReplicated restores the Replicated of a delayed entity if game code wrote it.
func (l *delayedDespawns) restoreReplicated(r *components.Replicated, e Entity) {
	if *r != l.gone() {
		l.tracker.note(Problem{Kind: OverwrittenReplicated, Local: e})
		*r, l.apply.slotsStale = l.gone(), true
	}
}

// trackRefs stores the references in the rows of an entity, before the entity loses its id.
func (l *delayedDespawns) trackRefs(index uint32, e Entity) {
	if int(index) >= len(l.apply.refs.from) {
		return
	}
	for n := l.apply.refs.from[index]; n != 0; n = l.apply.refs.links[n-1].sibling {
		if k := &l.apply.refs.links[n-1]; !k.target.IsZero() {
			l.delayedRefs = append(l.delayedRefs, delayedRef{
				holder: e, target: l.apply.refs.local(k.target), id: k.target, row: int(k.row), lane: int(k.lane),
			})
		}
	}
}

// clearRefs clears the fields of delayed entities that refer to entities which no longer exist.
func (l *delayedDespawns) clearRefs() {
	kept := l.delayedRefs[:0]
	for _, n := range l.delayedRefs {
		switch {
		case !l.apply.alive(n.holder):
		case n.target.IsZero() || l.apply.refs.local(n.id) != n.target:
			l.clearRef(n)
		default:
			kept = append(kept, n)
		}
	}
	l.delayedRefs = kept
}

// clearRef clears one field.
func (l *delayedDespawns) clearRef(n delayedRef) {
	w, plan := l.tracker.world, l.tracker.schema.Plan(n.row)
	c := column{id: l.tracker.ids[n.row], plan: plan, size: int(plan.Size())}
	if !world.Has(w, n.holder, c.id) {
		return // game code has removed it
	}
	if lane, aimed := plan.Target(); aimed && lane == n.lane {
		if !world.Target(w, n.holder, c.id).IsZero() {
			l.apply.slotsStale = true
			world.SetTarget(w, n.holder, c.id, Entity{})
		}
		return
	}
	if c.bindTo(w, n.holder) {
		c.clearHandle(n.lane, l.apply.refs.lanes)
		c.unbind()
	}
}

// removePresented removes the entities whose end is presented.
func (l *delayedDespawns) removePresented(at tick.Time) {
	l.shown = at
	kept := l.list[:0]
	for _, d := range l.list {
		if d.retained || d.ends > at.Tick {
			kept = append(kept, d)
			continue
		}
		l.queue(&d)
	}
	l.list = kept
	l.removeNow()
}

// queue queues a delayed entity for removal.
func (l *delayedDespawns) queue(d *delayedDespawn) {
	if l.byID[d.id] == d.entity {
		delete(l.byID, d.id)
	}
	l.apply.toRemove = append(l.apply.toRemove, removal{id: d.id, entity: d.entity})
}

// removeNow removes the queued entities, unless a Run is going on, which does.
func (l *delayedDespawns) removeNow() {
	if len(l.apply.toRemove) > 0 && !l.apply.running {
		l.apply.running = true
		l.apply.removeQueued()
		l.apply.running = false
	}
}

// removeAll queues all delayed entities for removal.
func (l *delayedDespawns) removeAll() {
	for _, d := range l.list {
		l.apply.toRemove = append(l.apply.toRemove, removal{id: d.id, entity: d.entity})
	}
	l.list = l.list[:0]
	clear(l.byID)
}
