package main

import (
	"math"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode/systems"
)

// The bodies are in a box of 2 x halfWidth metres each way and ceiling metres high, all inside the range of Position.
const (
	halfWidth = 24
	ceiling   = 24
	radius    = 0.5
	gravity   = 9.81
	wind      = 6  // m/s2 along the swirl
	topSpeed  = 30 // per axis, so that Velocity never leaves its range
)

// System is the shape of an arche-model system, which those of netcode have too.
type System = systems.System

// Motion runs the systems that move the bodies, once a network tick until it is stopped.
type Motion struct {
	Due     func() bool // whether this frame is one of a network tick
	Systems []System
	stopped bool
}

// Stop freezes every body where it is.
func (m *Motion) Stop() { m.stopped = true }

// Initialize implements System.
func (m *Motion) Initialize(w *ecs.World) {
	for _, s := range m.Systems {
		s.Initialize(w)
	}
}

// Update implements System.
func (m *Motion) Update(w *ecs.World) {
	if m.stopped || !m.Due() {
		return
	}
	for _, s := range m.Systems {
		s.Update(w)
	}
}

// Finalize implements System.
func (m *Motion) Finalize(w *ecs.World) {
	for _, s := range m.Systems {
		s.Finalize(w)
	}
}

// newSimulation is the own motion: the same hz, entities, churn and seed move the same way every time.
func newSimulation(hz, entities, churn int, seed uint64) []System {
	step := float32(1) / float32(hz)
	return []System{
		&Population{Entities: entities, Churn: churn, Hz: hz, Seed: seed},
		&Forces{Step: step},
		&Move{Step: step},
		&Walls{},
		&Rest{Hz: hz, Seed: seed + 1},
	}
}

type movers = generic.Filter4[Position, Rotation, Velocity, Spin]

// newMovers selects the bodies that are not at rest.
func newMovers() *movers {
	return generic.NewFilter4[Position, Rotation, Velocity, Spin]().Without(generic.T[Resting]())
}

// Forces are gravity and, above the ground, a wind that swirls about the middle of the box.
type Forces struct {
	Step   float32 // seconds
	filter *movers
}

// Initialize implements System.
func (s *Forces) Initialize(*ecs.World) { s.filter = newMovers() }

// Update implements System.
func (s *Forces) Update(w *ecs.World) {
	query := s.filter.Query(w)
	for query.Next() {
		pos, _, vel, _ := query.Get()
		vel.Z -= gravity * s.Step
		if pos.Z > 2 {
			reach := max(1, length(pos.X, pos.Y, 0))
			vel.X -= pos.Y / reach * wind * s.Step
			vel.Y += pos.X / reach * wind * s.Step
		}
		vel.X, vel.Y, vel.Z = limit(vel.X), limit(vel.Y), limit(vel.Z)
	}
}

// Finalize implements System.
func (s *Forces) Finalize(*ecs.World) {}

// Move carries the bodies along their velocity and turns them by their spin.
type Move struct {
	Step   float32 // seconds
	filter *movers
}

// Initialize implements System.
func (s *Move) Initialize(*ecs.World) { s.filter = newMovers() }

// Update implements System.
func (s *Move) Update(w *ecs.World) {
	query := s.filter.Query(w)
	for query.Next() {
		pos, rot, vel, spin := query.Get()
		pos.X += vel.X * s.Step
		pos.Y += vel.Y * s.Step
		pos.Z += vel.Z * s.Step
		rot.Q = rot.Q.turned(spin, s.Step)
	}
}

// Finalize implements System.
func (s *Move) Finalize(*ecs.World) {}

// Walls bounce the bodies off the box. The ground also brakes them and their spin.
type Walls struct {
	filter *movers
}

// Initialize implements System.
func (s *Walls) Initialize(*ecs.World) { s.filter = newMovers() }

// Update implements System.
func (s *Walls) Update(w *ecs.World) {
	query := s.filter.Query(w)
	for query.Next() {
		pos, _, vel, spin := query.Get()
		bounce(&pos.X, &vel.X, -halfWidth+radius, halfWidth-radius)
		bounce(&pos.Y, &vel.Y, -halfWidth+radius, halfWidth-radius)
		if bounce(&pos.Z, &vel.Z, radius, ceiling-radius) && vel.Z >= 0 {
			vel.X, vel.Y = vel.X*0.8, vel.Y*0.8
			spin.X, spin.Y, spin.Z = spin.X*0.9, spin.Y*0.9, spin.Z*0.9
		}
	}
}

// Finalize implements System.
func (s *Walls) Finalize(*ecs.World) {}

// bounce keeps p in [low, high] and turns v back from the side that was hit, with a loss. It reports a hit.
func bounce(p, v *float32, low, high float32) bool {
	const restitution = 0.65
	switch {
	case *p < low:
		*p, *v = low, max(*v, -*v)*restitution
	case *p > high:
		*p, *v = high, min(*v, -*v)*restitution
	default:
		return false
	}
	return true
}

// turned is q after spinning for step seconds: first-order integration, then back to unit length.
func (q Quaternion) turned(spin *Spin, step float32) Quaternion {
	h := step / 2
	r := Quaternion{
		X: q.X + h*(spin.X*q.W+spin.Y*q.Z-spin.Z*q.Y),
		Y: q.Y + h*(spin.Y*q.W+spin.Z*q.X-spin.X*q.Z),
		Z: q.Z + h*(spin.Z*q.W+spin.X*q.Y-spin.Y*q.X),
		W: q.W - h*(spin.X*q.X+spin.Y*q.Y+spin.Z*q.Z),
	}
	n := float32(math.Sqrt(float64(r.X)*float64(r.X) + float64(r.Y)*float64(r.Y) +
		float64(r.Z)*float64(r.Z) + float64(r.W)*float64(r.W)))
	return Quaternion{X: r.X / n, Y: r.Y / n, Z: r.Z / n, W: r.W / n}
}

func length(x, y, z float32) float32 {
	return float32(math.Sqrt(float64(x)*float64(x) + float64(y)*float64(y) + float64(z)*float64(z)))
}

func limit(v float32) float32 { return min(max(v, -topSpeed), topSpeed) }
