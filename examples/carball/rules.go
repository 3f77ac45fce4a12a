package main

import (
	"cmp"
	"math"
	"slices"

	"github.com/jakecoffman/cp/v2"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/interpolate"
	"github.com/arche-netcode/netcode/predict"
)

const (
	halfLength, halfWidth = 30., 20. // of the field, in metres
	carLength, carWidth   = 3., 1.6
	carMass, ballMass     = 10., 2.
	ballRadius            = 1.2
	thrust                = 25. // m/s²
	grip                  = .8  // Share of its sideways speed that a car loses in a tick.
	turning               = 3.  // rad/s at full lock
	boostSpeed            = 6.  // m/s, at once
	rolling               = .95 // Share of the speed that is left after a tick.
	rest                  = .06 // m/s and rad/s: what is slower stands still.
)

// boostSound is the effect of a boost.
const boostSound = 1

// Place is the position of a body in metres, and its angle in radians.
type Place struct {
	X, Y  float32 `net:"min=-40,max=40,step=0.001"`
	Angle float32 `net:"angle,bits=16"`
}

// Motion is the speed of a body, in m/s and rad/s.
type Motion struct {
	X, Y float32 `net:"min=-60,max=60,step=0.002"`
	Spin float32 `net:"min=-40,max=40,step=0.002"`
}

// Drive is a player's action in one tick.
type Drive struct {
	Throttle float32 `net:"axis"`
	Steer    float32 `net:"axis"`
	Boost    bool    `net:"event"`
}

// protocol is that of a game in which clients have the inputs of others, or have not.
func protocol(relayed bool) *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[Place](p)
	netcode.Replicate[Motion](p)
	netcode.Replicate[components.Owner](p)
	netcode.Replicate[components.Predicted](p)
	interpolate.Register[Place](p)
	input.Register[Drive](p)
	if relayed {
		input.Relay[Drive](p)
	}
	predict.Register[Place](p)
	predict.Register[Motion](p)
	return p
}

// physics simulates the cars and the ball: the same system on the server and the clients. The entities with an owner are cars, the one
// without is the ball. Each step puts bodies made of the components into a cp.Space, writes them back and takes them out. A space keeps
// contacts of its bodies from step to step; a client that goes back would have those of another past.
type physics struct {
	bodies *generic.Filter4[components.Simulate, components.Replicated, Place, Motion]
	list   []*body
	space  *cp.Space // Between two steps it has the walls alone. A new one takes longer than a step.
}

// body is an entity in the space of one step.
type body struct {
	id     netcode.NetworkID
	place  *Place
	motion *Motion
	cp     *cp.Body
	shape  *cp.Shape // Of it.
}

func newPhysics() *physics {
	return &physics{bodies: generic.NewFilter4[components.Simulate, components.Replicated, Place, Motion](), space: newField()}
}

// Step implements predict.System.
func (p *physics) Step(s *predict.Step) {
	p.list = p.list[:0]
	query := p.bodies.Query(s.World)
	for query.Next() {
		_, r, place, motion := query.Get()
		if r.ID.IsZero() {
			continue // The server captures it at the end of this tick.
		}
		b := &body{id: r.ID, place: place, motion: motion}
		owner := s.Owner(query.Entity())
		b.build(owner != 0)
		if owner != 0 {
			drive, _ := predict.Input[Drive](s, owner)
			b.drive(drive, s.Seconds())
			if drive.Boost {
				s.Effect(boostSound, query.Entity(), 0)
			}
		}
		p.list = append(p.list, b)
	}
	simulate(p.space, p.list, s.Seconds())
}

// simulate takes a step of bodies that were built, and writes the result into their components. The order of bodies counts in a space, and
// that of a client's world is another one than the server's: they are sorted.
func simulate(space *cp.Space, bodies []*body, seconds float64) {
	slices.SortFunc(bodies, func(a, b *body) int { return cmp.Compare(a.id.Index, b.id.Index) })
	for _, b := range bodies {
		space.AddBody(b.cp)
		space.AddShape(b.shape)
	}
	space.Step(seconds)
	for _, b := range bodies {
		b.writeBack()
		space.RemoveShape(b.shape)
		space.RemoveBody(b.cp)
	}
}

// newField returns a space with four walls.
func newField() *cp.Space {
	space := cp.NewSpace()
	corners := []cp.Vector{{X: -halfLength, Y: -halfWidth}, {X: halfLength, Y: -halfWidth}, {X: halfLength, Y: halfWidth}, {X: -halfLength, Y: halfWidth}}
	for i, from := range corners {
		wall := space.AddShape(cp.NewSegment(space.StaticBody, from, corners[(i+1)%len(corners)], 1))
		wall.SetElasticity(.7)
		wall.SetFriction(.3)
	}
	return space
}

// build makes the body of the space, with the values of the components.
func (b *body) build(car bool) {
	if car {
		b.cp = cp.NewBody(carMass, cp.MomentForBox(carMass, carLength, carWidth))
		b.shape = cp.NewBox(b.cp, carLength, carWidth, .1)
	} else {
		b.cp = cp.NewBody(ballMass, cp.MomentForCircle(ballMass, 0, ballRadius, cp.Vector{}))
		b.shape = cp.NewCircle(b.cp, ballRadius, cp.Vector{})
	}
	b.shape.SetElasticity(.7)
	b.shape.SetFriction(.3)
	b.cp.AddShape(b.shape)
	b.cp.SetPosition(cp.Vector{X: float64(b.place.X), Y: float64(b.place.Y)})
	b.cp.SetAngle(float64(b.place.Angle))
	b.cp.SetVelocity(float64(b.motion.X)*rolling, float64(b.motion.Y)*rolling)
	b.cp.SetAngularVelocity(float64(b.motion.Spin) * rolling)
}

// drive takes a player's action: thrust along the car, grip across it.
func (b *body) drive(d Drive, seconds float64) {
	ahead := cp.ForAngle(float64(b.place.Angle))
	v := b.cp.Velocity()
	along, across := v.Dot(ahead), v.Dot(ahead.Perp())
	along += float64(d.Throttle) * thrust * seconds
	if d.Boost {
		along += boostSpeed
	}
	v = ahead.Mult(along).Add(ahead.Perp().Mult(across * (1 - grip)))
	b.cp.SetVelocity(v.X, v.Y)
	lock := float64(d.Steer) * turning * math.Max(-1, math.Min(1, along/4))
	b.cp.SetAngularVelocity((b.cp.AngularVelocity() + lock) / 2)
}

// writeBack writes the result of a step into the components, within the bounds of their fields.
func (b *body) writeBack() {
	at, v := b.cp.Position(), b.cp.Velocity()
	b.place.X, b.place.Y = within(at.X, halfLength), within(at.Y, halfWidth)
	b.place.Angle = float32(math.Remainder(b.cp.Angle(), 2*math.Pi))
	b.motion.X, b.motion.Y, b.motion.Spin = within(v.X, 60), within(v.Y, 60), within(b.cp.AngularVelocity(), 40)
	if math.Hypot(v.X, v.Y) < rest && math.Abs(b.cp.AngularVelocity()) < rest {
		*b.motion = Motion{}
	}
}

// within limits a number. One that is no number, which no field takes, is 0.
func within(v, most float64) float32 {
	if math.IsNaN(v) {
		return 0
	}
	return float32(math.Max(-most, math.Min(most, v)))
}
