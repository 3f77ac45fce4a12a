package snapshot

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

func TestChangesAreThoseOfTheNewestCapture(t *testing.T) {
	s := NewStore(simSchema(t), Config{})
	require.Empty(t, slices.Collect(s.Changes))
	var ids []wire.NetworkID
	s.Begin(1)
	for range 200 {
		ids = append(ids, s.Spawn())
	}
	s.Commit()
	require.Equal(t, ids, slices.Collect(s.Changes))
	s.Begin(2)
	s.Set(ids[150], rowHealth, []uint32{1})
	s.Set(ids[3], rowHealth, []uint32{1})
	s.Set(ids[4], rowHealth, []uint32{1})
	s.Despawn(ids[4])
	s.Commit()
	require.Equal(t, []wire.NetworkID{ids[3], ids[150]}, slices.Collect(s.Changes))
	s.Begin(3)
	s.Set(ids[3], rowHealth, []uint32{1})
	s.Remove(ids[150], rowHealth)
	s.Commit()
	require.Equal(t, []wire.NetworkID{ids[150]}, slices.Collect(s.Changes))
	for id := range s.Changes {
		require.Equal(t, ids[150], id)
		break
	}
	s.Begin(4)
	s.Commit()
	require.Empty(t, slices.Collect(s.Changes))
}
