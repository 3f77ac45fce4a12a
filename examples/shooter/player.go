package main

import (
	"math"
	"math/rand/v2"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
)

// Position is the place of a body, in metres.
type Position struct {
	X, Y float32 `net:"min=-40,max=40,step=0.01"`
}

// Tally counts the hits that a body made and took.
type Tally struct{ Hits, Taken uint16 }

// Control is a player's action in one tick: its direction and its aim, which are state, and the shot, which is an
// event: a press of one frame is in the input of exactly one tick.
type Control struct {
	MoveX, MoveY float32 `net:"axis"`
	Aim          float32 `net:"angle,bits=16"`
	Fire         bool    `net:"event"`
}

// body is a player's body, where somebody sees it.
type body struct {
	id    netcode.NetworkID
	owner netcode.ClientID
	at    Position
}

// player is one bot. It plays by the same code whether it connects or is the host; only where it finds what it shows
// differs: the host in the server's world itself, the others in Smooth.
type player struct {
	client *netcode.Client
	random *rand.Rand
	look   func(see func(body))
	seen   []body // Bodies of this frame.

	heading float64
	aim     float32
	target  netcode.NetworkID
	pause   int // Frames until the next shot.
	still   bool
	shots   []netcode.NetworkID // Whom each shot met on the screen.
}

// Frames between two shots, and how long before a shot its target is chosen.
const (
	pauseLeast  = 20
	pauseSpread = 30
	aimTime     = 8
)

// Initialize implements systems.System.
func (p *player) Initialize(*ecs.World) {}

// Update implements systems.System: in each frame the player decides what to do, whether a tick begins in it or not.
func (p *player) Update(*ecs.World) {
	if p.client.State() == netcode.Connected {
		_ = input.Set(p.client, p.decide()) // An impossible action is left out.
	}
}

// Finalize implements systems.System.
func (p *player) Finalize(*ecs.World) {}

// decide walks on, turns a little, aims at a body, and shoots now and then.
func (p *player) decide() *Control {
	if p.still {
		return &Control{}
	}
	p.heading += (p.random.Float64() - .5) * .4
	c := &Control{MoveX: float32(math.Cos(p.heading)), MoveY: float32(math.Sin(p.heading))}
	p.seen = p.seen[:0]
	p.look(func(b body) { p.seen = append(p.seen, b) })
	if p.pause--; p.pause == aimTime && len(p.seen) > 0 {
		p.target = p.seen[p.random.IntN(len(p.seen))].id
	}
	me, found := p.find(func(b body) bool { return b.owner == p.client.ID() })
	other, there := p.find(func(b body) bool { return b.id == p.target && b.owner != p.client.ID() })
	if found && there {
		p.aim = direction(me.at, other.at)
	}
	c.Aim = p.aim
	if p.pause > 0 {
		return c
	}
	p.pause = pauseLeast + p.random.IntN(pauseSpread)
	if found && there {
		c.Fire = true
		p.shots = append(p.shots, shoot(me.at, p.aim, me.id, p.seen))
	}
	return c
}

// find returns the first body of those seen that is meant.
func (p *player) find(meant func(body) bool) (body, bool) {
	for _, b := range p.seen {
		if meant(b) {
			return b, true
		}
	}
	return body{}, false
}

// direction is that from one place to another, as an angle.
func direction(from, to Position) float32 {
	return float32(math.Atan2(float64(to.Y-from.Y), float64(to.X-from.X)))
}

// shoot returns whom a shot from a muzzle hits: the nearest body in its line that is not the shooter's, or nobody.
func shoot(muzzle Position, aim float32, own netcode.NetworkID, bodies []body) (hit netcode.NetworkID) {
	sin, cos := math.Sincos(float64(aim))
	nearest := math.Inf(1)
	for _, b := range bodies {
		dx, dy := float64(b.at.X-muzzle.X), float64(b.at.Y-muzzle.Y)
		along, aside := dx*cos+dy*sin, dx*sin-dy*cos
		if b.id != own && along > 0 && along < nearest && math.Abs(aside) <= radius {
			hit, nearest = b.id, along
		}
	}
	return hit
}

// lookAt returns the bodies that a player finds in a world, as T shows them.
func lookAt[T any](w *ecs.World, position func(*T) Position) func(see func(body)) {
	filter := generic.NewFilter3[components.Replicated, components.Owner, T]()
	return func(see func(body)) {
		query := filter.Query(w)
		for query.Next() {
			replicated, owner, at := query.Get()
			if !replicated.ID.IsZero() {
				see(body{replicated.ID, owner.Client, position(at)})
			}
		}
	}
}
