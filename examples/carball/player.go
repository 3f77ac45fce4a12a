package main

import (
	"math"
	"math/rand/v2"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/tick"
)

// sample is the place of a body in one frame, as a player saw it.
type sample struct {
	id     netcode.NetworkID
	own    bool
	before netcode.Tick // The place is between this tick and the next one.
	part   float64
	at     Place
}

// player is one bot.
type player struct {
	client  *netcode.Client
	world   *ecs.World
	sim     *predict.Simulation
	random  *rand.Rand
	shown   *generic.Filter2[components.Replicated, components.Smooth[Place]]
	owner   ecs.ID
	still   bool
	drive   Drive // Its last action.
	whim    float64
	samples []sample
	heard   int          // Boosts, in the tick of the press.
	boosts  boosts       // Those of the own car that were heard and not cancelled.
	delay   netcode.Tick // From the tick of the press until it was heard, of all together.
}

// seen calls see with every body that the player sees.
func (p *player) seen(see func(id netcode.NetworkID, owner netcode.ClientID, at Place)) {
	query := p.shown.Query(p.world)
	for query.Next() {
		r, at := query.Get()
		owner := netcode.ClientID(0)
		if query.Has(p.owner) {
			owner = (*components.Owner)(query.Query.Get(p.owner)).Client
		}
		see(r.ID, owner, at.Value)
	}
}

// act is a system: in each frame the player decides what to do. It drives at the ball, and changes its mind now and then.
func (p *player) act(*ecs.World) {
	if p.client.State() != netcode.Connected {
		return
	}
	p.drive.Boost = false
	if p.still {
		p.drive = Drive{}
	} else {
		p.chase()
	}
	_ = input.Set(p.client, &p.drive)
}

// chase drives at the ball.
func (p *player) chase() {
	var ball, me Place
	p.seen(func(_ netcode.NetworkID, owner netcode.ClientID, at Place) {
		switch owner {
		case 0:
			ball = at
		case p.client.ID():
			me = at
		}
	})
	if p.random.IntN(40) == 0 {
		p.whim = (p.random.Float64() - .5) * 2
		p.drive.Throttle = float32(.6 + .4*p.random.Float64())
		if p.random.IntN(4) == 0 {
			p.drive.Throttle = -.7
		}
	}
	way := math.Atan2(float64(ball.Y-me.Y), float64(ball.X-me.X)) + p.whim
	turn := math.Remainder(way-float64(me.Angle), 2*math.Pi)
	p.drive.Steer = float32(math.Max(-1, math.Min(1, turn)))
	p.drive.Boost = p.random.IntN(90) == 0
}

// countBoost counts boosts of the own car.
func (p *player) countBoost(e predict.Effect) {
	if !p.isOwn(e) {
		return
	}
	p.boosts[boost{p.client.ID(), e.Tick}]++
	if e.Age == 0 { // Else the press came too late to the server, and another tick has it.
		p.heard++
		p.delay += p.client.Time().Tick - e.Tick
	}
}

// cancelBoost takes a boost of the own car back.
func (p *player) cancelBoost(e predict.Effect) {
	if p.isOwn(e) {
		p.boosts[boost{p.client.ID(), e.Tick}]--
	}
}

func (p *player) isOwn(e predict.Effect) bool {
	return p.world.Alive(e.Entity) && p.world.Has(e.Entity, p.owner) && (*components.Owner)(p.world.Get(e.Entity, p.owner)).Client == p.client.ID()
}

// look is a system: at the end of each frame the player looks where everything is shown.
func (p *player) look(*ecs.World) {
	if p.still || p.client.State() != netcode.Connected {
		return
	}
	part := tick.Span(p.client.Time().Fraction).Float()
	p.seen(func(id netcode.NetworkID, owner netcode.ClientID, at Place) {
		if p.sim.Predicts(id) {
			p.samples = append(p.samples, sample{id, owner == p.client.ID(), p.sim.Tick() - 1, part, at})
		}
	})
}
