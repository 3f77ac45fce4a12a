package main

import (
	"math"
	"math/rand/v2"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
)

// Position is where a body stands, in metres.
type Position struct {
	X, Y float32 `net:"min=-40,max=40,step=0.01"`
}

// Tally is how often a body has hit, and was hit.
type Tally struct{ Hits, Taken uint16 }

// Control is what a player does in one tick: where it walks, and whether and where it shoots.
type Control struct {
	MoveX, MoveY float32 `net:"axis"`
	Fire         bool
	AimX, AimY   float32
}

// shot is one shot by its bot: in which tick, and at whom.
type shot struct {
	tick   netcode.Tick
	target netcode.NetworkID
}

// player is one bot. It plays by the same code whether it connects or is the host; only where it finds what it shows
// differs: the host in the server's world itself, the others in Smooth.
type player struct {
	client *netcode.Client
	random *rand.Rand
	look   func(p *player, see func(id netcode.NetworkID, owner netcode.ClientID, at Position))

	heading float64
	pause   int // Ticks until the next shot.
	still   bool
	shots   []shot
}

// Initialize implements systems.System.
func (p *player) Initialize(*ecs.World) {}

// Update implements systems.System: once a tick the player decides what to do.
func (p *player) Update(*ecs.World) {
	if p.client.State() != netcode.Connected || p.client.Steps() == 0 {
		return
	}
	_ = netcode.SetInput(p.client, p.decide()) // What it cannot do it does not do.
}

// Finalize implements systems.System.
func (p *player) Finalize(*ecs.World) {}

// decide walks on, turns a little, and shoots now and then at whoever is nearest to the middle.
func (p *player) decide() *Control {
	if p.still {
		return &Control{}
	}
	p.heading += (p.random.Float64() - .5) * .6
	c := &Control{MoveX: float32(math.Cos(p.heading)), MoveY: float32(math.Sin(p.heading))}
	if p.pause -= p.client.Steps(); p.pause > 0 {
		return c
	}
	var targets []shot
	var places []Position
	p.look(p, func(id netcode.NetworkID, owner netcode.ClientID, at Position) {
		if owner != p.client.ID() {
			targets, places = append(targets, shot{p.client.Time().Tick, id}), append(places, at)
		}
	})
	if len(targets) == 0 {
		return c
	}
	i := p.random.IntN(len(targets))
	p.pause = 8 + p.random.IntN(8)
	c.Fire, c.AimX, c.AimY = true, places[i].X, places[i].Y
	for step := range netcode.Tick(p.client.Steps()) { // After a hitch the trigger is held for two.
		p.shots = append(p.shots, shot{targets[i].tick - step, targets[i].target})
	}
	return c
}

// lookAt is what a player finds in a world: the bodies as T shows them.
func lookAt[T any](w *ecs.World, position func(*T) Position) func(*player, func(netcode.NetworkID, netcode.ClientID, Position)) {
	filter := generic.NewFilter3[components.Replicated, components.Owner, T]()
	return func(_ *player, see func(netcode.NetworkID, netcode.ClientID, Position)) {
		query := filter.Query(w)
		for query.Next() {
			body, owner, at := query.Get()
			if !body.ID.IsZero() {
				see(body.ID, owner.Client, position(at))
			}
		}
	}
}
