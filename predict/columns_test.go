package predict_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/transport"
)

// A rollback for one entity may go to a tick before the newest compared state of another entity. The replay returns that
// state.
func TestAReplayKeepsComparedStates(t *testing.T) {
	bodies := func(w *ecs.World, e ecs.Entity) {
		owners := generic.NewMap1[components.Owner](w)
		owner := *owners.Get(e)
		more := generic.NewMap4[components.Replicated, components.Owner, position, velocity](w)
		for i := range 150 {
			more.NewWith(&components.Replicated{}, &owner, &position{X: float32(i)}, &velocity{Y: float32(i % 7)})
		}
	}
	p := newProtocol()
	g := newGameOf(t, p, transport.Link{Delay: 60 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: .05}, 4, predict.Config{}, bodies)
	player := g.join(p, predict.Config{})
	player.act = wander
	lost := 0
	for i := range 4 * rate {
		if g.rules.wind = 0; i/20%2 == 1 {
			g.rules.wind = .01
		}
		g.frame()
		lost += predict.Lost(player.sim)
	}
	require.Zero(t, lost)
	require.Greater(t, player.sim.Stats().Mispredictions, uint64(150))
}
