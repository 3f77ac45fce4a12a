package predict_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// These scenes are reported by users of other prediction libraries: endless rollback, latency that grows at a low frame
// rate, missed inputs on one machine, a host that predicts itself.

// A client at 10 frames per second neither falls behind nor mispredicts.
func TestASlowClientKeepsUp(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 50 * time.Millisecond}, 11, 1, predict.Config{})
	p := g.players[0]
	p.act = wander
	for frame := range 60 * rate {
		if frame%6 != 0 {
			p.skip = 1
		}
		g.frame()
		if frame > 10*rate && frame%6 == 0 {
			require.InDelta(t, float64(p.client.Time().Tick), float64(p.sim.Tick()), 1)
			require.Less(t, p.client.Lead().Float(), 16., "the latency does not climb")
		}
	}
	stats := p.sim.Stats()
	require.Zero(t, stats.Mispredictions, p.wrong)
	require.Zero(t, stats.Restarts)
	g.heal()
}

// Without delay no input is missed, and only confirmed spawns cause replays.
func TestNothingIsMissedWithoutDelay(t *testing.T) {
	for _, delay := range []int{0, 1, 3} {
		g := newGame(t, transport.Link{}, 12, 2, predict.Config{InputDelay: delay})
		for _, p := range g.players {
			p.act = wander
		}
		g.run(20 * rate)
		taken := make([]predict.Stats, len(g.players))
		for i, p := range g.players {
			taken[i] = p.sim.Stats()
		}
		g.run(10 * rate)
		for i, p := range g.players {
			stats := p.sim.Stats()
			require.Zero(t, stats.Mispredictions, p.wrong)
			require.Equal(t, taken[i].Corrected, stats.Corrected)
			require.Equal(t, taken[i].Restarts, stats.Restarts)
		}
		g.heal()
	}
}

// Jitter causes no endless rollback. With every kind of link the steps of a frame are bounded, and most are of new ticks.
func TestReplaysEnd(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 100 * time.Millisecond, Jitter: 80 * time.Millisecond, Loss: .1, Duplicate: .2}, 13, 3, predict.Config{})
	for _, p := range g.players {
		p.act = wander
	}
	g.run(60 * rate)
	for _, p := range g.players {
		stats := p.sim.Stats()
		require.Less(t, stats.Replayed, 3*stats.Steps, "%+v", stats)
	}
	g.heal()
	for _, p := range g.players {
		before := p.sim.Stats()
		g.run(5 * rate)
		after := p.sim.Stats()
		require.Equal(t, before.Replayed, after.Replayed, "nothing moves, and nothing is replayed")
	}
}

// A correction is blended: in no frame the shown position moves by more than the motion and a share of the error.
func TestACorrectionIsNoJump(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 100 * time.Millisecond}, 14, 1, predict.Config{CorrectionTime: 200 * time.Millisecond})
	p := g.players[0]
	p.act = func(*player) control { return control{} }
	g.run(5 * rate)
	shown := generic.NewMap1[components.Smooth[position]](p.world)
	g.rules.wind = 1
	last := *shown.Get(p.body(g))
	most, moved := 0., 0.
	for frame := range 2 * rate {
		if frame == 8 {
			g.rules.wind = 0
		}
		g.frame()
		now := *shown.Get(p.body(g))
		most = max(most, math.Abs(float64(now.Value.X-last.Value.X)))
		moved += float64(now.Value.X - last.Value.X)
		last = now
	}
	require.Greater(t, moved, 3.)
	require.Less(t, most, .5, "of %v in all", moved)
	at := generic.NewMap1[position](p.world)
	require.InDelta(t, float64(at.Get(p.body(g)).X), float64(last.Value.X), .01)
}

// hostGame is a game whose server has a player of its own.
func hostGame(t *testing.T, link transport.Link, seed uint64) (*game, *netcode.Client) {
	g := newGame(t, link, seed, 0, predict.Config{})
	p := newProtocol()
	socket := g.openServer(p)
	player, err := netcode.NewClient(p, g.config(50))
	require.NoError(t, err)
	host, err := systems.NewHost(g.server, player, socket, g.clock)
	require.NoError(t, err)
	sim := predict.Simulate(host, predict.Config{}, g.rules)
	host.Add(tick.PreUpdate, systems.Func(func(*ecs.World) {
		if player.State() == netcode.Connected {
			_ = input.Set(player, &control{X: 1})
		}
	}))
	g.loop, g.group, g.sim = systems.NewRunner(g.world, host, rate), host.ServerSystems, sim
	g.join(p, predict.Config{})
	return g, player
}

// A body that moves evenly is shown moving evenly, however packets jitter, from a server or a host.
func TestWhatIsShownDoesNotJitter(t *testing.T) {
	link := transport.Link{Delay: 80 * time.Millisecond, Jitter: 40 * time.Millisecond, Loss: .1}
	for name, g := range map[string]*game{"server": newGame(t, link, 25, 1, predict.Config{}), "host": func() *game { g, _ := hostGame(t, link, 25); return g }()} {
		p := g.players[0]
		p.act = func(*player) control { return control{X: 1} }
		g.run(5 * rate)
		shown := generic.NewMap1[components.Smooth[position]](p.world)
		last, least, most, sum := shown.Get(p.body(g)).Value.X, math.Inf(1), math.Inf(-1), 0.
		const frames = 6 * rate
		for range frames {
			g.frame()
			now := shown.Get(p.body(g)).Value.X
			step := float64(now - last)
			least, most, sum, last = min(least, step), max(most, step), sum+step, now
		}
		mean := sum / frames
		t.Logf("%s: %.4f a frame, %.4f to %.4f", name, mean, least, most)
		require.Greater(t, mean, .05)
		require.Greater(t, least, .8*mean, name)
		require.Less(t, most, 1.2*mean, name)
		require.Zero(t, p.sim.Stats().Mispredictions, p.wrong)
	}
}

// A host runs the same systems. It predicts nothing, and its own player is an ordinary player.
func TestAHostRunsTheSameSystems(t *testing.T) {
	g, player := hostGame(t, transport.Link{Delay: 60 * time.Millisecond}, 15)
	client, sim := g.players[0], g.sim
	client.act = wander
	g.run(20 * rate)
	at := generic.NewMap1[position](g.world)
	require.Greater(t, at.Get(g.bodies[player.ID()]).X, float32(10))
	require.Zero(t, sim.Stats().Replayed)
	require.Zero(t, client.sim.Stats().Mispredictions, client.wrong)
}

// Sections of inputs and resting entities use existing packets: one packet per network tick and client.
func TestPredictionSendsNoPacketsOfItsOwn(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 150 * time.Millisecond, Loss: .4}, 18, 2, predict.Config{})
	for _, p := range g.players {
		p.act = wander
	}
	g.run(5 * rate)
	before, from := g.server.Stats().Packets.Sent, g.server.Tick()
	g.run(20 * rate)
	sent, ticks := g.server.Stats().Packets.Sent-before, uint64(g.server.Tick()-from)
	corrected := g.players[0].sim.Stats().Corrected + g.players[1].sim.Stats().Corrected
	require.NotZero(t, corrected)
	require.Less(t, sent, 2*ticks+ticks/4)
}

// An entity whose prediction ends is shown in the past again. The transition is blended.
func TestTheEndOfAPredictionIsNoJump(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 100 * time.Millisecond}, 21, 1, predict.Config{CorrectionTime: 300 * time.Millisecond})
	p := g.players[0]
	p.act = func(*player) control { return control{X: 1} }
	g.run(3 * rate)
	e := p.body(g)
	id, ok := p.group.ID(e)
	require.True(t, ok)
	shown := generic.NewMap1[components.Smooth[position]](p.world)
	last, speed := *shown.Get(e), float32(0)
	most, back := float32(0), float32(0)
	for frame := range 2 * rate {
		if frame == rate/2 {
			require.Greater(t, speed, float32(.05))
			p.sim.Predict(id, false)
		}
		g.frame()
		now := *shown.Get(e)
		step := now.Value.X - last.Value.X
		if frame < rate/2 {
			speed = max(speed, step)
		} else {
			most, back = max(most, step), min(back, step)
		}
		last = now
	}
	require.False(t, p.sim.Predicts(id))
	there, here := generic.NewMap1[position](g.world), generic.NewMap1[position](p.world)
	truth := there.Get(g.bodies[p.client.ID()]).X
	require.Greater(t, truth-last.Value.X, 5*speed, "it is shown in the past")
	require.Less(t, most, 2*speed)
	require.Greater(t, back, -2*speed, "of %v behind", truth-last.Value.X)
	g.heal()
	require.InDelta(t, float64(here.Get(e).X), float64(shown.Get(e).Value.X), .01)
}
