package main

import (
	"math"
	"math/rand/v2"
)

// Scenes of the unity-netcode-benchmark (2023), as its settings describe them: 500 objects at 20 Hz, which move along one axis, along a
// line through the origin, or wander. And 100 transforms at 20 Hz, as Purr Net measures them: its page says that all of them move, turn and
// change their size all the time, and not how.

const (
	wanderHz     = 20
	wanderCount  = 500
	wanderTime   = 30 // seconds that are measured
	wanderSpawn  = 100
	wanderMass   = 15
	wanderSpeed  = 3 // m/s
	wanderForce  = 15
	wanderChance = 0.05 // of a new direction, in each tick
	wanderCircle = 35   // metres: the radius of the circle that it is chosen on
	sineReach    = 50   // metres
)

// paths is bodies that each have a place as a function of time, or of their own state.
type paths struct {
	label string
	out   []body
	move  func(i int, seconds float64, b *body)
	frame int
	left  int
}

func newPaths(label string, n int, move func(i int, seconds float64, b *body)) *paths {
	p := &paths{label: label, out: make([]body, n), move: move, left: sceneFrames(wanderHz, wanderTime)}
	for i := range p.out {
		p.out[i].orientation = [4]float32{0, 0, 0, 1}
	}
	return p
}

func (p *paths) name() string { return p.label }
func (p *paths) hz() int      { return wanderHz }

func (p *paths) next() ([]body, bool, error) {
	if p.left == 0 {
		return nil, false, nil
	}
	p.left--
	for i := range p.out {
		p.move(i, float64(p.frame)/wanderHz, &p.out[i])
	}
	p.frame++
	return p.out, true, nil
}

// cube returns a place, each coordinate within the reach.
func cube(r *rand.Rand, reach float64) (at [3]float64) {
	for i := range at {
		at[i] = (2*r.Float64() - 1) * reach
	}
	return at
}

// newSine is bodies that rise and sink.
func newSine() motion {
	r := rand.New(rand.NewPCG(2023, 1))
	at, speed, reach := make([][3]float64, wanderCount), make([]float64, wanderCount), make([]float64, wanderCount)
	for i := range at {
		at[i], speed[i], reach[i] = cube(r, wanderSpawn), 0.5+r.Float64()/2, 0.5+r.Float64()/2
	}
	return newPaths("sine", wanderCount, func(i int, seconds float64, b *body) {
		b.position = single3(at[i])
		b.position[1] += float32(math.Sin(seconds*speed[i]) * reach[i])
	})
}

// newMove is bodies that swing through the origin.
func newMove() motion {
	r := rand.New(rand.NewPCG(2023, 2))
	along, speed := make([][3]float64, wanderCount), make([]float64, wanderCount)
	for i := range along {
		along[i], speed[i] = cube(r, 1), 0.5+r.Float64()/2
	}
	return newPaths("move", wanderCount, func(i int, seconds float64, b *body) {
		b.position = single3(scale3(along[i], math.Sin(seconds*speed[i])*sineReach))
	})
}

// wanderer is a body that steers towards a direction of its own, and looks where it goes.
type wanderer struct{ at, speed, wish [3]float64 }

// newWander is bodies that wander. They never get as far as the border, 2000 metres from the origin.
func newWander() motion {
	r := rand.New(rand.NewPCG(2023, 3))
	all := make([]wanderer, wanderCount)
	for i := range all {
		w := &all[i]
		w.at, w.speed = cube(r, wanderSpawn), normal3([3]float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()})
		w.wish = w.choose(r)
	}
	return newPaths("wander", wanderCount, func(i int, _ float64, b *body) {
		w := &all[i]
		if r.Float64() < wanderChance {
			w.wish = w.choose(r)
		}
		force := short3(sub3(scale3(normal3(w.wish), wanderSpeed), w.speed), wanderForce)
		w.speed = short3(add3(w.speed, scale3(force, 1./wanderMass)), wanderSpeed)
		w.at = add3(w.at, scale3(w.speed, 1./wanderHz))
		b.position, b.velocity, b.orientation = single3(w.at), single3(w.speed), looking(w.speed)
	})
}

// choose returns a direction: a point of a circle around the tip of the present one.
func (w *wanderer) choose(r *rand.Rand) [3]float64 {
	ahead := normal3(w.speed)
	right := normal3(cross3([3]float64{0, 1, 0}, ahead))
	up := cross3(ahead, right)
	angle, far := r.Float64()*2*math.Pi, math.Sqrt(r.Float64())*wanderCircle
	return add3(ahead, add3(scale3(right, far*math.Cos(angle)), scale3(up, far*math.Sin(angle))))
}

func normal3(v [3]float64) [3]float64 {
	if n := length3(v); n > 0 {
		return scale3(v, 1/n)
	}
	return [3]float64{0, 0, 1}
}

// short3 is a vector of at most this length.
func short3(v [3]float64, most float64) [3]float64 {
	if n := length3(v); n > most {
		return scale3(v, most/n)
	}
	return v
}

// looking is the orientation of what looks along a direction, with its head up.
func looking(v [3]float64) [4]float32 {
	v = normal3(v)
	sy, cy := math.Sincos(math.Atan2(v[0], v[2]) / 2)
	sx, cx := math.Sincos(-math.Asin(math.Max(-1, math.Min(v[1], 1))) / 2)
	return [4]float32{float32(cy * sx), float32(sy * cx), float32(-sy * sx), float32(cy * cx)}
}

const transformCount = 100

// newTransforms is bodies that circle, turn about axes of their own, and grow and shrink.
func newTransforms() motion {
	r := rand.New(rand.NewPCG(2024, 1))
	type mover struct {
		at, axis              [3]float64
		radius, turns, spin   float64
		size, breath, grownAt float64
	}
	all := make([]mover, transformCount)
	for i := range all {
		all[i] = mover{
			at: cube(r, 20), axis: normal3([3]float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}),
			radius: 1 + 4*r.Float64(), turns: 0.1 + 0.4*r.Float64(), spin: (30 + 150*r.Float64()) * math.Pi / 180,
			size: 0.2 + 0.3*r.Float64(), breath: 0.2 + 0.5*r.Float64(), grownAt: r.Float64() * 2 * math.Pi,
		}
	}
	return newPaths("transforms", transformCount, func(i int, seconds float64, b *body) {
		m := &all[i]
		sin, cos := math.Sincos(2 * math.Pi * m.turns * seconds)
		b.position = single3(add3(m.at, [3]float64{m.radius * cos, 0, m.radius * sin}))
		b.orientation = turned(b.orientation, m.axis, m.spin/wanderHz)
		size := float32(1 + m.size*math.Sin(2*math.Pi*m.breath*seconds+m.grownAt))
		b.velocity = [3]float32{size, size, size} // the scale, for transformDress
	})
}

// The precision of Netick and Fusion in that benchmark, 0.001. 10 bits of rotation are steps of 0.0014.
type (
	wanderPosition struct {
		X, Y, Z float32 `net:"min=-512,max=512,step=0.001"`
	}
	wanderRotation struct {
		Q [4]float32 `net:"quat,bits=10"`
	}
	wanderScale struct {
		X, Y, Z float32 `net:"min=0,max=4,step=0.001"`
	}
	exactScale struct{ X, Y, Z float32 }
)

const (
	wanderBits = 3*20 + 2 + 3*10
	scaleBits  = 3 * 12
	wanderOff  = 0.00055
)

func wanderPut(p [3]float32, q [4]float32) (wanderPosition, wanderRotation) {
	return wanderPosition{p[0], p[1], p[2]}, wanderRotation{q}
}

func wanderGet(p *wanderPosition, q *wanderRotation) ([3]float32, [4]float32) {
	return [3]float32{p.X, p.Y, p.Z}, q.Q
}

func wanderDress(exact bool) dress { return newPose(exact, wanderOff, wanderPut, wanderGet) }

func sineScene() publishedScene {
	return publishedScene{name: "sine", motion: newSine, dress: wanderDress, packed: wanderBits, exact: 28}
}

func moveScene() publishedScene {
	return publishedScene{name: "move", motion: newMove, dress: wanderDress, packed: wanderBits, exact: 28}
}

func wanderScene() publishedScene {
	return publishedScene{name: "wander", motion: newWander, dress: wanderDress, packed: wanderBits, exact: 28, must: 40}
}

func transformScene() publishedScene {
	return publishedScene{name: "transforms", motion: newTransforms, dress: newTransformDress, packed: wanderBits + scaleBits, exact: 40}
}

func newTransformDress(exact bool) dress {
	if exact {
		pose := newPose[exactPosition, exactOrientation](true, 0, nil, nil).(*poseDress[exactPosition, exactOrientation])
		return &transformDress[exactPosition, exactOrientation, exactScale]{
			pose:     *pose,
			putScale: func(s [3]float32) exactScale { return exactScale{s[0], s[1], s[2]} },
			getScale: func(s *exactScale) [3]float32 { return [3]float32{s.X, s.Y, s.Z} },
		}
	}
	return &transformDress[wanderPosition, wanderRotation, wanderScale]{
		pose:      poseDress[wanderPosition, wanderRotation]{put: wanderPut, get: wanderGet, off: wanderOff},
		putScale:  func(s [3]float32) wanderScale { return wanderScale{s[0], s[1], s[2]} },
		getScale:  func(s *wanderScale) [3]float32 { return [3]float32{s.X, s.Y, s.Z} },
		scaledOff: wanderOff,
	}
}
