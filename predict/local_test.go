package predict_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/transport"
)

// cooldowns records the cooldown of an entity after each step.
func cooldowns(sim *predict.Simulation, w *ecs.World, e func() ecs.Entity) func() map[netcode.Tick]int32 {
	log, cools := map[netcode.Tick]int32{}, generic.NewMap1[cooldown](w)
	return func() map[netcode.Tick]int32 {
		if body := e(); w.Alive(body) && ecs.Has(w, body, ecs.ComponentID[cooldown](w)) {
			log[sim.Tick()] = cools.Get(body).Ticks
		}
		return log
	}
}

// resync plays a game in which the server alone makes a cooldown long, and compares both ends at the end.
func resync(t *testing.T, link transport.Link, before, cut, after func(g *game, p *player, id netcode.NetworkID)) {
	g := newGame(t, link, 41, 1, predict.Config{})
	p := g.players[0]
	p.act = func(p *player) control { c := wander(p); c.Fire = true; return c }
	g.run(5 * rate)
	body := g.bodies[p.client.ID()]
	id, _ := g.group.ID(body)
	theirs := cooldowns(g.sim, g.world, func() ecs.Entity { return body })
	before(g, p, id)
	jam := generic.NewMap1[cooldown](g.world)
	jam.Get(body).Ticks = 1000 // The gun jams.
	cut(g, p, id)
	after(g, p, id)
	for range 2 * rate {
		g.frame()
		theirs()
	}
	ours := cooldowns(p.sim, p.world, func() ecs.Entity { return p.body(g) })
	for range 2 * rate {
		g.frame()
		ours()
		theirs()
	}
	mine := ours()
	for range rate {
		g.frame()
		theirs()
	}
	compared := 0
	for at, ticks := range mine {
		if truth, known := theirs()[at]; known {
			require.Equal(t, truth, ticks, "tick %d", at)
			require.Greater(t, ticks, int32(100))
			compared++
		}
	}
	require.Greater(t, compared, rate/2)
	g.heal()
}

// Local state comes from the server after a hang, when the prediction of an entity begins again, and after a
// misprediction.
func TestLocalStateComesFromTheServer(t *testing.T) {
	nothing := func(*game, *player, netcode.NetworkID) {}
	for name, loss := range map[string]float64{"no loss": 0, "loss": .3} {
		link := transport.Link{Delay: 100 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: loss}
		t.Run(name+", hang", func(t *testing.T) {
			resync(t, link, nothing, func(g *game, p *player, _ netcode.NetworkID) {
				p.skip = 8 * rate
				g.run(8 * rate)
			}, func(g *game, p *player, _ netcode.NetworkID) {
				g.run(2 * rate)
				require.NotZero(t, p.sim.Stats().Restarts)
				require.NotZero(t, p.sim.Stats().Resynced)
			})
		})
		t.Run(name+", off and on", func(t *testing.T) {
			resync(t, link, func(g *game, p *player, id netcode.NetworkID) {
				p.sim.Predict(id, false)
				g.run(rate)
			}, nothing, func(g *game, p *player, id netcode.NetworkID) {
				p.sim.Predict(id, true)
				g.run(2 * rate)
				require.NotZero(t, p.sim.Stats().Resynced)
			})
		})
		t.Run(name+", misprediction", func(t *testing.T) {
			resync(t, link, nothing, nothing, func(g *game, p *player, id netcode.NetworkID) {
				g.rules.wind = .3 // A misprediction of another component. Unconfirmed spawns are none.
				g.run(2)
				g.rules.wind = 0
				g.run(2 * rate)
				require.NotZero(t, p.sim.Stats().Resynced)
			})
		})
	}
}

// An answer about local state is applied in every later replay of its tick.
func TestLocalStateStaysThroughAReplay(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 100 * time.Millisecond}, 44, 1, predict.Config{})
	p := g.players[0]
	p.act = func(p *player) control { c := wander(p); c.Fire = true; return c }
	g.run(5 * rate)
	jam := generic.NewMap1[cooldown](g.world)
	jam.Get(g.bodies[p.client.ID()]).Ticks = 1000 // The gun jams.
	g.rules.wind = .3                             // A misprediction of another component makes the client ask.
	g.run(2)
	g.rules.wind = 0
	for frame := 0; p.sim.Stats().Resynced == 0; frame++ {
		require.Less(t, frame, 2*rate)
		g.frame()
	}
	cools := generic.NewMap1[cooldown](p.world)
	jammed := cools.Get(p.body(g)).Ticks
	require.Greater(t, jammed, int32(900))
	for range 5 {
		predict.GoBack(p.sim, 30) // To a tick in which the client believed that the gun fires.
		require.Equal(t, jammed, cools.Get(p.body(g)).Ticks)
	}
	g.heal()
}

// A client that becomes the owner has the local state of the owner before.
func TestANewOwnerHasTheLocalState(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 80 * time.Millisecond, Loss: .1}, 42, 2, predict.Config{})
	g.run(3 * rate)
	a, b := g.players[0], g.players[1]
	for _, p := range g.players {
		p.act = wander
	}
	g.run(2 * rate)
	body := g.bodies[a.client.ID()]
	id, _ := g.group.ID(body)
	cools := generic.NewMap1[cooldown](g.world)
	cools.Get(body).Ticks = 1000
	owners, hers := generic.NewMap1[components.Owner](g.world), generic.NewMap1[cooldown](b.world)
	owners.Get(body).Client = b.client.ID()
	g.run(2 * rate)
	require.True(t, b.sim.Predicts(id))
	e, _ := b.group.Entity(id)
	there := cools.Get(body).Ticks
	here := hers.Get(e).Ticks
	require.InDelta(t, float64(there), float64(here), 40, "it is some ticks ahead")
	require.Greater(t, here, int32(500))
	g.heal()
}

// The server does not answer for other players' entities, hidden entities and entities that do not exist.
func TestLocalStateOfOthersIsNotTold(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 20 * time.Millisecond}, 43, 2, predict.Config{})
	g.run(3 * rate)
	a, b := g.players[0], g.players[1]
	mine, _ := g.group.ID(g.bodies[a.client.ID()])
	theirs, _ := g.group.ID(g.bodies[b.client.ID()])
	a.act = wander
	g.run(rate)
	ask := func(ids ...netcode.NetworkID) (answer []byte) {
		asked := false
		a.act = func(*player) control {
			if !asked { // A call must be made in a frame.
				asked = true
				require.NoError(t, predict.AskLocals(a.client, ids, func(data []byte, err error) {
					require.NoError(t, err)
					answer = bytes.Clone(data)
				}))
			}
			return control{}
		}
		g.run(rate)
		return answer
	}
	require.Equal(t, []byte{1, 1}, ask(mine)[:2])
	require.Equal(t, []byte{0, 0}, ask(theirs, netcode.NetworkID{Index: 999, Generation: 1}))
	a.sim.Predict(theirs, true)
	g.run(rate)
	require.Equal(t, []byte{0}, ask(theirs), "its own choice does not let it look")
	g.server.Hide(a.client.ID(), mine)
	g.run(rate)
	require.Equal(t, []byte{0}, ask(mine))
}

type notPlain struct{ Count int }

func TestLocalComponentsArePlainData(t *testing.T) {
	require.PanicsWithValue(t, "netcode: predict.Local[predict_test.notPlain]: wire: notPlain.Count: int has another size on other platforms; use a sized integer such as int32",
		func() { predict.Local[notPlain](netcode.NewProtocol()) })
	require.PanicsWithValue(t, "netcode: predict.Local[predict_test.tooLarge]: an entity has at most 512 bytes of local components, not 516",
		func() { predict.Local[tooLarge](netcode.NewProtocol()) })
}

type tooLarge struct{ Words [129]uint32 }
