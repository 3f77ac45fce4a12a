package main

import (
	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/interpolate"
	"github.com/arche-netcode/netcode/predict"
)

const (
	speed     = 6.  // m/s
	jumpSpeed = 7.  // m/s
	gravity   = 20. // m/s²
	halfWidth = 30. // of the field, in metres
	reload    = 8   // ticks between two shots
)

// The effects of the game.
const (
	muzzleFlash = iota + 1
	jumpSound
)

// Position is the place of a body, in metres. Z is its height.
type Position struct {
	X, Y, Z float32 `net:"min=-40,max=40,step=0.01"`
}

// Rise is the vertical speed of a body, in m/s.
type Rise struct {
	Speed float32 `net:"min=-40,max=40,step=0.01"`
}

// Cooldown is the ticks until a body can shoot again. It is local: each side has its own, and it never travels.
type Cooldown struct{ Ticks int32 }

// Tally counts the hits that a body made and took.
type Tally struct{ Hits, Taken uint16 }

// Control is a player's action in one tick: its direction and its aim, which are state, and the jump and the shot, which are
// events: a press of one frame is in the input of exactly one tick.
type Control struct {
	MoveX, MoveY float32 `net:"axis"`
	Aim          float32 `net:"angle,bits=16"`
	Pitch        float32 `net:"min=-1.6,max=1.6,step=0.0001"`
	Jump         bool    `net:"event"`
	Fire         bool    `net:"event"`
}

func protocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[Position](p)
	netcode.Replicate[Rise](p)
	netcode.Replicate[Tally](p)
	netcode.Replicate[components.Owner](p)
	interpolate.Register[Position](p)
	input.Register[Control](p)
	predict.Register[Position](p)
	predict.Register[Rise](p)
	predict.Local[Cooldown](p)
	return p
}

// rules returns the systems of the game: the same ones on the server, the host and the clients. note, before each step, and judge
// are called on the server alone. gusts, if it is not nil, adds a system that breaks the rules while it
// is true.
func rules(note predict.Func, judge func(s *predict.Step, shooter netcode.ClientID, muzzle Position, c Control), gusts func() bool) []predict.System {
	list := []predict.System{
		predict.Func(func(s *predict.Step) {
			if s.OnServer() {
				note(s)
			}
		}),
		&move{generic.NewFilter4[components.Simulate, components.Owner, Position, Rise]()},
		&fire{
			unarmed: generic.NewFilter2[components.Simulate, Rise]().Without(generic.T[Cooldown]()),
			armed:   generic.NewFilter4[components.Simulate, components.Owner, Position, Cooldown](),
			judge:   judge,
		},
	}
	if gusts != nil {
		list = append(list, &gust{generic.NewFilter2[components.Simulate, Position](), gusts})
	}
	return list
}

// gust blows every two seconds, on the server alone. That is an error in a simulation: clients cannot predict it.
type gust struct {
	bodies *generic.Filter2[components.Simulate, Position]
	blows  func() bool
}

const gustEvery = 2 * frameRate // Ticks.

// Step implements predict.System.
func (g *gust) Step(s *predict.Step) {
	if !s.OnServer() || s.Tick%gustEvery != 0 || !g.blows() {
		return
	}
	for query := g.bodies.Query(s.World); query.Next(); {
		_, at := query.Get()
		at.X = clamp(at.X + .5)
	}
}

// move lets everybody walk and jump.
type move struct {
	bodies *generic.Filter4[components.Simulate, components.Owner, Position, Rise]
}

// Step implements predict.System. The conversions keep a compiler from fusing a product and a sum, which rounds differently on
// some processors.
func (m *move) Step(s *predict.Step) {
	seconds := float32(s.Seconds())
	query := m.bodies.Query(s.World)
	for query.Next() {
		_, owner, at, rise := query.Get()
		c, _ := predict.Input[Control](s, owner.Client)
		at.X = clamp(at.X + float32(c.MoveX*speed*seconds))
		at.Y = clamp(at.Y + float32(c.MoveY*speed*seconds))
		if c.Jump && at.Z <= 0 {
			rise.Speed = jumpSpeed
			s.Effect(jumpSound, query.Entity(), 0)
		}
		if at.Z += float32(rise.Speed * seconds); at.Z <= 0 {
			at.Z, rise.Speed = 0, 0
			continue
		}
		rise.Speed -= float32(gravity * seconds)
	}
}

func clamp(v float32) float32 { return min(max(v, -halfWidth), halfWidth) }

// fire lets everybody shoot.
type fire struct {
	unarmed *generic.Filter2[components.Simulate, Rise]
	armed   *generic.Filter4[components.Simulate, components.Owner, Position, Cooldown]
	judge   func(s *predict.Step, shooter netcode.ClientID, muzzle Position, c Control)
}

// Step implements predict.System. The flash is seen in the tick of the press; the hit is the server's to decide.
func (f *fire) Step(s *predict.Step) {
	s.World.Batch().Add(f.unarmed.Filter(s.World), ecs.ComponentID[Cooldown](s.World))
	query := f.armed.Query(s.World)
	for query.Next() {
		_, owner, at, cooldown := query.Get()
		cooldown.Ticks = max(cooldown.Ticks-1, 0)
		c, _ := predict.Input[Control](s, owner.Client)
		if !c.Fire || cooldown.Ticks > 0 {
			continue
		}
		cooldown.Ticks = reload
		s.Effect(muzzleFlash, query.Entity(), 0)
		if s.OnServer() {
			f.judge(s, owner.Client, *at, c)
		}
	}
}
