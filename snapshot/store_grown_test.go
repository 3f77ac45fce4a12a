package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// TestGrowthIsCounted: what there was room for from the beginning is no growth, nor is an index that is used again.
func TestGrowthIsCounted(t *testing.T) {
	s := NewStore(simSchema(t), Config{Entities: 100})
	now := tick.Tick(1)
	turn := func(spawn int, despawn []wire.NetworkID) (born []wire.NetworkID) {
		s.Begin(now)
		for _, id := range despawn {
			s.Despawn(id)
		}
		for range spawn {
			born = append(born, s.Spawn())
		}
		s.Commit()
		now++
		return born
	}
	first := turn(100, nil)
	require.Zero(t, s.Grown())
	turn(1, nil)
	require.EqualValues(t, 1, s.Grown())
	turn(0, first)
	turn(20, nil)
	require.EqualValues(t, 1, s.Grown(), "there is room for some more now")
	turn(1000, nil)
	require.Greater(t, s.Grown(), uint64(1))
}
