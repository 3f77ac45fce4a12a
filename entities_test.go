package netcode_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/snapshot"
)

// memoryInUse is the heap once everything unused is given back.
func memoryInUse() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// 131072 entities in some 118 kB of snapshots: a client ends the connection at MaxEntities, and the server is told why.
func TestClientEndsTheConnectionAtMaxEntities(t *testing.T) {
	const many = 1 << 17
	p := protocol()
	r := newRig(t, p, netcode.Config{SendBudget: -1, MaxEntities: 1 << 18})
	r.change(func(s *snapshot.Store) {
		for range many {
			s.Spawn()
		}
	})
	before := memoryInUse()
	c := r.join(p, netcode.Config{SendBudget: -1})
	r.until(func() bool { return c.State() == netcode.Disconnected })
	require.ErrorIs(t, c.Err(), peer.ReasonTooManyEntities)
	require.ErrorContains(t, c.Err(), "Config.MaxEntities of the client, 65536")
	require.EqualValues(t, 1, c.Stats().TooManyEntities)
	require.Zero(t, c.Stats().Malformed)
	require.LessOrEqual(t, c.Replica().Len(), 1<<16)
	require.Contains(t, r.server.log[len(r.server.log)-1], "more entities than Config.MaxEntities")
	const each = 400 // bytes, of Replica
	require.Less(t, memoryInUse()-before, each<<16)

	more := r.join(p, netcode.Config{SendBudget: -1, MaxEntities: many})
	r.until(func() bool { return more.Replica() != nil && more.Replica().Len() == many })
	require.Equal(t, netcode.Connected, more.State())
}

func TestServerSpawnsNoMoreThanMaxEntities(t *testing.T) {
	p := protocol()
	r := newRig(t, p, netcode.Config{MaxEntities: 100, Entities: 10})
	r.change(func(s *snapshot.Store) {
		for range 100 {
			require.False(t, s.Spawn().IsZero())
		}
		require.True(t, s.Spawn().IsZero())
	})
	require.EqualValues(t, 1, r.server.Stats().EntitiesRefused)
	_, err := netcode.NewServer(p, netcode.Config{MaxEntities: 100, Entities: 101})
	require.ErrorContains(t, err, "Config.Entities is 101: it must be 1 to 100")
	_, err = netcode.NewServer(p, netcode.Config{Entities: 1 << 17})
	require.NoError(t, err, "room for so many says that so many may come")
}
