package netcode_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
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

// rightsAt is a server and a client that may write components.
func rightsAt(t *testing.T, most int) (*rig, *clientEnd) {
	p := netcode.NewProtocol()
	netcode.Replicate[position](p, netcode.WrittenBy(netcode.OwnerWrites))
	r := newRig(t, p, netcode.Config{ReliableBytes: 1 << 26, SendBudget: -1})
	return r, r.joined(p, netcode.Config{SendBudget: -1, MaxEntities: most})
}

// sendRights tells a client that it may write so many entities from an index on, none of which exist.
func sendRights(r *rig, c *clientEnd, from, n int) {
	for i := range n {
		id := wire.NetworkID{Index: uint32(from + i), Generation: 1}
		require.NoError(r.t, netcode.SendRight(r.server.Server, c.ID(), id, 1))
		if i%1000 == 999 {
			r.step()
		}
	}
	r.run(time.Second)
}

// The right to an entity that the client does not know is kept, and costs nothing until the entity comes.
func TestRightsToUnknownEntitiesCostNothing(t *testing.T) {
	const many = 131_100
	r, c := rightsAt(t, 1<<18)
	sendRights(r, c, 0, many)
	require.EqualValues(t, many, c.Stats().Rights)
	require.Zero(t, netcode.RightsLookedAt(c.Client))
	var id wire.NetworkID
	r.change(func(s *snapshot.Store) {
		id = s.Spawn()
		s.Set(id, 0, []uint32{0, 0})
	})
	r.until(func() bool { return c.Replica().Entity(id.Index).ID == id })
	require.Equal(t, 1, netcode.RightsLookedAt(c.Client))
	require.NoError(t, netcode.Write(c.Client, id, &position{X: 1}))
	r.change(func(s *snapshot.Store) { s.Despawn(id) })
	r.run(time.Second)
	require.Zero(t, netcode.RightsLookedAt(c.Client))
	for i := range many {
		require.NoError(t, netcode.SendRight(r.server.Server, c.ID(), wire.NetworkID{Index: uint32(i), Generation: 1}, 0))
		if i%1000 == 999 {
			r.step()
		}
	}
	r.run(time.Second)
	require.Zero(t, c.Stats().Rights)
}

// A client keeps as many rights as it takes entities. One more ends the connection.
func TestClientEndsTheConnectionAtTooManyRights(t *testing.T) {
	r, c := rightsAt(t, 2000)
	sendRights(r, c, 0, 2000)
	require.Equal(t, netcode.Connected, c.State())
	require.EqualValues(t, 2000, c.Stats().Rights)
	sendRights(r, c, 0, 2000)
	require.Equal(t, netcode.Connected, c.State(), "nobody new is named")
	sendRights(r, c, 2000, 1)
	require.ErrorIs(t, c.Err(), peer.ReasonTooManyEntities)
}
