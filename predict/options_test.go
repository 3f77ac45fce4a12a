package predict_test

import (
	"math"
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

// newGameWith is a game of one player with options of position.
func newGameWith(t *testing.T, config predict.Config, options ...predict.Option) (*game, *player) {
	p := newProtocol(options...)
	g := newGameOf(t, p, transport.Link{Delay: 100 * time.Millisecond}, 81, config, nil)
	one := g.join(p, config)
	one.act = still
	g.run(5 * rate)
	return g, one
}

// A difference below the tolerance of a component is no misprediction, and nothing goes back. A larger one is corrected, wholly.
func TestADifferenceBelowTheToleranceIsNoMisprediction(t *testing.T) {
	for _, tolerance := range []float64{0, .1} {
		g, p := newGameWith(t, predict.Config{}, predict.Tolerance(tolerance))
		there, here := generic.NewMap1[position](g.world), generic.NewMap1[position](p.world)
		off := func(wind float32) float64 { // Of the client, whose body gets a push that the server's does not.
			p.rules.wind = wind
			g.run(2)
			p.rules.wind = 0
			g.run(rate)
			return math.Abs(float64(here.Get(p.body(g)).X - there.Get(g.bodies[p.client.ID()]).X))
		}
		before := p.sim.Stats()
		if small := off(.03); tolerance == 0 {
			require.Zero(t, small)
			require.NotEqual(t, before.Mispredictions, p.sim.Stats().Mispredictions)
		} else {
			require.InDelta(t, .03, small, .02)
			require.Equal(t, before.Mispredictions, p.sim.Stats().Mispredictions, p.wrong)
			require.Equal(t, before.Rollbacks, p.sim.Stats().Rollbacks)
		}
		before = p.sim.Stats()
		require.Zero(t, off(1))
		require.NotEqual(t, before.Mispredictions, p.sim.Stats().Mispredictions)
		g.heal()
	}
}

// Without an option the server goes on with what travels, and the same code gives the same. With Unrounded it keeps what is between two steps: without
// a tolerance that is mispredicted.
func TestUnroundedKeepsWhatDoesNotTravel(t *testing.T) {
	for _, c := range []struct {
		options         []predict.Option
		between, misses bool
	}{
		{}, {[]predict.Option{predict.Unrounded()}, true, true}, {[]predict.Option{predict.Unrounded(), predict.Tolerance(.05)}, true, false},
	} {
		g, protocol := newEmptyGame(t, transport.Link{Delay: 100 * time.Millisecond}, 81), newProtocol(c.options...)
		g.entered = func(w *ecs.World, e ecs.Entity) {
			(*position)(ecs.Get(w, e, ecs.ComponentID[position](w))).X += .004 // Its client gets a rounded value first.
		}
		socket, begins := g.openServer(protocol), 0.
		g.group = systems.NewServer(g.server, socket, g.clock)
		bodies := generic.NewFilter2[components.Simulate, position]()
		g.sim = predict.Simulate(g.group, predict.Config{}, predict.Func(func(s *predict.Step) {
			for query := bodies.Query(s.World); query.Next(); {
				_, at := query.Get()
				steps := float64(at.X) / .01
				begins = max(begins, math.Abs(steps-math.Round(steps)))
			}
		}), g.rules)
		g.loop = systems.NewRunner(g.world, g.group, rate)
		p := g.joinWith(protocol, predict.Config{}, &calm{}, nil)
		p.act = func(p *player) control { w := wander(p); w.Fire = false; return w }
		g.run(10 * rate)
		require.Equal(t, c.between, begins > .1, "%v of a step", begins)
		require.Equal(t, c.misses, p.sim.Stats().Mispredictions > 0, "%v", p.wrong)
	}
}

// A correction of the distance of Snap or more is a jump on the screen, a shorter one is shown bit by bit.
func TestACorrectionBeyondSnapIsAJump(t *testing.T) {
	for _, c := range []struct {
		options []predict.Option
		jumps   bool
	}{{nil, false}, {[]predict.Option{predict.Snap(10)}, true}, {[]predict.Option{predict.Snap(30)}, false}} {
		g, p := newGameWith(t, predict.Config{CorrectionTime: 500 * time.Millisecond}, c.options...)
		there, shown := generic.NewMap1[position](g.world), generic.NewMap1[components.Smooth[position]](p.world)
		there.Get(g.bodies[p.client.ID()]).X += 20
		last, most, moved := shown.Get(p.body(g)).Value.X, 0., 0.
		for range 2 * rate {
			g.frame()
			now := shown.Get(p.body(g)).Value.X
			most, moved, last = max(most, math.Abs(float64(now-last))), moved+float64(now-last), now
		}
		require.InDelta(t, 20, moved, .1)
		require.Equal(t, c.jumps, most > 15, "%v in a frame", most)
		require.True(t, c.jumps || most < 2, "%v in a frame", most)
	}
}

// draws is a system that notes the numbers of each tick and entity.
type draws struct {
	filter *generic.Filter2[components.Simulate, components.Replicated]
	drawn  map[netcode.Tick]map[netcode.NetworkID]uint64
	again  int // Replays that drew the same.
	t      *testing.T
}

func newDraws(t *testing.T) *draws {
	return &draws{generic.NewFilter2[components.Simulate, components.Replicated](), map[netcode.Tick]map[netcode.NetworkID]uint64{}, 0, t}
}

func (d *draws) Step(s *predict.Step) {
	require.Equal(d.t, !s.First, s.Replaying())
	if d.drawn[s.Tick] == nil {
		d.drawn[s.Tick] = map[netcode.NetworkID]uint64{}
	}
	for query := d.filter.Query(s.World); query.Next(); {
		_, r := query.Get()
		if r.ID.IsZero() {
			continue
		}
		drawn := s.Rand(query.Entity()).Uint64()
		if before, known := d.drawn[s.Tick][r.ID]; known {
			require.Equal(d.t, before, drawn)
			require.True(d.t, s.Replaying())
			d.again++
		}
		d.drawn[s.Tick][r.ID] = drawn
	}
}

// The numbers of Step.Rand are a function of tick and entity: the same on both ends and in replays, and others for each tick and entity.
func TestRandIsAFunctionOfTickAndEntity(t *testing.T) {
	p, g := newProtocol(), newEmptyGame(t, transport.Link{Delay: 80 * time.Millisecond, Loss: .1}, 82)
	socket := g.openServer(p)
	g.group = systems.NewServer(g.server, socket, g.clock)
	there, here := newDraws(t), newDraws(t)
	g.sim = predict.Simulate(g.group, predict.Config{Seed: 7}, g.rules, there)
	g.loop = systems.NewRunner(g.world, g.group, rate)
	one := g.joinWith(p, predict.Config{Seed: 7}, nil, here)
	one.act = wander
	g.run(10 * rate)
	g.rules.wind = .1 // Each tick is replayed.
	g.run(5 * rate)
	compared, seen := 0, map[uint64]bool{}
	for at, entities := range here.drawn {
		for id, drawn := range entities {
			if truth, known := there.drawn[at][id]; known {
				require.Equal(t, truth, drawn, "tick %d, entity %v", at, id)
				require.False(t, seen[drawn], "tick %d, entity %v", at, id)
				seen[drawn] = true
				compared++
			}
		}
	}
	require.Greater(t, compared, 6*rate)
	require.Greater(t, here.again, rate)
	g.rules.wind = 0
}

// An entity that a client despawned wrongly is not shown, and is there again, the same one, when the server says so.
func TestAWrongDespawnComesBack(t *testing.T) {
	g := newEmptyGame(t, transport.Link{Delay: 100 * time.Millisecond}, 9)
	protocol := newProtocol()
	socket := g.openServer(protocol)
	g.group = systems.NewServer(g.server, socket, g.clock)
	g.sim = predict.Simulate(g.group, predict.Config{}, g.rules)
	g.loop = systems.NewRunner(g.world, g.group, rate)
	shells := generic.NewFilter2[components.Simulate, components.SpawnOf]()
	p := g.joinWith(protocol, predict.Config{}, nil, predict.Func(func(s *predict.Step) {
		var old ecs.Entity
		for query := shells.Query(s.World); query.Next(); {
			if _, origin := query.Get(); s.Tick.Low()-origin.Tick == 20 {
				old = query.Entity()
			}
		}
		if !old.IsZero() {
			s.Despawn(old)
		}
	}))
	p.act = still
	g.run(4 * rate)
	fired := false
	p.act = func(*player) control { fire := !fired; fired = true; return control{Fire: fire} }
	sprites, at := generic.NewMap1[sprite](p.world), ecs.ComponentID[position](p.world)
	var shell ecs.Entity
	var left, back netcode.Tick
	for range 2 * rate {
		g.frame()
		for query := generic.NewFilter2[components.SpawnOf, position]().Query(p.world); query.Next(); {
			shell = query.Entity()
		}
		switch {
		case shell.IsZero():
		case !ecs.Has(p.world, shell, ecs.ComponentID[sprite](p.world)):
			sprites.Assign(shell, &sprite{3})
		case !ecs.Has(p.world, shell, at) && left == 0:
			left = p.sim.Tick()
		case ecs.Has(p.world, shell, at) && left > 0 && back == 0:
			back = p.sim.Tick()
		}
	}
	require.NotZero(t, left)
	require.NotZero(t, back)
	require.LessOrEqual(t, back-left, netcode.Tick(6+2), "a round trip and two ticks")
	require.Equal(t, sprite{3}, *sprites.Get(shell))
	require.NotEmpty(t, p.wrong)
	require.Equal(t, "", p.wrong[0].Component)
	require.EqualValues(t, 1, p.wrong[0].True)
}

// The shown value moves over little by little when a client begins to predict an entity that moves.
func TestTheBeginOfAPredictionIsNoJump(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 100 * time.Millisecond}, 84, 1, predict.Config{CorrectionTime: 300 * time.Millisecond})
	p := g.players[0]
	p.act = still
	const speed = 6. / rate // Of a frame.
	crate := addCrate(g, 6)
	g.run(3 * rate)
	id, _ := g.group.ID(crate)
	e, _ := p.group.Entity(id)
	shown, there := generic.NewMap1[components.Smooth[position]](p.world), generic.NewMap1[position](g.world)
	last, most := shown.Get(e).Value.X, 0.
	behind := float64(there.Get(crate).X - last)
	p.sim.Predict(id, true)
	for range rate {
		g.frame()
		now := shown.Get(e).Value.X
		most, last = max(most, math.Abs(float64(now-last))), now
	}
	ahead := float64(last - there.Get(crate).X)
	require.Greater(t, ahead+behind, 5*speed, "it is shown in the future: %v and %v", ahead, behind)
	require.Less(t, most, speed+2*(ahead+behind)/18, "of %v in 18 frames", ahead+behind)
}

func TestConfigsAreChecked(t *testing.T) {
	for text, config := range map[string]predict.Config{
		"netcode: predict.Simulate: Config.InputDelay is 0 to 8, not 9":      {InputDelay: 9},
		"netcode: predict.Simulate: Config.InputDelay is 0 to 8, not -1":     {InputDelay: -1},
		"netcode: predict.Simulate: Config.MaxReplay is not negative, as -1": {MaxReplay: -1},
	} {
		g := newEmptyGame(t, transport.Link{}, 1)
		group := systems.NewServer(g.server, g.openServer(newProtocol()), g.clock)
		require.PanicsWithValue(t, text, func() { predict.Simulate(group, config, &mover{}) })
	}
}
