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
	"github.com/arche-netcode/netcode/transport"
)

// The scenes here are those that users of other prediction libraries report, each with a bound: rollback without an end, jitter with physics and
// with a host, latency that climbs at a low frame rate, inputs that are missed on one machine.

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
func idle(int) shove  { return shove{} }

// about is a player who runs about and into the crates.
func about(frame int) shove {
	return shove{X: float32(frame/37%3 - 1), Y: float32(frame/23%3 - 1)}
}

// Over bad links of every kind the replays of three players who push the same crates stay within a bound, and end when all rest.
func TestReplaysOfContactsEnd(t *testing.T) {
	for _, link := range []transport.Link{{Delay: 100 * time.Millisecond, Jitter: 80 * time.Millisecond, Loss: .1, Duplicate: .2}, bad(.2)} {
		g := newPushGame(t, nettest.Config{Clients: 3, Seed: 31, Link: link}, false, about, about, about)
		g.Run(30 * time.Second)
		for _, sim := range g.sims {
			s := sim.Stats()
			require.Positive(t, s.Guessed)
			require.Less(t, s.Replayed, 3*s.Steps, "%+v", s)
		}
		g.steer = []func(int) shove{idle, idle, idle}
		g.Heal()
		g.Run(5 * time.Second)
		var before []predict.Stats
		for _, sim := range g.sims {
			before = append(before, sim.Stats())
		}
		g.Run(5 * time.Second)
		for i, sim := range g.sims {
			require.Equal(t, before[i].Rollbacks, sim.Stats().Rollbacks, "nothing moves, and nothing goes back")
		}
		g.AssertConverge()
	}
}

// A crate that is pushed evenly moves evenly on every screen, however packets jitter, whether a client pushes it or the player at the server.
func TestContactsDoNotJitter(t *testing.T) {
	link := transport.Link{Delay: 80 * time.Millisecond, Jitter: 40 * time.Millisecond, Loss: .1}
	for _, hosted := range []bool{false, true} {
		config, players := nettest.Config{Clients: 2, Seed: 32, Link: link}, []func(int) shove{ahead, idle}
		if hosted {
			players[0] = idle
		}
		g := newPushGame(t, config, hosted, players...)
		g.Run(3 * time.Second)
		id, ok := g.Server.Systems.ID(g.crate)
		require.True(t, ok)
		for i, c := range g.Clients {
			require.True(t, g.sims[i].Predicts(id))
			e, _ := c.Systems.Entity(id)
			shown := generic.NewMap1[components.Smooth[position]](c.World)
			last, least, most, sum := shown.Get(e).Value.X, math.Inf(1), math.Inf(-1), 0.
			const frames = 4 * 60
			for range frames {
				g.Step()
				now := shown.Get(e).Value.X
				step := float64(now - last)
				least, most, sum, last = min(least, step), max(most, step), sum+step, now
			}
			mean := sum / frames
			t.Logf("hosted %v, client %d: %.4f m a frame, %.4f to %.4f", hosted, i, mean, least, most)
			require.Greater(t, mean, .02)
			require.Greater(t, least, .8*mean)
			require.Less(t, most, 1.2*mean)
		}
	}
}

// The latency of a client at 10 frames a second does not climb, and it mispredicts nothing that others do not touch.
func TestLatencyOfASlowClientIsBounded(t *testing.T) {
	g := newPushGame(t, nettest.Config{Clients: 1, Seed: 33, Link: transport.Link{Delay: 50 * time.Millisecond}}, false, about)
	c, sim := g.Clients[0], g.sims[0]
	for frame := range 60 * 60 {
		if slow := frame%6 != 0; slow {
			g.Suspend(c)
		} else {
			g.Wake(c)
		}
		g.Step()
		if frame > 10*60 && frame%6 == 0 {
			require.Less(t, c.Lead().Float(), 16., "ticks: a round trip is 3, a frame is 3")
			require.InDelta(t, float64(c.Time().Tick), float64(sim.Tick()), 1)
		}
	}
	require.Zero(t, sim.Stats().Mispredictions, g.wrong)
	require.Zero(t, sim.Stats().Restarts)
}

// A client that hangs for a second sends no more afterwards than before, and goes on in the next frames.
func TestAHangFloodsNoInputs(t *testing.T) {
	g := newPushGame(t, nettest.Config{Clients: 1, Seed: 37, Link: transport.Link{Delay: 50 * time.Millisecond}}, false, about)
	c := g.Clients[0]
	second := func() (packets, bytes uint64) {
		before := c.Stats().Packets
		g.Run(time.Second)
		after := c.Stats().Packets
		return after.Sent - before.Sent, after.BytesSent - before.BytesSent
	}
	g.Run(5 * time.Second)
	packets, bytes := second()
	for range 5 {
		g.Suspend(c)
		g.Run(time.Second)
		g.Wake(c)
		n, size := second()
		t.Logf("%d packets of %d bytes; after the hang %d of %d", packets, bytes, n, size)
		require.LessOrEqual(t, n, packets+2)
		require.LessOrEqual(t, size, bytes+bytes/4)
		require.InDelta(t, float64(c.Time().Tick), float64(g.sims[0].Tick()), 1)
	}
}

// On one machine, without any delay, no input comes too late for its tick.
func TestNoInputIsMissedOnOneMachine(t *testing.T) {
	g := newPushGame(t, nettest.Config{Clients: 2, Seed: 34}, false, about, idle)
	g.Run(10 * time.Second)
	before := []predict.Stats{g.sims[0].Stats(), g.sims[1].Stats()}
	g.Run(30 * time.Second)
	for i, sim := range g.sims {
		require.Equal(t, before[i].Corrected, sim.Stats().Corrected)
		require.Equal(t, before[i].Restarts, sim.Stats().Restarts)
	}
	require.Zero(t, g.sims[0].Stats().Mispredictions, g.wrong)
}

// The same seed gives the same bytes and the same replays.
func TestAPredictedGameRepeats(t *testing.T) {
	play := func(seed uint64) (stats []predict.Stats, hash uint64) {
		g := newPushGame(t, nettest.Config{Clients: 3, Seed: seed, Link: bad(.2)}, false, about, about, about)
		g.Run(10 * time.Second)
		for _, sim := range g.sims {
			stats = append(stats, sim.Stats())
		}
		return stats, g.TraceHash()
	}
	first, bytes := play(35)
	second, again := play(35)
	require.Equal(t, first, second)
	require.Equal(t, bytes, again)
	_, other := play(36)
	require.NotEqual(t, bytes, other)
}
