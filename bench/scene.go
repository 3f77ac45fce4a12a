package main

import (
	"math"
	"math/rand/v2"

	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
)

// position, rotation and velocity are the rows of the floor and of the exact scene: 12 + 16 + 12 bytes.
type position struct{ X, Y, Z float32 }
type rotation struct{ Q [4]float32 }
type velocity struct{ X, Y, Z float32 }

// scene is a world whose moving bodies run on circles of their own, so that every step changes position, rotation and
// velocity of exactly the same bodies. Nothing in it grows with time, and nothing moves by a constant.
type scene struct {
	world     *ecs.World
	positions []position
	rotations []rotation
	velocity  []velocity
	dirty     []uint64
	moving    []int32
	orbits    []orbit
}

// orbit is the state of one moving body: a centre, a radius in metres, a phase and a turn per step in radians.
type orbit struct{ x, y, z, radius, phase, turn float64 }

// newScene makes entities bodies of which the given fraction moves; the choice is scattered and always the same.
func newScene(entities int, fraction float64) *scene {
	s := &scene{world: ecs.New(entities + 1), dirty: make([]uint64, (entities+63)/64)}
	builder := generic.NewMap3[position, rotation, velocity](s.world)
	for range entities {
		p, r, _ := builder.Get(builder.New())
		*p, *r = position{X: 1}, rotation{Q: [4]float32{0, 0, 0, 1}}
	}
	s.positions, s.rotations, s.velocity = columns(s.world, entities)
	random := rand.New(rand.NewPCG(7, 1))
	for _, i := range random.Perm(entities)[:movers(entities, fraction)] {
		s.moving = append(s.moving, int32(i))
		s.orbits = append(s.orbits, orbit{
			x: random.Float64()*400 - 200, y: random.Float64()*400 - 200, z: random.Float64() * 20,
			radius: 1 + random.Float64()*9, phase: random.Float64() * 2 * math.Pi, turn: 0.02 + random.Float64()*0.05,
		})
	}
	return s
}

// movers returns the number of moving entities.
func movers(entities int, fraction float64) int {
	return max(1, int(float64(entities)*fraction))
}

// step moves every mover once and marks it, as a game that marks its own writes would.
func (s *scene) step() {
	clear(s.dirty)
	for k, i := range s.moving {
		s.positions[i], s.rotations[i], s.velocity[i] = s.orbits[k].nextPose()
		s.dirty[i>>6] |= 1 << (i & 63)
	}
}

// nextPose turns the body on by one step of 1/60 s and returns its values.
func (o *orbit) nextPose() (position, rotation, velocity) {
	o.phase = math.Mod(o.phase+o.turn, 2*math.Pi)
	sin, cos := math.Sincos(o.phase)
	halfSin, halfCos := math.Sincos(o.phase / 2)
	speed := o.radius * o.turn * 60
	return position{float32(o.x + o.radius*cos), float32(o.y + o.radius*sin), float32(o.z)},
		rotation{Q: [4]float32{0, 0, float32(halfSin), float32(halfCos)}},
		velocity{float32(-speed * sin), float32(speed * cos), 0}
}
