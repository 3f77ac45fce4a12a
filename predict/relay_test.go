package predict_test

import (
	"math/rand/v2"
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

// newShared is a game in which every client predicts every body, with or without relayed inputs.
func newShared(t *testing.T, link transport.Link, seed uint64, relayed bool, config predict.Config) *game {
	p := newProtocol()
	if relayed {
		input.Relay[control](p)
	}
	g := newGameOf(t, p, link, seed, config, func(w *ecs.World, e ecs.Entity) {
		ecs.Exchange(w, e, []ecs.ID{ecs.ComponentID[components.Predicted](w)}, nil, nil)
	})
	for range 3 {
		g.join(p, config).act = wander
	}
	return g
}

// sum adds up the counters of three players in half a minute.
func sum(g *game) (s predict.Stats) {
	g.run(30 * rate)
	for _, p := range g.players {
		stats := p.sim.Stats()
		s.Mispredictions += stats.Mispredictions
		s.Guessed += stats.Guessed
		s.Steps += stats.Steps
	}
	return s
}

// With relayed inputs a client predicts other bodies better. In the end all worlds are equal, whatever was lost.
func TestInputsOfOthersMakePredictionsBetter(t *testing.T) {
	for _, link := range []transport.Link{{Delay: 50 * time.Millisecond}, {Delay: 75 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: .2}} {
		for _, delay := range sized([]int{int(3 * link.Loss * 5)}, []int{0, 3}) {
			with := newShared(t, link, 21, true, predict.Config{InputDelay: delay})
			without := newShared(t, link, 21, false, predict.Config{InputDelay: delay})
			a, b := sum(with), sum(without)
			t.Logf("loss %v, delay %d: %d mispredictions with, %d without", link.Loss, delay, a.Mispredictions, b.Mispredictions)
			require.Less(t, float64(a.Mispredictions), .8*float64(b.Mispredictions))
			require.Positive(t, a.Guessed)
			require.Zero(t, b.Guessed)
			with.heal()
			without.heal()
		}
	}
}

// A client replays a tick with the relayed input that the server used in it.
func TestARelayedInputIsThatOfItsTick(t *testing.T) {
	g := newShared(t, transport.Link{Delay: 40 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: .3}, 22, true, predict.Config{})
	used, checked := map[netcode.ClientID]map[netcode.Tick]control{}, 0
	g.group.Add(tick.PostLateUpdate, systems.Func(func(*ecs.World) {
		for client := range g.server.Clients {
			if c, ok := input.At[control](g.server, client, g.server.Tick()); ok && g.server.TickDue() {
				if used[client] == nil {
					used[client] = map[netcode.Tick]control{}
				}
				used[client][g.server.Tick()] = c
			}
		}
	}))
	differ := 0
	for range 20 * rate {
		g.frame()
		for _, p := range g.players {
			for client, ticks := range used {
				at := g.server.Tick() - 12 // A packet with the input has arrived, or a later one.
				if c, ok := input.Relayed[control](p.client, client, at); ok && client != p.client.ID() {
					if want, known := ticks[at]; known {
						checked++
						if c != want {
							differ++
						}
					}
				}
			}
		}
	}
	require.Greater(t, checked, 1000)
	require.Less(t, differ, checked/50, "lost in a row, or still on the way")
	t.Logf("%d of %d", differ, checked)
	require.Positive(t, input.RelayStatsOf(g.players[0].client).Taken)
	require.Positive(t, input.StatsOf(g.server).Relayed)
}

// Inputs of a player are not relayed while all of its entities are hidden.
func TestInputsOfAPlayerWhoIsHiddenAreNotTold(t *testing.T) {
	g := newShared(t, transport.Link{Delay: 20 * time.Millisecond}, 23, true, predict.Config{})
	g.run(3 * rate)
	me, other := g.players[0].client, g.players[1].client
	_, told := input.Relayed[control](me, other.ID(), g.server.Tick())
	require.True(t, told)
	id, ok := g.group.ID(g.bodies[other.ID()])
	require.True(t, ok)
	g.players[1].act = func(*player) control { return control{X: 1} }
	g.run(rate / 2)
	for shot := range g.server.Store().All { // Its bullets too.
		if g.server.Owner(shot) == other.ID() {
			g.server.Hide(me.ID(), shot)
		}
	}
	g.server.Hide(me.ID(), id)
	g.run(4 * rate) // The last input stands in for 63 ticks.
	_, told = input.Relayed[control](me, other.ID(), g.server.Tick())
	require.False(t, told)
	_, told = input.Relayed[control](g.players[2].client, other.ID(), g.server.Tick())
	require.True(t, told)
	g.server.Show(me.ID(), id)
	g.run(rate)
	c, told := input.Relayed[control](me, other.ID(), g.server.Tick())
	require.True(t, told)
	require.Equal(t, control{X: 1}, c)
}

// A host relays the inputs of its own player, and reads the inputs of all players by the same call.
func TestAHostRelaysItsOwnPlayer(t *testing.T) {
	p := newProtocol()
	input.Relay[control](p)
	g := newGameOf(t, p, transport.Link{Delay: 30 * time.Millisecond}, 24, predict.Config{}, nil)
	socket := g.openServer(p)
	player, err := netcode.NewClient(p, g.config(50))
	require.NoError(t, err)
	host, err := systems.NewHost(g.server, player, socket, g.clock)
	require.NoError(t, err)
	host.Add(tick.PreUpdate, systems.Func(func(*ecs.World) { _ = input.Set(player, &control{X: 1}) }))
	predict.Simulate(host, predict.Config{}, g.rules)
	g.loop = systems.NewRunner(g.world, host, rate)
	one := g.join(p, predict.Config{})
	g.run(3 * rate)
	c, ok := input.Relayed[control](one.client, player.ID(), g.server.Tick()-6)
	require.True(t, ok)
	require.Equal(t, control{X: 1}, c)
}

// Relayed inputs are in one packet of a tick, however many packets are sent.
func TestRelayedInputsAreToldOnceATick(t *testing.T) {
	g := newShared(t, transport.Link{}, 25, true, predict.Config{})
	crowd, random := generic.NewMap2[components.Replicated, position](g.world), rand.New(rand.NewPCG(25, 0))
	var all []ecs.Entity
	for range 500 {
		all = append(all, crowd.New())
	}
	g.group.Add(tick.Update, systems.Func(func(*ecs.World) {
		for _, e := range all {
			_, at := crowd.Get(e)
			at.X, at.Y = random.Float32()*400, random.Float32()*400
		}
	}))
	g.run(5 * rate)
	came := func() uint64 { return input.RelayStatsOf(g.players[0].client).Packets }
	sent, before, from := g.server.Stats().Packets.Sent, came(), g.server.Tick()
	g.run(5 * rate)
	ticks := uint64(g.server.Tick() - from)
	require.GreaterOrEqual(t, g.server.Stats().Packets.Sent-sent, 3*2*ticks-6, "several packets a tick")
	require.InDelta(t, ticks, came()-before, 2)
}
