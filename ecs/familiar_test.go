package netecs

import (
	"reflect"
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
)

// familiarLocal is a component that does not replicate.
type familiarLocal struct{ N int }

// familiarSide is entities whose rows were captured together before, so that whose they are is known: as many as that takes where one has left.
func familiarSide(t *testing.T, apart bool) (*rowsSide, []ecs.Entity) {
	plan, err := quantize.Compile(reflect.TypeFor[rowsPlace](), "place")
	require.NoError(t, err)
	s := newRowsSide(format.NewSchema([]*quantize.Plan{plan}), 1, apart)
	s.ids = append(s.ids, ecs.ComponentID[familiarLocal](&s.world))
	s.world.NewEntity(s.rep, s.ids[0], s.ids[1]) // its table is looked at first
	s.capture.Run(1)
	var all []ecs.Entity
	for range leastRows + 1 {
		all = append(all, s.world.NewEntity(s.rep, s.ids[0]))
	}
	for now := s.store.Tick() + 1; now < 5; now++ {
		s.moveAll(all, float32(now))
		s.capture.Run(now)
	}
	return s, all
}

// moveAll moves entities to a place.
func (s *rowsSide) moveAll(all []ecs.Entity, x float32) {
	for _, e := range all {
		componentOf[rowsPlace](&s.world, e, s.ids[0]).X = x
	}
}

// An entity that came to another table in the same run is not what now lies in its place with a copy of its Replicated.
func TestAFamiliarRowIsAskedForAnewWhereEntitiesMoved(t *testing.T) {
	for _, apart := range []bool{true, false} {
		s, all := familiarSide(t, apart)
		was := *replicatedOf(&s.world, all[0], s.rep)
		s.world.Add(all[0], s.ids[1]) // the last one takes its place
		*replicatedOf(&s.world, all[len(all)-1], s.rep) = was
		s.moveAll(all, 200)
		s.moveAll(all[:1], 100)
		s.capture.Run(5)
		var place rowsPlace
		s.store.Schema().Plan(0).Dequantise(s.store.Row(was.ID, 0), reflect.ValueOf(&place).UnsafePointer())
		require.InDelta(t, 100, place.X, 0.01, "apart: %t", apart)
	}
}

// What others did in the store is noticed: an entity that lives no more has no rows to be replaced.
func TestAFamiliarRowIsAskedForAnewWhereTheStoreChanged(t *testing.T) {
	for _, apart := range []bool{true, false} {
		s, all := familiarSide(t, apart)
		id, ok := s.capture.ID(all[0])
		require.True(t, ok)
		s.capture.Along(func() { s.store.Despawn(id) })
		s.capture.Run(5)
		s.capture.Along(nil)
		s.moveAll(all, 100)
		s.capture.Run(6)
		require.Equal(t, len(all)-1, s.store.Changed(), "apart: %t", apart)
		require.False(t, s.store.Alive(id))
	}
}
