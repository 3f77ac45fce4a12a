package rules

import (
	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/loading"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
)

const near, far = 7, 10 // Metres from the ball from which a client predicts it, and beyond which it no longer does.

// Player is the game as one player sees it, at a client or at a host.
type Player struct {
	Client *netcode.Client
	View   systems.PlayerView
	Sim    *predict.Simulation
	Rules  *Rules
	// Act decides what the player does, once a frame; nil: nothing.
	Act func() Control
	// Load loads a level and calls done, at once or in a later frame; nil: a level is there at once.
	Load func(level uint8, done func())
	// Heard, Told and Marked get what happens, each thing once; they may be nil.
	Heard  func(predict.Effect)
	Told   func(News)
	Marked func(points uint8)

	world  *ecs.World
	scene  Scene
	nearby bool // The ball.
	smooth generic.Map1[components.Smooth[Body]]
	faces  generic.Map1[components.Smooth[Facing]]
	beams  generic.Map1[components.Smooth[Rail]]
	clocks *generic.Filter2[Clock, Score]
	flying *generic.Filter2[Fuse, components.Smooth[Body]]
	things *generic.Filter2[Pickup, Body]
}

// Join makes the player of a client.
func Join(group *systems.ClientSystems, w *ecs.World) *Player {
	p := newPlayer(group, group.Client, w, NewRules(w))
	group.Add(netcode.StagePreUpdate, systems.Func(p.frame))
	p.Sim = predict.Simulate(group, predict.Config{}, p.Rules.Systems()...)
	p.listen()
	return p
}

// Host makes the player of a host; the match is that of its server.
func Host(group *systems.HostSystems, w *ecs.World, m *Match) *Player {
	p := newPlayer(group.View, group.Client, w, m.Rules)
	group.Add(netcode.StagePreUpdate, systems.Func(p.frame))
	p.Sim = predict.Simulate(group, predict.Config{}, m.Rules.Systems()...)
	p.listen()
	return p
}

func newPlayer(view systems.PlayerView, client *netcode.Client, w *ecs.World, r *Rules) *Player {
	return &Player{
		Client: client, View: view, Rules: r, world: w,
		smooth: generic.NewMap1[components.Smooth[Body]](w), faces: generic.NewMap1[components.Smooth[Facing]](w), beams: generic.NewMap1[components.Smooth[Rail]](w),
		clocks: generic.NewFilter2[Clock, Score](), flying: generic.NewFilter2[Fuse, components.Smooth[Body]](), things: generic.NewFilter2[Pickup, Body](),
	}
}

// listen hands on what happens.
func (p *Player) listen() {
	netcode.On(p.Client, func(_ *netcode.Context, n *News) {
		if p.Told != nil {
			p.Told(*n)
		}
	})
	netcode.On(p.Client, func(_ *netcode.Context, m *Mark) {
		if p.Marked != nil {
			p.Marked(m.Points)
		}
	})
	p.Sim.OnEffect(func(e predict.Effect) {
		if p.Heard != nil {
			p.Heard(e)
		}
	})
	loading.Of(p.Client).OnLevel(func(level uint32, done func()) {
		if p.Load == nil {
			done()
			return
		}
		p.Load(uint8(level), done)
	})
}

// Owns reports whether an avatar is that of this player.
func (p *Player) Owns(e ecs.Entity) bool {
	owner := p.Rules.owners.Get(e)
	return owner != nil && owner.Client == p.Client.ID() && p.Client.ID() != 0
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
	seen, ball := p.Rules.Look(p.place)
	for _, s := range seen {
		if !p.Owns(s.Entity) {
			continue
		}
		apart, was := Length(s.X-ball.X, s.Y-ball.Y), p.nearby
		if p.nearby = apart < near || was && apart < far; p.nearby == was {
			continue
		}
		if id, ok := p.View.ID(ball.Entity); ok {
			p.Sim.Predict(id, p.nearby)
		}
	}
}

// place returns the position at which an entity is shown.
func (p *Player) place(e ecs.Entity) Body {
	if s := p.smooth.Get(e); s != nil {
		return s.Value
	}
	return *p.Rules.bodies.Get(e)
}

// Decide returns a function for Act that plays like a bot.
func (p *Player) Decide(b *Brain) func() Control {
	return func() Control {
		seen, ball := p.Rules.Look(p.place)
		for _, me := range seen {
			if p.Owns(me.Entity) {
				b.Think(p.Rules.Levels[int(p.Scene().Clock.Level)%len(p.Rules.Levels)], me, seen, ball)
				return b.Control
			}
		}
		return Control{}
	}
}
