package predict_test

import (
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

func still(*player) control { return control{} }

// addCrate makes an entity without an owner.
func addCrate(g *game, speed float32) ecs.Entity {
	maker := generic.NewMap3[components.Replicated, position, velocity](g.world)
	return maker.NewWith(&components.Replicated{}, &position{X: 7}, &velocity{X: speed})
}

// requireCorrected makes a client's prediction of a standing crate wrong for ten frames.
func (p *player) requireCorrected(g *game, crate netcode.NetworkID) {
	p.rules.wind = .1
	g.run(10)
	p.rules.wind = 0
	g.run(5 * rate)
	e, _ := p.group.Entity(crate)
	at := generic.NewMap1[position](p.world)
	require.InDelta(g.t, 7, float64(at.Get(e).X), .02, "%+v", p.sim.Stats())
}

// An entity that the client chose is corrected, though it rests at the server.
func TestAChosenEntityThatRestsIsCorrected(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 100 * time.Millisecond}, 3, 1, predict.Config{})
	p := g.players[0]
	p.act = still
	crate := addCrate(g, 0)
	g.run(5 * rate)
	id, _ := g.group.ID(crate)
	p.sim.Predict(id, true)
	g.run(rate)
	require.True(t, p.sim.Predicts(id))
	p.requireCorrected(g, id)
	g.heal()
}

// A late press moves a shot to a later tick. Its shell exists once, whether the server's or the client's own shell is
// first.
func TestASpawnIsThereOnce(t *testing.T) {
	for _, seed := range []uint64{0, 9, 10, 11} { // With these seeds the server's shell is first.
		g := newGame(t, transport.Link{Delay: 100 * time.Millisecond, Jitter: time.Duration(seed%6) * 20 * time.Millisecond, Loss: .2}, 100+seed, 2, predict.Config{})
		for _, p := range g.players {
			p.act = func(p *player) control { c := wander(p); c.Fire = p.random.IntN(6) == 0; return c }
		}
		corrected := uint64(0)
		for range sized(20, 60) * rate {
			g.frame()
			for _, p := range g.players {
				shells := map[components.SpawnOf]int{}
				for query := generic.NewFilter1[components.SpawnOf]().Query(p.world); query.Next(); {
					shells[*query.Get()]++
				}
				for origin, n := range shells {
					require.Equal(t, 1, n, "seed %d: %+v", seed, origin)
				}
				corrected = max(corrected, p.sim.Stats().Corrected)
			}
		}
		require.NotZero(t, corrected)
		g.heal()
	}
}

// fuse despawns shells after some ticks.
type fuse struct {
	ticks  uint16
	filter *generic.Filter2[components.Simulate, components.SpawnOf]
	list   []ecs.Entity
}

func (f *fuse) Step(s *predict.Step) {
	if f.filter == nil {
		f.filter = generic.NewFilter2[components.Simulate, components.SpawnOf]()
	}
	f.list = f.list[:0]
	for query := f.filter.Query(s.World); query.Next(); {
		if _, origin := query.Get(); s.Tick.Low()-origin.Tick >= f.ticks {
			f.list = append(f.list, query.Entity())
		}
	}
	for _, e := range f.list {
		s.Despawn(e)
	}
}

// newFusedGame is a game of one player, in which shells despawn after a number of ticks, which may differ at the client.
func newFusedGame(t *testing.T, loss float64, server, client uint16) (*game, *player) {
	g := newEmptyGame(t, transport.Link{Delay: 100 * time.Millisecond, Loss: loss}, 9)
	protocol := newProtocol()
	predict.Explain(protocol)
	socket := g.openServer(protocol)
	g.group = systems.NewServer(g.server, socket, g.clock)
	g.sim = predict.Simulate(g.group, predict.Config{}, g.rules, &fuse{ticks: server})
	g.loop = systems.NewRunner(g.world, g.group, rate)
	return g, g.joinWith(protocol, predict.Config{}, nil, &fuse{ticks: client})
}

// An entity that a step despawned is not shown while the server still has it.
func TestADespawnedEntityIsNotShown(t *testing.T) {
	g, p := newFusedGame(t, .2, 4, 4)
	n, seen := 0, 0
	p.act = func(*player) control { n++; return control{X: .5, Fire: n%60 == 0} }
	simulate := ecs.ComponentID[components.Simulate](p.world)
	for range 10 * rate {
		g.frame()
		for query := generic.NewFilter2[components.SpawnOf, components.Smooth[position]]().Query(p.world); query.Next(); seen++ {
			require.True(t, ecs.Has(p.world, query.Entity(), simulate))
		}
	}
	require.NotZero(t, seen)
	g.heal()
}

// A despawn on the client alone is explained by the system that despawned.
func TestAWrongDespawnIsExplained(t *testing.T) {
	g, p := newFusedGame(t, 0, 10000, 30)
	n := 0
	named := map[string]int{}
	p.sim.OnExplanation(func(e predict.Explanation) { named[e.System]++ })
	p.act = func(*player) control { n++; return control{X: .5, Fire: n%120 == 0} }
	g.run(10 * rate)
	require.NotZero(t, named["system 1, *predict_test.fuse"], "%v", named)
	delete(named, "") // Its shell had no network id here in the tick of the despawn.
	require.Len(t, named, 1)
}

// Local state is removed when the prediction of an entity begins, and after a hang beyond the window, until the server's
// answer.
func TestLocalStateBeginsAnew(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 100 * time.Millisecond}, 22, 1, predict.Config{})
	p := g.players[0]
	p.act = func(*player) control { return control{X: .5, Fire: true} }
	g.run(5 * rate)
	id, _ := g.group.ID(g.bodies[p.client.ID()])
	cools := generic.NewMap1[cooldown](p.world)
	cools.Get(p.body(g)).Ticks = 1000 // As if a shot had just been fired.
	p.sim.Predict(id, false)
	g.run(rate)
	p.sim.Predict(id, true)
	g.run(3)
	require.Less(t, cools.Get(p.body(g)).Ticks, int32(11))
	g.run(rate)
	cools.Get(p.body(g)).Ticks = 1000
	p.skip = 8 * rate
	for p.sim.Stats().Restarts == 0 {
		g.frame()
	}
	require.Less(t, cools.Get(p.body(g)).Ticks, int32(11))
}

// Each change of a choice is sent to the server once. A choice of an ended lifetime hides no later lifetime.
func TestChoicesAreToldOnce(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 50 * time.Millisecond}, 3, 1, predict.Config{})
	p := g.players[0]
	p.act = still
	first := addCrate(g, 0)
	g.run(3 * rate)
	id, _ := g.group.ID(first)
	before := g.server.Stats().Messages.Handled
	for range 20 {
		p.sim.Predict(id, true)
		g.run(2)
	}
	g.run(rate)
	require.EqualValues(t, 1, g.server.Stats().Messages.Handled-before)
	g.world.RemoveEntity(first)
	g.run(3 * rate)
	next := addCrate(g, 0)
	g.run(3 * rate)
	again, _ := g.group.ID(next)
	require.Equal(t, id.Index, again.Index)
	p.sim.Predict(again, true)
	g.run(rate)
	p.requireCorrected(g, again)
}

func TestTextsOfMispredictions(t *testing.T) {
	id := netcode.NetworkID{Index: 3, Generation: 1}
	for text, m := range map[string]predict.Misprediction{
		"tick 4, entity 3v1: heat is there at the server, not predicted": {Tick: 4, ID: id, Component: "heat", True: 1},
		"tick 4, entity 3v1: heat is predicted, not there at the server": {Tick: 4, ID: id, Component: "heat", Predicted: 1},
		"tick 4: entity 3v1 is predicted, not there at the server":       {Tick: 4, ID: id, Predicted: 1},
		"tick 4, entity 3v1: position.X is 1.5, predicted 2":             {Tick: 4, ID: id, Component: "position", Field: "X", True: 1.5, Predicted: 2},
	} {
		require.Equal(t, text, m.String())
	}
}

func TestAnEndHasOneSimulation(t *testing.T) {
	g := newEmptyGame(t, transport.Link{}, 1)
	socket := g.openServer(newProtocol())
	group := systems.NewServer(g.server, socket, g.clock)
	predict.Simulate(group, predict.Config{}, &mover{})
	require.PanicsWithValue(t, "netcode: predict.Simulate: this end has a simulation: give all systems to one call", func() { predict.Simulate(group, predict.Config{}, &mover{}) })
}
