package main

import (
	"math/rand/v2"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode/components"
)

// Population fills the box, a quarter of the bodies at rest, and keeps it changing: in turns a body leaves and a
// new one comes.
type Population struct {
	Entities int    // bodies in the box, or one less
	Churn    int    // changes per second
	Hz       int    // updates per second
	Seed     uint64 // of the places and speeds

	random *rand.Rand
	bodies []ecs.Entity
	spawn  generic.Map5[components.Replicated, Position, Rotation, Velocity, Spin]
	rest   generic.Map1[Resting]
	update int
	count  uint64 // of changes so far
}

// Initialize implements System.
func (s *Population) Initialize(w *ecs.World) {
	s.random = rand.New(rand.NewPCG(s.Seed, 0))
	s.bodies = make([]ecs.Entity, 0, s.Entities)
	s.spawn = generic.NewMap5[components.Replicated, Position, Rotation, Velocity, Spin](w)
	s.rest = generic.NewMap1[Resting](w)
	for i := range s.Entities {
		e := s.add()
		if i%4 == 0 {
			_, pos, _, vel, spin := s.spawn.Get(e)
			pos.Z, *vel, *spin = radius, Velocity{}, Spin{}
			s.rest.Add(e)
		}
	}
}

// Update implements System.
func (s *Population) Update(w *ecs.World) {
	before := s.update * s.Churn / s.Hz
	s.update++
	for range s.update*s.Churn/s.Hz - before {
		s.change(w)
	}
}

// Finalize implements System.
func (s *Population) Finalize(*ecs.World) {}

func (s *Population) change(w *ecs.World) {
	s.count++
	if len(s.bodies) < s.Entities {
		s.add()
		return
	}
	last := len(s.bodies) - 1
	i := s.random.IntN(last + 1)
	w.RemoveEntity(s.bodies[i])
	s.bodies[i] = s.bodies[last]
	s.bodies = s.bodies[:last]
}

func (s *Population) add() ecs.Entity {
	e := s.spawn.New()
	_, pos, rot, vel, spin := s.spawn.Get(e)
	pos.X = between(s.random, -halfWidth+radius, halfWidth-radius)
	pos.Y = between(s.random, -halfWidth+radius, halfWidth-radius)
	pos.Z = between(s.random, radius, ceiling-radius)
	rot.Q = Quaternion{W: 1}
	toss(s.random, vel, spin)
	s.bodies = append(s.bodies, e)
	return e
}

// Rest lays bodies that have come to lie on the ground to rest and, now and then, kicks one up again.
type Rest struct {
	Hz   int    // updates per second
	Seed uint64 // of the kicks

	random   *rand.Rand
	moving   *movers
	resting  *generic.Filter1[Resting]
	mark     generic.Map1[Resting]
	speed    generic.Map2[Velocity, Spin]
	stop, up []ecs.Entity // collected in the query, changed after it: the world is locked meanwhile
}

// Initialize implements System.
func (s *Rest) Initialize(w *ecs.World) {
	s.random = rand.New(rand.NewPCG(s.Seed, 0))
	s.moving = newMovers()
	s.resting = generic.NewFilter1[Resting]()
	s.mark = generic.NewMap1[Resting](w)
	s.speed = generic.NewMap2[Velocity, Spin](w)
	const most = 1024 // a guess at one update's changes; append grows it where that is short
	s.stop, s.up = make([]ecs.Entity, 0, most), make([]ecs.Entity, 0, most)
}

// Update implements System.
func (s *Rest) Update(w *ecs.World) {
	s.stop, s.up = s.stop[:0], s.up[:0]
	moving := s.moving.Query(w)
	for moving.Next() {
		pos, _, vel, _ := moving.Get()
		if pos.Z <= radius && length(vel.X, vel.Y, vel.Z) < 0.8 {
			s.stop = append(s.stop, moving.Entity())
		}
	}
	resting := s.resting.Query(w)
	for resting.Next() {
		if s.random.IntN(2*s.Hz) == 0 { // two seconds of rest on average
			s.up = append(s.up, resting.Entity())
		}
	}
	for _, e := range s.stop {
		vel, spin := s.speed.Get(e)
		*vel, *spin = Velocity{}, Spin{}
		s.mark.Add(e)
	}
	for _, e := range s.up {
		vel, spin := s.speed.Get(e)
		toss(s.random, vel, spin)
		s.mark.Remove(e)
	}
}

// Finalize implements System.
func (s *Rest) Finalize(*ecs.World) {}

func toss(r *rand.Rand, vel *Velocity, spin *Spin) {
	*vel = Velocity{X: between(r, -6, 6), Y: between(r, -6, 6), Z: between(r, 6, 14)}
	*spin = Spin{X: between(r, -4, 4), Y: between(r, -4, 4), Z: between(r, -4, 4)}
}

func between(r *rand.Rand, low, high float32) float32 { return low + (high-low)*r.Float32() }
