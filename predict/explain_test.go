package predict_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/components"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// gust is a system that blows in one tick, on the server alone.
type gust struct {
	at netcode.Tick
}

func (g *gust) Step(s *predict.Step) {
	if s.Tick != g.at || !s.OnServer() {
		return
	}
	query := generic.NewFilter2[components.Simulate, position]().Query(s.World)
	for query.Next() {
		_, at := query.Get()
		at.Y += 3
	}
}

// calm is a system that does nothing.
type calm struct{}

func (*calm) Step(*predict.Step) {}

// newExplainedGame is a game of one player with hashes, and a system before the rules and one behind them.
func newExplainedGame(t *testing.T, loss float64, as func(*gust) predict.System, also ...func(*netcode.Protocol)) (g *game, p *player, wind *gust, heard *[]predict.Explanation) {
	g = newEmptyGame(t, transport.Link{Delay: 80 * time.Millisecond, Loss: loss}, 32)
	protocol := newProtocol()
	predict.Explain(protocol)
	for _, f := range also {
		f(protocol)
	}
	socket := g.openServer(protocol)
	g.group = systems.NewServer(g.server, socket, g.clock)
	wind = &gust{}
	g.sim = predict.Simulate(g.group, predict.Config{}, &calm{}, g.rules, as(wind))
	g.loop = systems.NewRunner(g.world, g.group, rate)
	p = g.joinWith(protocol, predict.Config{}, &calm{}, nil, as(&gust{}))
	heard = &[]predict.Explanation{}
	p.sim.OnExplanation(func(e predict.Explanation) { *heard = append(*heard, e) })
	p.act = wander
	g.run(5 * rate)
	require.Empty(t, *heard)
	return g, p, wind, heard
}

// aType and aFunc are two ways to add a system.
func aType(g *gust) predict.System { return g }
func aFunc(g *gust) predict.System { return predict.Func(g.Step) }

// A Func is named by its function.
func TestAMispredictionNamesTheFunction(t *testing.T) {
	g, _, wind, heard := newExplainedGame(t, 0, aFunc)
	wind.at = g.server.Tick() + 10
	g.run(4 * rate)
	require.NotEmpty(t, *heard)
	require.Equal(t, "system 2, predict_test.(*gust).Step", (*heard)[0].System)
	g.heal()
}

// A misprediction is explained by the first system that differs, and its tick.
func TestAMispredictionNamesTheSystem(t *testing.T) {
	for _, loss := range []float64{0, .3} {
		g, p, wind, heard := newExplainedGame(t, loss, aType)
		wind.at = g.server.Tick() + 10
		g.run(4 * rate)
		require.NotEmpty(t, p.wrong)
		require.NotEmpty(t, *heard)
		e := (*heard)[0]
		require.Equal(t, wind.at, e.First, "%v", e)
		require.Equal(t, "system 2, *predict_test.gust", e.System, "%v", e)
		require.Equal(t, "Y", e.Field)
		require.Contains(t, e.String(), "system 2")
		g.heal()
	}
}

// A change from outside of the simulation is explained as such.
func TestAMispredictionNamesAChangeFromOutside(t *testing.T) {
	g, p, _, heard := newExplainedGame(t, 0, aType)
	at := generic.NewMap1[position](g.world)
	at.Get(g.bodies[p.client.ID()]).Y += 7
	g.run(2 * rate)
	require.NotEmpty(t, *heard)
	require.Equal(t, predict.Outside, (*heard)[0].System)
	g.heal()
}

// A component is either predicted or written by a client.
func TestAComponentThatAClientWritesIsNotPredicted(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[components.Owner](p)
	netcode.Replicate[position](p, authority.WrittenBy(authority.OwnerWrites))
	predict.Register[position](p)
	require.PanicsWithValue(t, "netcode: predict.Register[predict_test.position]: a client writes the component (authority.WrittenBy): remove one of the two", func() { p.Schema() })
}
