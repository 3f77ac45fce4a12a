package rules

import (
	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
)

const near, far = 7, 10 // Metres from the ball from which a client predicts it, and beyond which it no longer does.

// Player is the game as one player sees it, at a client or at a host. Its messages and effects are those of Client and Sim.
type Player struct {
	Client *netcode.Client
	View   systems.PlayerView
	Sim    *predict.Simulation
	Rules  *Rules
	// Act decides what the player does, once a frame; nil: nothing.
	Act func() Control

	nearby bool // The ball.
	smooth generic.Map1[components.Smooth[Body]]
}

// Join makes the player of a client.
func Join(group *systems.ClientSystems, w *ecs.World) *Player {
	return newPlayer(group, group, NewRules(w))
}

// Host makes the player of a host; the match is that of its server.
func Host(group *systems.HostSystems, m *Match) *Player { return newPlayer(group, group.View, m.Rules) }

// newPlayer adds the simulation and the player's frame to a group.
func newPlayer(group interface {
	Add(tick.Stage, ...systems.System)
}, view systems.PlayerView, r *Rules) *Player {
	p := &Player{Client: view.Player(), View: view, Rules: r, smooth: generic.NewMap1[components.Smooth[Body]](r.World)}
	group.Add(tick.PreUpdate, systems.Func(p.frame))
	p.Sim = predict.Simulate(group, predict.Config{}, r.Systems()...)
	return p
}

// Owns reports whether an avatar is that of this player.
func (p *Player) Owns(e ecs.Entity) bool {
	owner := p.Rules.owners.Get(e)
	return owner != nil && owner.Client == p.Client.ID() && p.Client.ID() != 0
}

// look returns the own avatar, all of them, and the ball, as they are shown. ok is false for a spectator.
func (p *Player) look() (me Seen, all []Seen, ball Seen, ok bool) {
	all, ball = p.Rules.Look(p.Place)
	for _, s := range all {
		if p.Owns(s.Entity) {
			return s, all, ball, true
		}
	}
	return me, all, ball, false
}

// frame is a system: the input of a frame, and whether the ball is predicted.
func (p *Player) frame(*ecs.World) {
	if p.Client.State() != netcode.Connected {
		return
	}
	if p.Act != nil {
		c := p.Act()
		_ = input.Set(p.Client, &c) // An impossible one is left out.
	}
	me, _, ball, ok := p.look()
	apart, was := Length(me.X-ball.X, me.Y-ball.Y), p.nearby
	if p.nearby = ok && (apart < near || was && apart < far); p.nearby != was {
		if id, seen := p.View.ID(ball.Entity); seen {
			p.Sim.Predict(id, p.nearby)
		}
	}
}

// Place returns where an entity is shown.
func (p *Player) Place(e ecs.Entity) Body {
	if s := p.smooth.Get(e); s != nil {
		return s.Value
	}
	return *p.Rules.bodies.Get(e)
}

// Decide returns a function for Act that plays like a bot.
func (p *Player) Decide(b *Brain) func() Control {
	return func() Control {
		me, all, ball, ok := p.look()
		if !ok {
			return Control{}
		}
		b.Think(p.Rules.level(), me, all, ball)
		return b.Control
	}
}
