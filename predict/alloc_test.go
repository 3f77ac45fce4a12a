package predict_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// Each frame rolls back and replays, since the wind blows at the server alone. For a player who fires, steps spawn, despawn and play effects again.
func TestWarmFramesAllocateNothing(t *testing.T) {
	for name, fire := range map[string]bool{"moves": false, "fires": true} {
		t.Run(name, func(t *testing.T) { warmFrames(t, fire) })
	}
}

func warmFrames(t *testing.T, fire bool) {
	g := newGame(t, transport.Link{Delay: 80 * time.Millisecond}, 11, 1, predict.Config{})
	p := g.players[0]
	p.act = func(*player) control { return control{X: 1, Fire: fire} }
	p.sim.OnMisprediction(func(predict.Misprediction) {})
	if !fire {
		g.rules.wind = .01
	}
	for range 40 * rate { // By then each of the Window ticks of the history was used many times.
		if g.frame(); fire && p.sim.Stats().Steps > 2*rate {
			predict.GoBack(p.sim, 10)
		}
	}
	p.wrong = make([]predict.Misprediction, 0, 20000)
	client := allocationsOf(t, p.group.Systems(), p.sim, p.world)
	before := p.sim.Stats()
	for range rate {
		g.now += time.Second / rate
		g.loop.Step()
		client.frame()
		if fire { // A misprediction would ask for local state, too: that is a message.
			client.counter.Count(func() { predict.GoBack(p.sim, 10) })
		}
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
