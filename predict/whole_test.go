package predict_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/consistent"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/transport"
)

// wholeGame is a game of one player whose client shows only complete ticks.
func wholeGame(t *testing.T, link transport.Link, seed uint64) *game {
	p := newProtocol()
	consistent.Register(p)
	g := newGameOf(t, p, link, seed, predict.Config{}, nil)
	g.join(p, predict.Config{})
	return g
}

// Held back state causes no mispredictions, though the server reports resting entities as of later ticks.
func TestWholeTicksMakeNoMispredictions(t *testing.T) {
	g := wholeGame(t, transport.Link{Delay: 80 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: .2}, 3)
	p := g.players[0]
	p.act = wander
	g.run(30 * rate)
	stats, ok := consistent.Of(p.client)
	require.True(t, ok)
	t.Logf("%+v\n%+v", p.sim.Stats(), stats)
	for _, m := range p.wrong[:min(len(p.wrong), 10)] {
		t.Log(m)
	}
	require.Positive(t, stats.MaxBehind, "state was held back")
	require.Zero(t, p.sim.Stats().Mispredictions)
	require.Zero(t, p.sim.Stats().Unconfirmed)
	g.heal()
}

// A wall that only the server knows stops the player. The client learns that it rests, as of the newest complete tick.
func TestAWallStopsThePlayerOfWholeTicks(t *testing.T) {
	g := wholeGame(t, transport.Link{Delay: 60 * time.Millisecond, Loss: .2}, 6)
	p := g.players[0]
	g.rules.wall, g.rules.cold, p.rules.cold = 10, true, true
	p.act = func(*player) control { return control{X: 1} }
	g.run(12 * rate)
	at := generic.NewMap1[position](p.world)
	for range 4 * rate {
		g.frame()
		require.LessOrEqual(t, at.Get(p.body(g)).X, float32(16), "it runs no farther than for a round trip and what is held back")
	}
	require.NotZero(t, p.sim.Stats().Mispredictions)
	g.heal()
	require.EqualValues(t, 10, at.Get(p.body(g)).X)
}
