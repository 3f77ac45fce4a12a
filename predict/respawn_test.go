package predict_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// A replay spawns an entity as its step did: what the step added is gone, so that it adds it anew. What the game hung on it outside of steps stays.
func TestAReplaySpawnsTheEntityAsItWas(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 75 * time.Millisecond, Loss: .1}, 71, 1, predict.Config{})
	p := g.players[0]
	again, seen := 0, map[ecs.Entity]bool{}
	arm := func(w *ecs.World, bullet ecs.Entity) {
		one := generic.NewMap1[damage](w)
		one.Assign(bullet, &damage{5})
	}
	g.rules.adds = arm
	p.rules.adds = func(w *ecs.World, bullet ecs.Entity) {
		if seen[bullet] {
			again++
			require.True(t, ecs.Has(w, bullet, ecs.ComponentID[sprite](w)))
		}
		arm(w, bullet)
	}
	p.act = wander
	bullets, sprites := generic.NewFilter1[components.SpawnOf]().Without(generic.T1[sprite]()...), generic.NewMap1[sprite](p.world)
	damages := generic.NewMap1[damage](p.world)
	for frame := range 20 * rate {
		g.rules.wind = float32(frame%20/18) / 2 // A misprediction now and then.
		g.frame()
		var list []ecs.Entity
		for query := bullets.Query(p.world); query.Next(); {
			list = append(list, query.Entity())
		}
		for _, e := range list {
			sprites.Assign(e, &sprite{7})
			seen[e] = true
			damages.Get(e).Points = 3
		}
	}
	require.NotZero(t, again, "a replay spawned one that was there")
	g.rules.wind = 0
	g.heal()
}

// A replicated component that a step gives a spawn must be predicted: the server's would be there before a replay adds it.
func TestASpawnHasNoReplicatedComponentThatIsNotPredicted(t *testing.T) {
	p := newProtocol()
	netcode.Replicate[damage2](p)
	g := newGameOf(t, p, transport.Link{Delay: 20 * time.Millisecond}, 72, predict.Config{}, nil)
	one := g.join(p, predict.Config{})
	one.rules.adds = func(w *ecs.World, bullet ecs.Entity) {
		one := generic.NewMap1[damage2](w)
		one.Assign(bullet, &damage2{5})
	}
	one.act = func(*player) control { return control{X: 1, Fire: true} }
	require.PanicsWithValue(t, "netcode: predict: a step gave an entity of Step.Spawn the component predict_test.damage2, which is replicated and not predicted: "+
		"call predict.Register[damage2](protocol) on both sides, or add it at the server alone (Step.OnServer)", func() { g.run(4 * rate) })
}

// damage2 is replicated.
type damage2 struct{ Points uint16 }

// A server without a simulation is told of it, once, when a client gives inputs.
func TestAServerWithoutASimulationIsTold(t *testing.T) {
	p := newProtocol()
	g := newEmptyGame(t, transport.Link{}, 73)
	g.faulty = true
	socket := g.openServer(p)
	g.group = systems.NewServer(g.server, socket, g.clock)
	g.loop = systems.NewRunner(g.world, g.group, rate)
	g.join(p, predict.Config{})
	g.run(2 * rate)
	require.Empty(t, g.faults, "nobody gives inputs")
	g.players[0].act = wander
	g.run(2 * rate)
	require.Len(t, g.faults, 1)
	require.ErrorContains(t, errors.Join(g.faults...), "netcode: predict.Register[predict_test.position]: clients give inputs, and this server has no simulation: "+
		"call predict.Simulate with its systems too, or remove predict.Register")
}
