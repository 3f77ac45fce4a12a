package predict_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/transport"
)

// provoke moves a body at the server alone, and returns the ticks until the client has the same.
func provoke(g *game, p *player, at netcode.Tick) (repaired netcode.Tick) {
	there, here := generic.NewMap1[position](g.world), generic.NewMap1[position](p.world)
	y := &there.Get(g.bodies[p.client.ID()]).Y
	*y -= float32(math.Copysign(20, float64(*y)))
	for frame := 0; frame < 4*rate; frame++ {
		g.frame()
		truth := there.Get(g.bodies[p.client.ID()])
		if math.Abs(float64(truth.Y-here.Get(p.body(g)).Y)) < 10 {
			return g.server.Tick() - at
		}
	}
	return 4 * rate
}

// What differs at the server is repaired as soon as the client can know it: half a round trip after it happened, in the very frame. Loss makes
// that later by the repeat of what was lost.
func TestAMispredictionIsRepairedWithinARoundTrip(t *testing.T) {
	for _, link := range []transport.Link{{}, {Delay: 25 * time.Millisecond}, {Delay: 75 * time.Millisecond}, {Delay: 150 * time.Millisecond}, {Delay: 150 * time.Millisecond, Jitter: 20 * time.Millisecond}} {
		g := newGame(t, link, 61, 1, predict.Config{})
		p := g.players[0]
		p.act = wander
		g.run(6 * rate)
		worst, trip := netcode.Tick(0), netcode.Tick(math.Ceil(float64(2*(link.Delay+link.Jitter))/float64(time.Second)*float64(p.client.TickRate())))
		for range 40 {
			worst = max(worst, provoke(g, p, g.server.Tick()))
			g.run(rate / 3)
		}
		t.Logf("%v each way: %d ticks at most, of a round trip of %d", link.Delay, worst, trip)
		require.LessOrEqual(t, worst, trip+2)
		g.heal()
	}
}

// A spawn that the server does not make is gone as soon as every packet of its tick has come.
func TestAGhostIsGoneWithinARoundTrip(t *testing.T) {
	for _, loss := range []float64{0, .2} {
		t.Run(fmt.Sprint(loss), func(t *testing.T) {
			g := newGame(t, transport.Link{Delay: 100 * time.Millisecond, Loss: loss}, 62, 1, predict.Config{})
			p := g.players[0]
			p.act = still
			g.run(6 * rate)
			g.rules.never = true
			var ages []netcode.Tick
			born := map[ecs.Entity]netcode.Tick{}
			p.sim.OnUnspawn(func(e ecs.Entity) { ages = append(ages, p.sim.Tick()-born[e]) })
			frames := 0
			p.act = func(*player) control { frames++; return control{X: float32(frames/20%3 - 1), Fire: frames%40 == 0} }
			trip := netcode.Tick(6) // 200 ms.
			for range 20 * rate {
				g.frame()
				for query := generic.NewFilter1[components.SpawnOf]().Query(p.world); query.Next(); {
					if _, known := born[query.Entity()]; !known {
						born[query.Entity()] = p.sim.Tick()
					}
				}
			}
			require.Greater(t, len(ages), 10)
			worst, sum := netcode.Tick(0), netcode.Tick(0)
			for _, age := range ages {
				worst, sum = max(worst, age), sum+age
			}
			t.Logf("loss %v: %d ghosts, gone after %.1f ticks, %d at most, of a round trip of %d", loss, len(ages), float64(sum)/float64(len(ages)), worst, trip)
			if loss == 0 {
				require.LessOrEqual(t, worst, trip+4, "a round trip and two ticks, and two that the clock of inputs keeps in hand")
			}
			require.Less(t, worst, 2*trip+28)
			g.heal()
		})
	}
}

// A body whose systems try to move it by less than a step rests: nothing travels of it, and the server tells.
func TestABodyThatCreepsIsCorrected(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 60 * time.Millisecond}, 63, 1, predict.Config{})
	p := g.players[0]
	p.act = still
	g.rules.wind, p.rules.wind = .004, .004 // Of steps of 0.01 metres.
	g.run(6 * rate)
	there, here := generic.NewMap1[position](g.world), generic.NewMap1[position](p.world)
	at := there.Get(g.bodies[p.client.ID()]).X
	p.rules.wind = .3
	g.run(5)
	p.rules.wind = .004
	require.NotEqual(t, at, here.Get(p.body(g)).X)
	g.run(rate)
	require.InDelta(t, float64(at), float64(there.Get(g.bodies[p.client.ID()]).X), .005)
	require.InDelta(t, float64(at), float64(here.Get(p.body(g)).X), .005)
	require.NotZero(t, p.sim.Stats().Mispredictions)
	g.rules.wind, p.rules.wind = 0, 0
	g.heal()
}
