package snapshot

import (
	"testing"

	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/wire"
	"github.com/stretchr/testify/require"
)

func TestOwner(t *testing.T) {
	s := NewStore(format.NewSchema(nil), Config{})
	require.False(t, s.SetOwner(wire.NetworkID{Index: 3, Generation: 1}, 1))
	s.Begin(1)
	a, b := s.Spawn(), s.Spawn()
	s.Commit()
	require.True(t, s.SetOwner(b, 7))
	require.Equal(t, wire.ClientID(0), s.Owner(a))
	require.Equal(t, wire.ClientID(7), s.Owner(b))
	require.Equal(t, wire.ClientID(0), s.Owner(wire.NetworkID{Index: b.Index, Generation: b.Generation + 1}))

	s.Begin(2)
	s.Despawn(b)
	s.Commit()
	require.Equal(t, wire.ClientID(0), s.Owner(b))
	require.False(t, s.SetOwner(b, 7))
	s.Begin(3)
	again := s.Spawn()
	s.Commit()
	require.Equal(t, b.Index, again.Index)
	require.Equal(t, wire.ClientID(0), s.Owner(again), "a new life belongs to the server")
}
