package nettest_test

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/internal/steps"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/interpolate"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
)

// shove is the input of a player, in units of full thrust.
type shove struct {
	X, Y float32 `net:"axis"`
}

// pace is the speed of a body, in m/s.
type pace struct {
	X, Y float32 `net:"min=-20,max=20,step=0.01"`
}

// pusher is one body in a step: one with an owner pushes, one without is pushed.
type pusher struct {
	id    uint32
	owner netcode.ClientID
	at    *position
	pace  *pace
}

// pushing is the simulation: bodies of 1 m that thrust, slow down and push those that belong to nobody.
type pushing struct {
	bodies *generic.Filter4[components.Simulate, components.Replicated, position, pace]
	list   []pusher
}

func newPushing() *pushing {
	return &pushing{bodies: generic.NewFilter4[components.Simulate, components.Replicated, position, pace]()}
}

// Step implements predict.System. The order of bodies counts: they are sorted.
func (p *pushing) Step(s *predict.Step) {
	p.list = p.list[:0]
	for query := p.bodies.Query(s.World); query.Next(); {
		_, r, at, speed := query.Get()
		if !r.ID.IsZero() {
			p.list = append(p.list, pusher{r.ID.Index, s.Owner(query.Entity()), at, speed})
		}
	}
	slices.SortFunc(p.list, func(a, b pusher) int { return cmp.Compare(a.id, b.id) })
	dt := float32(s.Seconds())
	for _, b := range p.list {
		in, _ := predict.Input[shove](s, b.owner)
		b.pace.X, b.pace.Y = slowed(b.pace.X, in.X, dt), slowed(b.pace.Y, in.Y, dt)
		b.at.X, b.at.Y = inside(b.at.X+float32(b.pace.X*dt)), inside(b.at.Y+float32(b.pace.Y*dt))
	}
	for _, a := range p.list {
		for _, b := range p.list {
			if a.owner != 0 && b.owner == 0 {
				push(a, b)
			}
		}
	}
}

// slowed is a speed after thrust and friction, which stops in the end.
func slowed(v, thrust, dt float32) float32 {
	if v = float32(v*.9) + float32(thrust*12*dt); v > -.1 && v < .1 {
		return 0
	}
	return v
}

func inside(v float32) float32 { return min(max(v, -60), 60) }

// push moves b out of a, at the speed of a.
func push(a, b pusher) {
	x, y := b.at.X-a.at.X, b.at.Y-a.at.Y
	far := float32(math.Sqrt(float64(float32(x*x) + float32(y*y))))
	if far >= 1 || far == 0 {
		return
	}
	b.at.X, b.at.Y = inside(b.at.X+float32(x/far*(1-far))), inside(b.at.Y+float32(y/far*(1-far)))
	*b.pace = *a.pace
}

// pushGame is players that push crates. Every client predicts all of it, with the inputs of the others.
type pushGame struct {
	*nettest.Net
	sims  []*predict.Simulation
	steer []func(frame int) shove // By client.
	crate ecs.Entity              // Ahead of the first player.
	wrong []predict.Misprediction
}

func newPushGame(t *testing.T, config nettest.Config, hosted bool, steer ...func(frame int) shove) *pushGame {
	p := netcode.NewProtocol()
	netcode.Replicate[position](p)
	netcode.Replicate[pace](p)
	netcode.Replicate[components.Owner](p)
	netcode.Replicate[components.Predicted](p)
	interpolate.Register[position](p)
	input.Register[shove](p)
	input.Relay[shove](p)
	predict.Register[position](p)
	predict.Register[pace](p)
	g := &pushGame{steer: steer}
	config.Protocol, config.Setup, config.SetupClient = p, g.setUp, g.setUpClient
	g.Net = nettest.New(t, config)
	if hosted {
		addHostedPlayer(t, g.Net, p)
	}
	require.True(t, g.RunUntil(4*time.Second, g.Connected))
	return g
}

// addHostedPlayer adds a player at the server, who pushes evenly.
func addHostedPlayer(t *testing.T, n *nettest.Net, p *netcode.Protocol) {
	host, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	n.Each(func() {
		steps.OfClient(host).BeginFrame(n.Now())
		if host.State() == netcode.Disconnected {
			require.NoError(t, netcode.Host(n.Server.Server, host))
		}
		for stage := tick.Initialization; stage <= tick.PostLateUpdate; stage++ {
			steps.OfClient(host).Dispatch(stage)
		}
		if host.State() == netcode.Connected {
			require.NoError(t, input.Set(host, &shove{X: 1}))
		}
		steps.OfClient(host).Send()
	})
}

func (g *pushGame) setUp(s *systems.ServerSystems, w *ecs.World) {
	predict.Simulate(s, predict.Config{}, newPushing())
	crates := generic.NewMap4[components.Replicated, components.Predicted, position, pace](w)
	players := generic.NewMap5[components.Replicated, components.Predicted, components.Owner, position, pace](w)
	rows := float32(0)
	s.Server.OnConnect(func(id netcode.ClientID) { // Each player has a crate ahead.
		players.NewWith(&components.Replicated{}, &components.Predicted{}, &components.Owner{Client: id}, &position{X: -40, Y: rows}, &pace{})
		e := crates.NewWith(&components.Replicated{}, &components.Predicted{}, &position{X: -38, Y: rows}, &pace{})
		if rows += 4; g.crate.IsZero() {
			g.crate = e
		}
	})
}

func (g *pushGame) setUpClient(i int, c *systems.ClientSystems, _ *ecs.World) {
	sim := predict.Simulate(c, predict.Config{}, newPushing())
	sim.OnMisprediction(func(m predict.Misprediction) { g.wrong = append(g.wrong, m) })
	g.sims = append(g.sims, sim)
	c.Add(tick.PreUpdate, systems.Func(func(*ecs.World) {
		if c.Client.State() == netcode.Connected {
			in := g.steer[i](g.Frame())
			_ = input.Set(c.Client, &in)
		}
	}))
}

func ahead(int) shove { return shove{X: 1} }

// about is a player who runs about and into the crates.
func about(frame int) shove {
	return shove{X: float32(frame/37%3 - 1), Y: float32(frame/23%3 - 1)}
}
