package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
)

const (
	asteroidsHz     = 30
	asteroidsWarm   = 5 * asteroidsHz  // frames that are not measured
	asteroidsFrames = 40 * asteroidsHz // that are
	asteroidsCount  = 250
	asteroidsRadius = 31.5        // metres of the ball that they stay in
	asteroidsCentre = 4.0         // of the planetoid in its middle
	asteroidsHeader = 14 + 20 + 8 // Ethernet, IP, UDP
)

// asteroids is the scene of Kinematic Soup's bandwidth benchmarks (2025), as their page describes it: 250 asteroids in a ball around a
// planetoid, with speeds of 1 to 4 m/s and spins of up to 45 degrees a second, which they strive for again after each hit. Hits have
// friction. They are spheres here, and meshes there.
type asteroids struct {
	r      *rand.Rand
	bodies [asteroidsCount]asteroid
	out    []body
	frames int
	hits   int
}

type asteroid struct {
	p, v, w [3]float64 // position, velocity, spin in radians a second
	q       [4]float64
	radius  float64
	speed   float64 // that it strives for
}

func newAsteroids() *asteroids {
	a := &asteroids{r: rand.New(rand.NewPCG(2025, 250)), out: make([]body, asteroidsCount)}
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
	if a.frames >= asteroidsWarm+asteroidsFrames {
		return nil, false, nil
	}
	a.frames++
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

// asteroidDress is position and rotation in both worlds.
type asteroidDress[P, Q any] struct {
	server, client generic.Map3[components.Replicated, P, Q]
	put            func(b *body, p *P, q *Q)
	get            func(p *P, q *Q) ([3]float32, [4]float32)
	off            float64 // the tolerance of a position
}

func (d *asteroidDress[P, Q]) replicate(p *netcode.Protocol) {
	netcode.Replicate[P](p)
	netcode.Replicate[Q](p)
}

func (d *asteroidDress[P, Q]) worlds(server, client *ecs.World) {
	d.server = generic.NewMap3[components.Replicated, P, Q](server)
	d.client = generic.NewMap3[components.Replicated, P, Q](client)
}

func (d *asteroidDress[P, Q]) spawn(n int) (list []ecs.Entity) {
	query := d.server.NewBatchQ(n)
	for query.Next() {
		list = append(list, query.Entity())
	}
	return list
}

func (d *asteroidDress[P, Q]) write(e ecs.Entity, b *body) {
	_, p, q := d.server.Get(e)
	d.put(b, p, q)
}

func (d *asteroidDress[P, Q]) compareBody(e ecs.Entity, was *body) error {
	_, p, q := d.client.Get(e)
	at, turned := d.get(p, q)
	dot := 0.
	for i := range turned {
		dot += float64(turned[i]) * float64(was.orientation[i])
	}
	for i := range at {
		if math.Abs(float64(at[i]-was.position[i])) > d.off {
			return fmt.Errorf("position %v is %v", was.position, at)
		}
	}
	if math.Abs(dot) < 1-1e-6 {
		return fmt.Errorf("orientation %v is %v", was.orientation, turned)
	}
	return nil
}

func newAsteroidDress(exact bool) dress {
	if exact {
		return &asteroidDress[exactPosition, exactOrientation]{
			put: func(b *body, p *exactPosition, q *exactOrientation) {
				*p, *q = exactPosition{b.position[0], b.position[1], b.position[2]}, exactOrientation{b.orientation}
			},
			get: func(p *exactPosition, q *exactOrientation) ([3]float32, [4]float32) {
				return [3]float32{p.X, p.Y, p.Z}, q.Q
			},
		}
	}
	return &asteroidDress[asteroidPosition, asteroidRotation]{
		put: func(b *body, p *asteroidPosition, q *asteroidRotation) {
			*p, *q = asteroidPosition{b.position[0], b.position[1], b.position[2]}, asteroidRotation{b.orientation}
		},
		get: func(p *asteroidPosition, q *asteroidRotation) ([3]float32, [4]float32) {
			return [3]float32{p.X, p.Y, p.Z}, q.Q
		},
		off: 0.0051,
	}
}

// runAsteroids measures the bytes of that scene to one client: kB/s with Ethernet, IP and UDP headers, against the payload that bit-packing of
// the same precision would take.
func runAsteroids(o options) error {
	for _, exact := range []bool{false, true} {
		for _, n := range []lossPoint{{}, {roundTrip: 100 * time.Millisecond}, {roundTrip: 100 * time.Millisecond, loss: .05}} {
			source := newAsteroids()
			b, err := newDressedRun(source, n.link(), nil, newAsteroidDress(exact))
			if err != nil {
				return err
			}
			got, packets, err := b.measureAsteroids(n.loss > 0)
			if err != nil {
				return fmt.Errorf("%s: %w", n.label(), err)
			}
			packed := float64(asteroidsCount*(3*13+2+3*11)) / 8 * asteroidsHz / 1000 // 13 bits are 6400 steps
			if exact {
				packed = asteroidsCount * 28 * asteroidsHz / 1000.
			}
			o.report(result{
				Scenario: "asteroids", Value: got, Unit: "kB/s", Main: !exact && n.roundTrip > 0 && n.loss == 0,
				Params: map[string]any{"rtt_ms": int(n.roundTrip / time.Millisecond), "loss": n.loss, "exact": exact, "packets_a_tick": math.Round(packets*100) / 100, "hits_a_second": source.hits * asteroidsHz / source.frames},
			}.against(packed))
		}
	}
	return nil
}

// measureAsteroids plays the scene. With losses a client is behind now and then, and it is compared as of its tick.
func (b *byteRun) measureAsteroids(lossy bool) (kilobytes, packets float64, err error) {
	if err := b.join(); err != nil {
		return 0, 0, err
	}
	var bytes, sent int64
	for frame := 1; ; frame++ {
		err := b.move()
		if errors.Is(err, errEnded) {
			break
		}
		if err != nil {
			return 0, 0, err
		}
		if lossy {
			b.advance()
		} else if err := b.compareFrame(); err != nil {
			return 0, 0, err
		}
		if frame == asteroidsWarm {
			bytes, sent = b.serverSocket.sentBytes, b.serverSocket.sent
		}
	}
	if len(b.faults) > 0 {
		return 0, 0, fmt.Errorf("%d faults, the first: %w", len(b.faults), b.faults[0])
	}
	bytes, sent = b.serverSocket.sentBytes-bytes, b.serverSocket.sent-sent
	seconds := float64(b.frames-1-asteroidsWarm) / asteroidsHz
	if lossy { // at rest it must be the server's world
		for range 2 * asteroidsHz {
			b.advance()
		}
		if err := b.compareWorlds(b.client.Replica().Tick()); err != nil {
			return 0, 0, err
		}
	}
	return float64(bytes+sent*asteroidsHeader) / 1000 / seconds, float64(sent) / seconds / asteroidsHz, nil
}
