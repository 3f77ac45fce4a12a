package predict_test

import (
	"encoding/binary"
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

// A client that never sets an input is simulated without one: once it has begun, nothing goes back.
func TestAClientWithoutInputsNeverGoesBack(t *testing.T) {
	for _, link := range []transport.Link{{}, {Delay: 100 * time.Millisecond}, {Delay: 150 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: .2}} {
		g := newGame(t, link, 4, 2, predict.Config{})
		p := g.players[0]
		g.players[1].act = wander
		g.run(4 * rate)
		before := p.sim.Stats()
		g.run(20 * rate)
		after := p.sim.Stats()
		require.Greater(t, after.Steps, before.Steps)
		require.Equal(t, before.Rollbacks, after.Rollbacks, "%v: %+v, then %+v", link, before, after)
		require.Zero(t, after.Mispredictions, p.wrong)
	}
}

// In ten minutes at a round trip of 300 ms and a loss of 20 % there is no misprediction, and no spawn is lost.
func TestNothingIsMispredictedWhereNobodyInterferes(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 150 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: .2}, 3, 1, predict.Config{})
	p := g.players[0]
	p.act = wander
	g.run(sized(2, 10) * 60 * rate)
	t.Logf("%+v", p.sim.Stats())
	for _, m := range p.wrong[:min(len(p.wrong), 10)] {
		t.Log(m)
	}
	require.Zero(t, p.sim.Stats().Mispredictions)
	require.Zero(t, p.sim.Stats().Unconfirmed)
	g.heal()
}

// An obstacle that only the server knows stops the player there, or wind blows there alone.
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

// A client that hangs, or is slow, replays a bounded number of ticks and ends with the server's state.
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
		require.NotZero(t, p.sim.Stats().Postponed)
	}
	g.heal()
}

// Code that runs before the simulation sees the values that the last frame has shown, and no past of the entity.
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
		if e := p.body(g); !e.IsZero() && ecs.Has(p.world, e, ecs.ComponentID[components.Smooth[position]](p.world)) {
			shown = shows.Get(e).Value.X
		}
	}
	require.Greater(t, frames, rate)
}

// Each effect is played once, and effects that were played wrongly are cancelled. In the end the played effects are the
// server's.
func TestEffectsAreHeardOnce(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 150 * time.Millisecond, Jitter: 30 * time.Millisecond, Loss: .55}, 5, 1, predict.Config{})
	truth := map[netcode.Tick]int{}
	g.sim.OnEffect(func(e predict.Effect) { truth[e.Tick]++ })
	p := g.players[0]
	heard := map[netcode.Tick]int{}
	p.sim.OnEffect(func(e predict.Effect) {
		heard[e.Tick]++
		require.Equal(t, 1, heard[e.Tick], "a replay plays it again")
		require.LessOrEqual(t, e.Tick+e.Age, p.client.Time().Tick)
	})
	p.sim.OnCancel(func(e predict.Effect) { heard[e.Tick]-- })
	p.act = wander
	g.run(60 * rate)
	g.heal()
	for at, n := range heard {
		if n == 0 {
			delete(heard, at)
		}
	}
	require.Equal(t, truth, heard)
	require.NotEmpty(t, truth)
	stats := p.sim.Stats()
	t.Logf("%+v", stats)
	require.NotZero(t, stats.Replayed)
	require.NotZero(t, stats.Cancelled, "no press came too late for its tick: the test shows nothing")
	require.NotZero(t, stats.Late)
}

// A spawned entity remains the same entity when the server's record arrives: components that the game added stay.
func TestASpawnStaysTheSameEntity(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 100 * time.Millisecond, Loss: .1}, 6, 1, predict.Config{})
	p := g.players[0]
	p.act = func(*player) control { return control{} }
	g.run(3 * rate)
	fired := false
	p.act = func(*player) control { fire := !fired; fired = true; return control{X: 1, Fire: fire} }
	var bullet ecs.Entity
	bullets := generic.NewFilter2[components.SpawnOf, position]()
	for range 10 {
		g.frame()
		for query := bullets.Query(p.world); query.Next(); {
			bullet = query.Entity()
		}
	}
	require.False(t, bullet.IsZero(), "it is there at once")
	_, confirmed := p.group.ID(bullet)
	require.False(t, confirmed)
	sprites := generic.NewMap1[sprite](p.world)
	sprites.Assign(bullet, &sprite{42})
	g.run(rate)
	id, confirmed := p.group.ID(bullet)
	require.True(t, confirmed)
	require.True(t, g.server.Has(id))
	require.Equal(t, sprite{42}, *sprites.Get(bullet))
	require.Zero(t, p.sim.Stats().Mispredictions, p.wrong)
	g.run(4 * rate)
	require.False(t, p.world.Alive(bullet), "it flew away")
	g.heal()
}

// A spawn that the server does not make is removed, and the game is told.
func TestASpawnThatTheServerDoesNotMakeGoes(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 100 * time.Millisecond}, 6, 1, predict.Config{})
	p := g.players[0]
	p.act = func(*player) control { return control{} }
	g.run(3 * rate)
	p.rules.always = true
	gone := 0
	p.sim.OnUnspawn(func(ecs.Entity) { gone++ })
	fired := false
	p.act = func(*player) control { fire := !fired; fired = true; return control{Fire: fire} }
	g.rules.never = true
	g.run(4 * rate)
	require.NotZero(t, gone)
	p.rules.always = false
	g.heal()
}

// A new owner predicts, and the owner before stops.
func TestAnOwnerPredicts(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 80 * time.Millisecond, Loss: .1}, 8, 2, predict.Config{})
	g.run(3 * rate)
	a, b := g.players[0], g.players[1]
	id, _ := g.group.ID(g.bodies[a.client.ID()])
	require.True(t, a.sim.Predicts(id))
	owners := generic.NewMap1[components.Owner](g.world)
	owners.Get(g.bodies[a.client.ID()]).Client = b.client.ID()
	g.run(2 * rate)
	require.False(t, a.sim.Predicts(id))
	require.True(t, b.sim.Predicts(id))
	g.server.Hide(b.client.ID(), id)
	g.run(2 * rate)
	require.False(t, b.sim.Predicts(id))
	g.server.Show(b.client.ID(), id)
	g.heal()
}

// A wall that only the server knows stops a player. The server sends no record of a resting entity, and the client learns
// that it rests.
func TestAWallThatOnlyTheServerKnowsStopsThePlayer(t *testing.T) {
	for _, loss := range []float64{0, .2} {
		g := newGame(t, transport.Link{Delay: 100 * time.Millisecond, Loss: loss}, 6, 1, predict.Config{})
		p := g.players[0]
		g.rules.wall, g.rules.cold, p.rules.cold = 10, true, true
		p.act = func(*player) control { return control{X: 1} }
		g.run(12 * rate)
		at := generic.NewMap1[position](p.world)
		for range 4 * rate {
			g.frame()
			require.LessOrEqual(t, at.Get(p.body(g)).X, float32(14), "it runs no farther than for a round trip")
		}
		require.NotZero(t, p.sim.Stats().Mispredictions)
		g.heal()
		require.EqualValues(t, 10, at.Get(p.body(g)).X)
	}
}

// With a round trip of a third of Window ticks nothing is lost, with frames that are cut too.
func TestALongRoundTrip(t *testing.T) {
	for _, delay := range []time.Duration{800 * time.Millisecond, 1200 * time.Millisecond} {
		g := newGame(t, transport.Link{}, 6, 1, predict.Config{MaxReplay: 64})
		p := g.players[0]
		p.act = wander
		g.run(rate)
		for _, l := range g.links {
			l.SetLink(transport.Link{Delay: delay})
		}
		g.run(20 * rate) // The input clock finds its lead.
		before := p.sim.Stats().Mispredictions
		for range 30 * rate {
			g.frame()
			if r := p.client.Replica(); r != nil {
				require.Less(t, p.sim.Tick(), r.NewestKnown()+predict.Window)
			}
		}
		require.Equal(t, before, p.sim.Stats().Mispredictions, p.wrong)
		g.rules.wind = 1
		g.run(10)
		g.rules.wind = 0
		g.run(10 * rate)
		require.Greater(t, p.sim.Stats().Mispredictions, before)
		g.heal()
	}
}

// score is a resource: state of the simulation outside of components.
type score struct{ shots uint32 }

func (s *score) Save(to []byte) []byte { return binary.LittleEndian.AppendUint32(to, s.shots) }
func (s *score) Load(from []byte)      { s.shots = binary.LittleEndian.Uint32(from) }

// A resource is rolled back with the entities. In the end it equals the server's.
func TestAResourceGoesBack(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 150 * time.Millisecond, Jitter: 30 * time.Millisecond, Loss: .55}, 5, 1, predict.Config{})
	p := g.players[0]
	mine, truth := &score{}, &score{}
	p.rules.score, g.rules.score = mine, truth
	p.sim.Keep(mine)
	g.sim.Keep(truth)
	p.act = wander
	g.run(60 * rate)
	g.heal()
	require.NotZero(t, truth.shots)
	require.NotZero(t, p.sim.Stats().Cancelled+p.sim.Stats().Late)
	require.Equal(t, truth.shots, mine.shots)
}

// Resting entities that do not fit one section follow in the next sections.
func TestManyRestingEntitiesAreAllTold(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 50 * time.Millisecond}, 17, 1, predict.Config{})
	p := g.players[0]
	p.act = func(*player) control { return control{} }
	balls := generic.NewMap4[components.Replicated, components.Predicted, position, velocity](g.world)
	for range 100 {
		balls.NewWith(&components.Replicated{}, &components.Predicted{}, &position{}, &velocity{})
	}
	g.run(3 * rate)
	p.rules.wind = .1 // At the client alone: each entity is mispredicted, and the client learns that it rests.
	g.run(5)
	p.rules.wind = 0
	g.run(2 * rate)
	g.heal()
}

// The step of a spawn goes to the owner alone: others have no use for it.
func TestTheStepOfASpawnGoesToItsOwnerAlone(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 50 * time.Millisecond, Loss: .1}, 6, 3, predict.Config{})
	for _, p := range g.players {
		p.act = wander
	}
	origins := generic.NewFilter1[components.SpawnOf]()
	own, named, foreign := 0, 0, 0
	for range 6 * rate {
		g.frame()
		for _, p := range g.players {
			for query := origins.Query(p.world); query.Next(); {
				require.Equal(t, p.client.ID(), query.Get().Client)
				if _, ok := p.group.ID(query.Entity()); ok {
					named++
				}
				own++
			}
			for query := generic.NewFilter2[components.Owner, position]().Without(generic.T[components.SpawnOf]()).Query(p.world); query.Next(); {
				if owner, _ := query.Get(); owner.Client != p.client.ID() {
					foreign++
				}
			}
		}
	}
	require.NotZero(t, own)
	require.NotZero(t, named, "the server's spawns have the owner's step")
	require.NotZero(t, foreign, "the others see them without it")
	g.heal()
}
