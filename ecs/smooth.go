package netecs

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// SmoothStats counts what a [Smooth] did.
type SmoothStats struct {
	Appeared uint64 // entities that got their first twin
	Written  uint64 // twins written, with the value they had or another
	Rested   uint64 // entities passed over because nothing about them changes with time
}

// Smooth shows what an [Apply] received at the moment that is presented. Each interpolated component has a twin, a
// component of its own on the same entity, which comes when the entity appears at that moment, and which Smooth writes
// between the values that arrived. The component itself is Apply's: the newest that arrived, readable and restored as
// ever.
//
// Apply removes an entity that is gone only when the moment that is presented is past its end; until then it has no
// network id any more, its Replicated is Gone, and its twins go on to where it was last. Entities that game code took are left alone, and so are
// twins that it removed.
type Smooth struct {
	apply   *Apply
	rate    int
	rows    []smoothRow
	states  []smoothState // by network index
	replica *snapshot.Replica
	lives   uint32
	add     []ecs.ID
	rem     []ecs.ID
	ways    []quantize.Way // by row of rows
	has     uint64         // bit n: the entity has what rows[n] is the twin of, at the moment
	stats   SmoothStats
}

// smoothRow is one interpolated component.
type smoothRow struct {
	snapshot.Interpolation
	id    ecs.ID // of the twin
	blend *quantize.Blend
}

// smoothState is what was shown of the entity at a network index.
type smoothState struct {
	entity ecs.Entity
	born   tick.Tick // before it, the id was another entity's here
	newest tick.Tick // what the replica had when it was last looked at
	ended  tick.Tick
	twins  uint64 // bit n: it was given the twin of rows[n]
	still  bool   // nothing changes until something arrives
}

// NewSmooth prepares to show what an apply receives, at most 64 components of it, and makes the apply keep entities until their
// end is presented. It registers the twins with the world, which must not be locked. rate is the number of ticks a second.
func NewSmooth(a *Apply, list []snapshot.Interpolation, rate int) *Smooth {
	s := &Smooth{apply: a, rate: rate, ways: make([]quantize.Way, len(list))}
	for _, in := range list {
		s.rows = append(s.rows, smoothRow{in, ecs.TypeID(a.watch.world, in.Twin), in.Blend()})
	}
	s.add, s.rem = make([]ecs.ID, 0, len(list)), make([]ecs.ID, 0, len(list))
	a.late.on = true
	return s
}

// SetRate changes the number of ticks a second, as a new connection may.
func (s *Smooth) SetRate(rate int) { s.rate = rate }

// Stats is what Smooth has done so far.
func (s *Smooth) Stats() SmoothStats { return s.stats }

// Run shows the moment at. It does nothing while the world is locked, and makes up for it the next time.
func (s *Smooth) Run(at tick.Time) {
	a := s.apply
	if a.replica == nil || a.running || !a.watch.mark.goes(a.watch.world) || a.watch.world.IsLocked() {
		return
	}
	if s.replica != a.replica || s.lives != a.late.lives {
		s.replica, s.lives = a.replica, a.late.lives
		clear(s.states)
	}
	a.vanish(at)
	for i := range a.late.departing {
		if d := &a.late.departing[i]; a.alive(d.entity) {
			s.show(d.id, &d.state, at)
		}
	}
	s.states = extended(s.states, len(a.watch.byIndex))
	for index := range a.watch.byIndex {
		place := &a.watch.byIndex[index]
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
		if a.twins[index].left || !a.alive(place.entity) {
			continue
		}
		st.newest, st.ended = newest, ended
		s.show(id, st, at)
	}
}

// show brings the twins of an entity to a moment.
func (s *Smooth) show(id wire.NetworkID, st *smoothState, at tick.Time) {
	sample, there := s.apply.replica.Around(id, at)
	there = there && sample.From.Tick >= st.born
	s.has = 0
	for n := range s.rows {
		if there && s.rows[n].Way(&sample, at, s.rate, &s.ways[n]) {
			s.has |= 1 << n
		}
	}
	st.still = there && sample.Still && s.has == st.twins
	if s.has != st.twins {
		s.exchange(st)
	}
	for n := range s.rows {
		if s.has>>n&1 != 0 && s.write(n, st.entity) {
			s.stats.Written++
		}
	}
}

// exchange adds and removes twins.
func (s *Smooth) exchange(st *smoothState) {
	w := s.apply.watch.world
	s.add, s.rem = s.add[:0], s.rem[:0]
	for n := range s.rows {
		switch id, now, was := s.rows[n].id, s.has>>n&1 != 0, st.twins>>n&1 != 0; {
		case now && !was && !w.Has(st.entity, id):
			s.add = append(s.add, id)
		case was && !now && w.Has(st.entity, id):
			s.rem = append(s.rem, id)
		}
	}
	if st.twins == 0 {
		s.stats.Appeared++
	}
	st.twins = s.has
	if len(s.add)+len(s.rem) > 0 {
		w.Exchange(st.entity, s.add, s.rem)
	}
}
