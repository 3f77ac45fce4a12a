package main

import (
	"math"
	"math/rand/v2"
)

const (
	asteroidsHz     = 30
	asteroidsCount  = 250
	asteroidsRadius = 31.5 // metres of the ball that they stay in
	asteroidsCentre = 4.0  // of the planetoid in its middle
)

// asteroids is the scene of Kinematic Soup's bandwidth benchmarks (2025), as their page describes it: 250 asteroids in a ball around a
// planetoid, with speeds of 1 to 4 m/s and spins of up to 45 degrees a second, which they strive for again after each hit. Hits have
// friction. They are spheres here, and meshes there.
type asteroids struct {
	r      *rand.Rand
	bodies [asteroidsCount]asteroid
	out    []body
	left   int // frames
	hits   int
}

type asteroid struct {
	p, v, w [3]float64 // position, velocity, spin in radians a second
	q       [4]float64
	radius  float64
	speed   float64 // that it strives for
}

func newAsteroids() *asteroids {
	a := &asteroids{r: rand.New(rand.NewPCG(2025, 250)), out: make([]body, asteroidsCount), left: sceneFrames(asteroidsHz, 40)}
	for i := range a.bodies {
		b := &a.bodies[i]
		b.radius, b.speed, b.q = 1.3+1.7*a.r.Float64(), 1+3*a.r.Float64(), [4]float64{0, 0, 0, 1}
		for {
			b.p = scale3(a.unit(), asteroidsRadius*math.Cbrt(a.r.Float64())*.95)
			if !a.touches(i) {
				break
			}
		}
		b.v, b.w = scale3(a.unit(), b.speed), scale3(a.unit(), a.r.Float64()*math.Pi/4)
	}
	return a
}

func (a *asteroids) touches(i int) bool {
	b := &a.bodies[i]
	for j := range i {
		if length3(sub3(b.p, a.bodies[j].p)) < b.radius+a.bodies[j].radius {
			return true
		}
	}
	return length3(b.p) < b.radius+asteroidsCentre
}

// unit returns a direction, all equally likely.
func (a *asteroids) unit() [3]float64 {
	v := [3]float64{a.r.NormFloat64(), a.r.NormFloat64(), a.r.NormFloat64()}
	return scale3(v, 1/length3(v))
}

func (a *asteroids) name() string { return "asteroids" }
func (a *asteroids) hz() int      { return asteroidsHz }

// next plays two steps of 60 Hz.
func (a *asteroids) next() ([]body, bool, error) {
	if a.left == 0 {
		return nil, false, nil
	}
	a.left--
	for range 2 {
		a.simulate(1. / 60)
	}
	for i := range a.bodies {
		b := &a.bodies[i]
		a.out[i] = body{position: single3(b.p), velocity: single3(b.v), orientation: [4]float32{float32(b.q[0]), float32(b.q[1]), float32(b.q[2]), float32(b.q[3])}}
	}
	return a.out, true, nil
}

func (a *asteroids) simulate(dt float64) {
	for i := range a.bodies {
		b := &a.bodies[i]
		b.p = add3(b.p, scale3(b.v, dt))
		b.turn(dt)
		if v := length3(b.v); v > 0 { // towards its own speed, within a second or so
			b.v = scale3(b.v, 1+(b.speed-v)/v*dt)
		}
		if d := length3(b.p); d > asteroidsRadius-b.radius {
			a.bounce(b, nil, scale3(b.p, -1/d), d-asteroidsRadius+b.radius)
		} else if d < asteroidsCentre+b.radius {
			a.bounce(b, nil, scale3(b.p, 1/d), asteroidsCentre+b.radius-d)
		}
	}
	for i := range a.bodies {
		for j := range i {
			b, c := &a.bodies[i], &a.bodies[j]
			between := sub3(b.p, c.p)
			if d := length3(between); d < b.radius+c.radius && d > 0 {
				a.bounce(b, c, scale3(between, 1/d), b.radius+c.radius-d)
			}
		}
	}
}

// bounce is a hit of b and of c, or of what does not move, along the direction from c to b. Friction takes a third of the sliding.
func (a *asteroids) bounce(b, c *asteroid, along [3]float64, deep float64) {
	still := asteroid{radius: 1}
	other, share := c, 0.5
	if c == nil {
		other, share = &still, 1
	}
	b.p = add3(b.p, scale3(along, deep*share))
	other.p = add3(other.p, scale3(along, -deep*share))
	contact := sub3(sub3(b.v, cross3(scale3(along, b.radius), b.w)), add3(other.v, cross3(scale3(along, other.radius), other.w)))
	into := dot3(contact, along)
	if into >= 0 {
		return
	}
	a.hits++
	slide := sub3(contact, scale3(along, into))
	push := add3(scale3(along, -2*into*share), scale3(slide, -share/3))
	twist := cross3(along, scale3(slide, -share/3))
	b.v, b.w = add3(b.v, push), add3(b.w, scale3(twist, -1/b.radius))
	other.v, other.w = sub3(other.v, push), add3(other.w, scale3(twist, -1/other.radius))
	for _, one := range []*asteroid{b, other} {
		if w := length3(one.w); w > math.Pi/4 {
			one.w = scale3(one.w, math.Pi/4/w)
		}
	}
}

// turn turns a body by its spin.
func (b *asteroid) turn(dt float64) {
	x, y, z, w := b.w[0]*dt/2, b.w[1]*dt/2, b.w[2]*dt/2, 1.
	q := b.q
	b.q = [4]float64{
		q[0]*w + x*q[3] + y*q[2] - z*q[1], q[1]*w - x*q[2] + y*q[3] + z*q[0],
		q[2]*w + x*q[1] - y*q[0] + z*q[3], q[3]*w - x*q[0] - y*q[1] - z*q[2],
	}
	n := 1 / math.Sqrt(b.q[0]*b.q[0]+b.q[1]*b.q[1]+b.q[2]*b.q[2]+b.q[3]*b.q[3])
	for i := range b.q {
		b.q[i] *= n
	}
}

func add3(a, b [3]float64) [3]float64 { return [3]float64{a[0] + b[0], a[1] + b[1], a[2] + b[2]} }
func sub3(a, b [3]float64) [3]float64 { return [3]float64{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }
func scale3(a [3]float64, by float64) [3]float64 {
	return [3]float64{a[0] * by, a[1] * by, a[2] * by}
}
func dot3(a, b [3]float64) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }
func length3(a [3]float64) float64 { return math.Sqrt(dot3(a, a)) }
func single3(a [3]float64) [3]float32 {
	return [3]float32{float32(a[0]), float32(a[1]), float32(a[2])}
}
func cross3(a, b [3]float64) [3]float64 {
	return [3]float64{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}

// The contest's precision: 0.01 of position, 0.001 of rotation; 11 bits are steps of 0.0007.
type (
	asteroidPosition struct {
		X, Y, Z float32 `net:"min=-32,max=32,step=0.01"`
	}
	asteroidRotation struct {
		Q [4]float32 `net:"quat,bits=11"`
	}
)

// asteroidScene is the scene with its network figures.
func asteroidScene() publishedScene {
	return publishedScene{
		name: "asteroids", motion: func() motion { return newAsteroids() }, main: true,
		dress: func(exact bool) dress {
			return newPose(exact, 0.0051, func(p [3]float32, q [4]float32) (asteroidPosition, asteroidRotation) {
				return asteroidPosition{p[0], p[1], p[2]}, asteroidRotation{q}
			}, func(p *asteroidPosition, q *asteroidRotation) ([3]float32, [4]float32) {
				return [3]float32{p.X, p.Y, p.Z}, q.Q
			})
		},
		packed: 3*13 + 2 + 3*11, // 13 bits are 6400 steps
		exact:  28,
	}
}
