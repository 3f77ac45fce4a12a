package netecs

import (
	"reflect"
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// familiarLocal is a component that does not replicate.
type familiarLocal struct{ N int }

// familiarSide is two entities whose rows were captured together before, so that whose they are is known.
func familiarSide(t *testing.T, apart bool) (*rowsSide, []ecs.Entity) {
	plan, err := wire.Compile(reflect.TypeFor[rowsPlace](), "place")
	require.NoError(t, err)
	s := newRowsSide(snapshot.NewSchema([]*wire.Plan{plan}), 1, apart)
	s.ids = append(s.ids, ecs.ComponentID[familiarLocal](&s.world))
	s.world.NewEntity(s.rep, s.ids[0], s.ids[1]) // its table is looked at first
	s.capture.Run(1)
	pair := []ecs.Entity{s.world.NewEntity(s.rep, s.ids[0]), s.world.NewEntity(s.rep, s.ids[0])}
	for now := s.store.Tick() + 1; now < 5; now++ {
		for _, e := range pair {
			componentOf[rowsPlace](&s.world, e, s.ids[0]).X = float32(now)
		}
		s.capture.Run(now)
	}
	return s, pair
}

// An entity that came to another table in the same run is not what now lies in its place with a copy of its Replicated.
func TestAFamiliarRowIsAskedForAnewWhereEntitiesMoved(t *testing.T) {
	for _, apart := range []bool{true, false} {
		s, pair := familiarSide(t, apart)
		was := *replicatedOf(&s.world, pair[0], s.rep)
		s.world.Add(pair[0], s.ids[1]) // the other one takes its place
		*replicatedOf(&s.world, pair[1], s.rep) = was
		componentOf[rowsPlace](&s.world, pair[0], s.ids[0]).X = 100
		componentOf[rowsPlace](&s.world, pair[1], s.ids[0]).X = 200
		s.capture.Run(5)
		var place rowsPlace
		s.store.Schema().Plan(0).Dequantise(s.store.Row(was.ID, 0), reflect.ValueOf(&place).UnsafePointer())
		require.InDelta(t, 100, place.X, 0.01, "apart: %t", apart)
	}
}

// What others did in the store is noticed: an entity that lives no more has no rows to be replaced.
func TestAFamiliarRowIsAskedForAnewWhereTheStoreChanged(t *testing.T) {
	for _, apart := range []bool{true, false} {
		s, pair := familiarSide(t, apart)
		id, ok := s.capture.ID(pair[0])
		require.True(t, ok)
		s.capture.Along(func() { s.store.Despawn(id) })
		s.capture.Run(5)
		s.capture.Along(nil)
		componentOf[rowsPlace](&s.world, pair[0], s.ids[0]).X = 100
		s.capture.Run(6)
		require.Zero(t, s.store.Changed(), "apart: %t", apart)
		require.False(t, s.store.Alive(id))
	}
}
