package predict_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/transport"
)

// A body that leaves the bounds of its position is at the bound when the next step begins, on both ends and in a replay.
// Its return is no misprediction. The client rolls back when a shell of its own arrives.
func TestAValueOutOfBoundsIsTheBoundOnBothEnds(t *testing.T) {
	g := newGame(t, transport.Link{Delay: 100 * time.Millisecond}, 71, 1, predict.Config{})
	p := g.players[0]
	p.act = still
	g.run(4 * rate)
	g.faulty = true
	there := generic.NewMap1[position](g.world)
	for _, limit := range []float32{499, 520} {
		g.rules.limit, p.rules.limit = limit, limit
		p.act = func(p *player) control { return control{X: 1, Fire: p.sim.Tick()%64 == 0} }
		g.run(90 * rate)
		require.GreaterOrEqual(t, there.Get(g.bodies[p.client.ID()]).X, min(limit, 500)-1)
		before := p.sim.Stats().Rollbacks
		g.run(5 * rate)
		require.Greater(t, p.sim.Stats().Rollbacks, before)
		p.act = func(*player) control { return control{X: -1} }
		g.run(4 * rate)
		require.Zero(t, p.sim.Stats().Mispredictions, p.wrong)
	}
	require.NotEmpty(t, g.faults, "the server tells of the value")
	g.heal()
}
