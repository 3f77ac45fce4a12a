package predict_test

import (
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/transport"
)

// Without a function for mispredictions columns are corrected at once; with one, each entity is compared. Both have the same
// state in every frame, and the same counts.
func TestColumnsAreComparedAsEntities(t *testing.T) {
	newPlayed := func() *game {
		var g *game
		bodies := func(w *ecs.World, e ecs.Entity) {
			owners := generic.NewMap1[components.Owner](w)
			owner := *owners.Get(e)
			more := generic.NewMap4[components.Replicated, components.Owner, position, velocity](w)
			for i := range 150 {
				more.NewWith(&components.Replicated{}, &owner, &position{X: float32(i)}, &velocity{Y: float32(i % 7)})
			}
		}
		p := newProtocol()
		g = newGameOf(t, p, transport.Link{Delay: 60 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: .05}, 4, predict.Config{}, bodies)
		g.join(p, predict.Config{}).act = wander
		return g
	}
	state := func(p *player) (list []any) {
		at, speed, warm := ecs.ComponentID[position](p.world), ecs.ComponentID[velocity](p.world), ecs.ComponentID[heat](p.world)
		for query := p.world.Query(ecs.All(at)); query.Next(); {
			list = append(list, query.Entity(), *(*position)(query.Get(at)))
			if query.Has(speed) {
				list = append(list, *(*velocity)(query.Get(speed)))
			}
			if query.Has(warm) {
				list = append(list, *(*heat)(query.Get(warm)))
			}
		}
		return list
	}
	entities, columns := newPlayed(), newPlayed()
	predict.Unlisten(columns.players[0].sim)
	for i := range 4 * rate {
		for _, g := range []*game{entities, columns} {
			if g.rules.wind = 0; i/20%2 == 1 {
				g.rules.wind = .01
			}
			g.frame()
		}
		require.Equal(t, state(entities.players[0]), state(columns.players[0]), "frame %d", i)
		require.Equal(t, entities.players[0].sim.Stats(), columns.players[0].sim.Stats(), "frame %d", i)
	}
	require.Greater(t, columns.players[0].sim.Stats().Mispredictions, uint64(150))
	require.Empty(t, columns.players[0].wrong)
}
