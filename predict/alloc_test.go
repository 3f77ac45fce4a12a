package predict_test

import (
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// The wind blows at the server alone, so that each frame rolls back and replays.
func TestWarmFramesAllocateNothing(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 80 * time.Millisecond}, 11, 1, predict.Config{})
	p := g.players[0]
	p.act = func(*player) control { return control{X: 1} }
	p.sim.OnMisprediction(func(predict.Misprediction) {})
	g.rules.wind = .01
	g.run(3 * rate)
	p.wrong = make([]predict.Misprediction, 0, 1000)
	client := allocationsOf(t, p.group.Systems(), p.sim, p.world)
	before := p.sim.Stats()
	for range rate {
		g.now += time.Second / rate
		g.loop.Step()
		client.frame()
	}
	after := p.sim.Stats()
	require.Greater(t, after.Replayed-before.Replayed, uint64(2*rate))
	client.counter.Zero("frames of a client that replays")
}

// counted is a client's frame whose simulation is counted.
type counted struct {
	counter *alloctest.Counter
	frame   func()
}

func allocationsOf(t *testing.T, frame []systems.System, sim *predict.Simulation, w *ecs.World) counted {
	c := counted{counter: alloctest.Start(t)}
	c.frame = func() {
		for _, s := range frame {
			if s == systems.System(sim) {
				c.counter.Count(func() { s.Update(w) })
			} else {
				s.Update(w)
			}
		}
	}
	return c
}
