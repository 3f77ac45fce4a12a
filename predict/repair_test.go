package predict_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// provoke moves a body at the server alone. It returns the number of ticks until the client has the same position.
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

// A difference is repaired as soon as the client can know it: half a round trip later, in the same frame. A loss delays
// the repair until the lost state is repeated.
func TestAMispredictionIsRepairedWithinARoundTrip(t *testing.T) {
	for _, link := range []transport.Link{{}, {Delay: 25 * time.Millisecond}, {Delay: 75 * time.Millisecond}, {Delay: 150 * time.Millisecond}, {Delay: 150 * time.Millisecond, Jitter: 20 * time.Millisecond}, {Delay: 150 * time.Millisecond, Loss: .2}} {
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

// ghost is a spawn that the server does not make. age is its time on the screen, answered the time since the server's
// step of its tick, in ticks.
type ghost struct{ age, answered netcode.Tick }

// haunt plays a game whose server makes no spawns. It returns the spawns that its player saw.
func haunt(t *testing.T, link transport.Link, seed uint64, seconds int, act func(frame int) control) (ghosts []ghost) {
	g := newGame(t, link, seed, 1, predict.Config{})
	p := g.players[0]
	p.act = still
	g.run(6 * rate)
	g.rules.never = true
	removed, frames := 0, 0
	p.sim.OnUnspawn(func(ecs.Entity) { removed++ })
	p.act = func(*player) control { frames++; return act(frames) }
	born, bullets := map[ecs.Entity]netcode.Tick{}, generic.NewFilter2[components.SpawnOf, position]()
	for range seconds * rate {
		g.frame()
		seen := map[ecs.Entity]bool{}
		for query := bullets.Query(p.world); query.Next(); {
			if e := query.Entity(); !seen[e] {
				if seen[e] = true; born[e] == 0 {
					born[e] = p.sim.Tick()
				}
			}
		}
		for e, at := range born {
			if !seen[e] && at > 0 {
				ghosts, born[e] = append(ghosts, ghost{p.sim.Tick() - at, g.server.Tick() - at}), -1 // It is counted once.
			}
		}
	}
	require.NotZero(t, removed)
	g.heal()
	for query := generic.NewFilter1[components.SpawnOf]().Query(p.world); query.Next(); {
		t.Errorf("a ghost is left: %v", query.Entity())
	}
	return ghosts
}

// run40 runs about and fires, stand40 only fires.
func run40(frame int) control   { return control{X: float32(frame/20%3 - 1), Fire: frame%40 == 0} }
func stand40(frame int) control { return control{Fire: frame%40 == 0} }

// A spawn that the server does not make is hidden as soon as every packet of its tick has arrived. It is removed when no
// repeat can bring it any more.
func TestAGhostIsGoneWithinARoundTrip(t *testing.T) {
	const trip = netcode.Tick(6) // 200 ms.
	for name, act := range map[string]func(int) control{"running": run40, "standing": stand40} {
		// Ticks on the screen: median and 99th percentile. They include a round trip, half a tick of slack of the input
		// clock, and frames. The report of a tick may be lost. While entities move, packets have only state, and the time
		// of a repeat must pass.
		for loss, bound := range map[float64][2]netcode.Tick{0: {trip + 1, trip + 2}, .05: {trip + 4, 4 * trip}, .2: {2 * trip, 5 * trip}} {
			t.Run(fmt.Sprint(name, loss), func(t *testing.T) {
				var ages, answers []netcode.Tick
				for seed := range uint64(sized(2, 4)) {
					for _, one := range haunt(t, transport.Link{Delay: 100 * time.Millisecond, Loss: loss}, 62+seed, 20, act) {
						ages, answers = append(ages, one.age), append(answers, one.answered)
					}
				}
				slices.Sort(ages)
				slices.Sort(answers)
				n := len(ages)
				t.Logf("%d ghosts, out of sight after %d ticks at p50, %d at p99, %d at most; %d at most after the server's step; of a round trip of %d", n, ages[n/2], ages[n*99/100], ages[n-1], answers[n-1], trip)
				require.Greater(t, n, sized(20, 40))
				require.LessOrEqual(t, ages[n/2], bound[0])
				require.LessOrEqual(t, ages[n*99/100], bound[1])
				if loss == 0 { // The tick of a packet size probe has unknown completeness.
					require.LessOrEqual(t, answers[n*99/100], trip/2+2, "after the server's step: half a round trip, and the packet of the next tick")
				}
			})
		}
	}
}

// A lost spawn stays on the screen until its repeat. If the repeat is lost too, the same entity is hidden and shown
// again, without a misprediction.
func TestASpawnThatComesLateIsTheSameEntity(t *testing.T) {
	for _, again := range []bool{false, true} {
		g := newGame(t, transport.Link{Delay: 100 * time.Millisecond}, 64, 1, predict.Config{})
		p := g.players[0]
		p.act = still
		g.run(6 * rate)
		g.rules.mines, p.rules.mines = true, true // A moving entity is sent in each tick and needs no repeat.
		p.sim.OnUnspawn(func(e ecs.Entity) { t.Errorf("%v is removed", e) })
		p.act = func(*player) control { return control{Fire: true} }
		if again {
			p.act = func(*player) control { return control{X: 1, Fire: true} }
		}
		g.run(2)
		p.act = still
		bullets := func(w *ecs.World) (list []ecs.Entity) {
			for query := generic.NewFilter1[components.SpawnOf]().Query(w); query.Next(); {
				list = append(list, query.Entity())
			}
			return list
		}
		mine := bullets(p.world)
		require.Len(t, mine, 1)
		origins := generic.NewMap1[components.SpawnOf](p.world)
		for born := tick.Near(origins.Get(mine[0]).Tick, p.sim.Tick()); g.server.Tick() < born-1; {
			g.frame()
		}
		g.run(1)
		sprites, at := generic.NewMap1[sprite](p.world), ecs.ComponentID[position](p.world)
		sprites.Assign(mine[0], &sprite{7})
		hidden := false
		for frame := range 2 * rate {
			link := transport.Link{Delay: 100 * time.Millisecond}
			if frame < 2 || again && frame >= 14 && frame < 28 {
				link.Loss = 1
			}
			g.links[1].SetLink(link)
			g.frame()
			hidden = hidden || !ecs.Has(p.world, mine[0], at)
		}
		require.Equal(t, again, hidden)
		require.Equal(t, mine, bullets(p.world))
		require.True(t, ecs.Has(p.world, mine[0], at))
		require.Equal(t, 7, sprites.Get(mine[0]).Number)
		require.Zero(t, p.sim.Stats().Mispredictions, p.wrong)
		g.heal()
	}
}

// A body whose systems move it by less than a quantisation step rests: the server sends no record and reports that it
// rests.
func TestABodyThatCreepsIsCorrected(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 60 * time.Millisecond}, 63, 1, predict.Config{})
	p := g.players[0]
	p.act = still
	g.rules.wind, p.rules.wind = .004, .004 // In steps of 0.01 metres.
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
