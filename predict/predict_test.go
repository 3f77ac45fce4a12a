package predict_test

import (
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/transport"
)

func TestAPlayerMovesInTheTickOfTheInput(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 100 * time.Millisecond}, 1, 1, predict.Config{})
	p := g.players[0]
	p.act = func(*player) control { return control{} }
	g.run(3 * rate)
	at := generic.NewMap1[position](p.world)
	before := *at.Get(p.body(g))
	p.act = func(*player) control { return control{X: 1} }
	for moved := 0; moved < 3; {
		start := p.sim.Tick()
		g.frame()
		if p.sim.Tick() > start {
			moved++
			require.NotEqual(t, before, *at.Get(p.body(g)), "after %d ticks", moved)
		}
	}
	require.Zero(t, p.sim.Stats().Mispredictions, p.wrong)
}

func TestNothingIsMispredictedWhereNobodyInterferes(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 150 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: .2}, 3, 1, predict.Config{})
	p := g.players[0]
	p.act = wander
	g.run(60 * rate)
	t.Logf("%+v", p.sim.Stats())
	for _, m := range p.wrong[:min(len(p.wrong), 10)] {
		t.Log(m)
	}
	require.Zero(t, p.sim.Stats().Mispredictions)
	require.Zero(t, p.sim.Stats().Unconfirmed)
	g.heal()
}

// An obstacle that only the server knows stops the player there, or a wind blows there alone.
func TestEachMispredictionIsRepaired(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 100 * time.Millisecond, Loss: .1}, 5, 1, predict.Config{})
	p := g.players[0]
	p.act = wander
	g.run(4 * rate)
	for range 20 {
		before := p.sim.Stats().Mispredictions
		g.rules.wind = .5
		g.run(2)
		g.rules.wind = 0
		g.run(rate)
		require.Greater(t, p.sim.Stats().Mispredictions, before)
	}
	settled := p.sim.Stats().Mispredictions
	g.run(2 * rate)
	require.Equal(t, settled, p.sim.Stats().Mispredictions)
	g.heal()
}

func TestTheSameSeedIsTheSameGame(t *testing.T) {
	play := func() []predict.Stats {
		g := newGame(t, transport.Link{Delay: 60 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: .3}, 9, 3, predict.Config{})
		var all []predict.Stats
		for _, p := range g.players {
			p.act = wander
		}
		g.run(20 * rate)
		for _, p := range g.players {
			all = append(all, p.sim.Stats())
		}
		return all
	}
	require.Equal(t, play(), play())
}

// A client that hangs, or is slow, neither replays without bound nor ends anywhere else than the server.
func TestStallsAreBounded(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 50 * time.Millisecond}, 7, 2, predict.Config{MaxReplay: 8})
	for _, p := range g.players {
		p.act = wander
	}
	g.run(3 * rate)
	for _, hang := range []int{30, 60, 240, 400} {
		p := g.players[0]
		p.skip = hang
		g.run(hang + 1)
		for range 2 * rate {
			before := p.sim.Stats()
			g.frame()
			after := p.sim.Stats()
			require.LessOrEqual(t, after.Steps+after.Replayed-before.Steps-before.Replayed, uint64(8))
		}
		require.InDelta(t, float64(p.client.Time().Tick), float64(p.sim.Tick()), 1, "after %d frames", hang)
	}
	g.heal()
}

// Code that runs before the simulation sees what the frame before has shown, and no past of the entity.
func TestWhatAPredictedEntityShowsIsThePredictionsAlone(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 100 * time.Millisecond}, 11, 1, predict.Config{})
	p := g.players[0]
	shows := generic.NewMap1[components.Smooth[position]](p.world)
	frames, shown := 0, float32(0)
	p.act = func(*player) control {
		if e := p.body(g); p.sim.Stats().Steps > rate && shows.Get(e) != nil {
			require.Equal(t, shown, shows.Get(e).Value.X)
			frames++
		}
		return control{X: 1}
	}
	for range 4 * rate {
		g.frame()
		if e := p.body(g); !e.IsZero() && p.world.Has(e, ecs.ComponentID[components.Smooth[position]](p.world)) {
			shown = shows.Get(e).Value.X
		}
	}
	require.Greater(t, frames, rate)
}
