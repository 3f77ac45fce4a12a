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
	"github.com/arche-netcode/netcode/transport"
)

// A Rate does not delay entities that a client predicts, since it compares each tick. Other entities of the same kind
// keep their rate.
func TestARateDoesNotDelayWhatIsPredicted(t *testing.T) {
	p := newProtocol()
	g := newGameOf(t, p, transport.Link{Delay: 80 * time.Millisecond, Loss: .1}, 51, predict.Config{}, func(w *ecs.World, e ecs.Entity) {
		ecs.Exchange(w, e, []ecs.ID{ecs.ComponentID[components.Rate](w)}, nil, nil)
		(*components.Rate)(ecs.Get(w, e, ecs.ComponentID[components.Rate](w))).Every = 6
	})
	for range 2 {
		g.join(p, predict.Config{}).act = wander
	}
	g.run(20 * rate)
	for _, one := range g.players {
		require.Zero(t, one.sim.Stats().Mispredictions, one.wrong)
		require.Greater(t, one.sim.Stats().Steps, uint64(5*rate))
	}
	id := addSlowCrate(g)
	records := func(frames int) int { return g.players[0].countRecords(g, id, frames) }
	require.Less(t, records(2*rate), 2*rate/2/6, "nobody predicts it")
	g.players[0].sim.Predict(id, true)
	g.run(rate)
	require.Greater(t, records(2*rate), rate/2)
	require.Zero(t, g.players[0].sim.Stats().Mispredictions, g.players[0].wrong)
}

// addSlowCrate makes an entity without an owner that moves and is sent each tenth tick.
func addSlowCrate(g *game) netcode.NetworkID {
	crate := addCrate(g, 2)
	ecs.Exchange(g.world, crate, []ecs.ID{ecs.ComponentID[components.Rate](g.world)}, nil, nil)
	(*components.Rate)(ecs.Get(g.world, crate, ecs.ComponentID[components.Rate](g.world))).Every = 10
	g.run(rate)
	id, _ := g.group.ID(crate)
	return id
}

// countRecords counts the records of an entity that arrive in some frames.
func (p *player) countRecords(g *game, id netcode.NetworkID, frames int) (n int) {
	seen, _ := p.client.Replica().Latest(id)
	for range frames {
		g.frame()
		if at, _ := p.client.Replica().Latest(id); at != seen {
			seen, n = at, n+1
		}
	}
	return n
}

// A choice counts only while the client sees the entity. Otherwise it would disable the Rate of an entity that must stay
// hidden.
func TestAChoiceOfAHiddenEntityChangesNoRate(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 20 * time.Millisecond}, 53, 2, predict.Config{})
	a, b := g.players[0], g.players[1]
	g.run(3 * rate)
	id := addSlowCrate(g)
	a.sim.Predict(id, true)
	g.run(rate)
	require.Greater(t, b.countRecords(g, id, rate), rate/3)
	g.server.Hide(a.client.ID(), id)
	g.run(rate)
	require.LessOrEqual(t, b.countRecords(g, id, rate), rate/10+1)
	g.server.Show(a.client.ID(), id)
	g.run(rate)
	require.Greater(t, b.countRecords(g, id, rate), rate/3, "it has not chosen anew")
}

// Some clients may predict an entity: one, or the clients of a mask.
func TestSomeClientsPredict(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 30 * time.Millisecond}, 52, 3, predict.Config{})
	g.run(3 * rate)
	crate := addCrate(g, 0)
	marks := generic.NewMap1[components.Predicted](g.world)
	a, b, c := g.players[0], g.players[1], g.players[2]
	marks.Assign(crate, &components.Predicted{})
	g.run(rate)
	id, _ := g.group.ID(crate)
	predicts := func() (by [3]bool) {
		g.run(rate)
		for i, p := range g.players {
			by[i] = p.sim.Predicts(id)
		}
		return by
	}
	require.Equal(t, [3]bool{true, true, true}, predicts())
	*marks.Get(crate) = components.Predicted{}.With(a.client.ID()).With(c.client.ID())
	require.Equal(t, [3]bool{true, false, true}, predicts())
	*marks.Get(crate) = components.Predicted{Client: b.client.ID()}
	require.Equal(t, [3]bool{false, true, false}, predicts())
	*marks.Get(crate) = components.Predicted{Client: b.client.ID()}.With(c.client.ID())
	require.Equal(t, [3]bool{false, true, true}, predicts())
	c.requireCorrected(g, id)
	g.heal()
}

// InputOf returns the input with which the tick of a misprediction was simulated.
func TestAMispredictionHasTheInput(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 80 * time.Millisecond}, 53, 1, predict.Config{})
	p := g.players[0]
	p.rules.log = map[netcode.Tick]control{}
	p.act = wander
	compared := 0
	p.sim.OnMisprediction(func(m predict.Misprediction) {
		used, ok := predict.InputOf[control](p.sim, m)
		require.True(t, ok)
		require.Equal(t, p.client.ID(), m.Owner)
		require.Equal(t, p.rules.log[m.Tick], used)
		compared++
	})
	g.run(3 * rate)
	for range 10 {
		g.rules.wind = .5
		g.run(2)
		g.rules.wind = 0
		g.run(rate / 2)
	}
	require.Greater(t, compared, 5)
	_, ok := predict.InputOf[control](p.sim, predict.Misprediction{Tick: p.sim.Tick()})
	require.False(t, ok, "nobody moves it")
	_, ok = predict.InputOf[control](g.sim, p.wrong[0])
	require.False(t, ok, "a server mispredicts nothing")
}
