package main

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
)

// The components of both worlds: 40 bytes.
type (
	Position struct{ X, Y, Z float32 }
	Rotation struct{ X, Y, Z, W float32 }
	Velocity struct{ X, Y, Z float32 }
)

// Their twins with fields quantised as a game would have them, which necs has nothing like.
type (
	quantPosition struct {
		X, Y, Z float32 `net:"min=-512,max=512,step=0.002"`
	}
	quantRotation struct {
		Q [4]float32 `net:"quat,bits=9"`
	}
	quantVelocity struct {
		X, Y, Z float32 `net:"min=-64,max=64,step=0.01"`
	}
)

// body is one entity's components, in neither's types.
type body struct {
	p Position
	r Rotation
	v Velocity
}

// scene is bodies of which some run on circles, the same on every run.
type scene struct {
	bodies []body
	movers []int
	orbits []orbit
}

// orbit is a centre, a radius in metres, a phase, and a turn per step of 1/60 s in radians.
type orbit struct{ x, y, z, radius, phase, turn float64 }

func newScene(c combination) *scene {
	s := &scene{bodies: make([]body, c.entities)}
	for i := range s.bodies {
		s.bodies[i] = body{p: Position{X: 1}, r: Rotation{W: 1}}
	}
	random := rand.New(rand.NewPCG(7, 1))
	s.movers = random.Perm(c.entities)[:max(1, int(float64(c.entities)*c.moving))]
	for range s.movers {
		s.orbits = append(s.orbits, orbit{
			x: random.Float64()*400 - 200, y: random.Float64()*400 - 200, z: random.Float64() * 20,
			radius: 1 + random.Float64()*9, phase: random.Float64() * 2 * math.Pi, turn: 0.02 + random.Float64()*0.05,
		})
	}
	return s
}

// step moves every mover once.
func (s *scene) step() {
	for k, i := range s.movers {
		o := &s.orbits[k]
		o.phase = math.Mod(o.phase+o.turn, 2*math.Pi)
		sin, cos := math.Sincos(o.phase)
		halfSin, halfCos := math.Sincos(o.phase / 2)
		speed := o.radius * o.turn * 60
		s.bodies[i] = body{
			p: Position{float32(o.x + o.radius*cos), float32(o.y + o.radius*sin), float32(o.z)},
			r: Rotation{Z: float32(halfSin), W: float32(halfCos)},
			v: Velocity{float32(-speed * sin), float32(speed * cos), 0},
		}
	}
}

// sum is a number for the bodies with theirs, whatever order they come in.
func (b *body) sum(number int) uint64 {
	h := fnv.New64a()
	var raw [48]byte
	binary.LittleEndian.PutUint64(raw[:], uint64(number))
	for i, f := range []float32{b.p.X, b.p.Y, b.p.Z, b.r.X, b.r.Y, b.r.Z, b.r.W, b.v.X, b.v.Y, b.v.Z} {
		binary.LittleEndian.PutUint32(raw[8+4*i:], math.Float32bits(f))
	}
	h.Write(raw[:])
	return h.Sum64()
}

func (s *scene) digest() (sum uint64) {
	for i := range s.bodies {
		sum += s.bodies[i].sum(i)
	}
	return sum
}
