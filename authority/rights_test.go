package authority_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/wire"
)

type position struct{ X, Y float32 }

// rightsAt is a server and a client that may write components.
func rightsAt(t *testing.T, most int) (*nettest.Net, *netcode.Client) {
	p := netcode.NewProtocol()
	netcode.Replicate[position](p, authority.WrittenBy(authority.OwnerWrites))
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 1,
		Server: netcode.Config{ReliableBytes: 1 << 26, SendBudget: -1}, Client: netcode.Config{SendBudget: -1, MaxEntities: most},
	})
	c := n.Clients[0].Client
	require.True(t, n.RunUntil(time.Second, func() bool { return c.State() == netcode.Connected }))
	return n, c
}

// sendRights tells a client the rights to entities that do not exist: count of them, from an index on.
func sendRights(t *testing.T, n *nettest.Net, c *netcode.Client, from, count int, rows uint64) {
	for i := range count {
		id := wire.NetworkID{Index: uint32(from + i), Generation: 1}
		require.NoError(t, authority.SendRight(n.Server.Server, c.ID(), id, rows))
		if i%1000 == 999 {
			n.Step()
		}
	}
	n.Run(3 * time.Second)
}

// The right to an entity that the client does not know is kept, and costs nothing until the entity comes.
func TestRightsToUnknownEntitiesCostNothing(t *testing.T) {
	const many = 131_100
	n, c := rightsAt(t, 1<<18)
	sendRights(t, n, c, 0, many, 1)
	require.EqualValues(t, many, authority.StatsOf(c).Rights)
	require.Zero(t, authority.RightsLookedAt(c))
	id := n.Server.Spawn()
	require.NoError(t, netcode.Put(n.Server.Server, id, &position{}))
	require.True(t, n.RunUntil(time.Second, func() bool { return c.Replica().Entity(id.Index).ID == id }))
	require.Equal(t, 1, authority.RightsLookedAt(c))
	require.NoError(t, authority.Write(c, id, &position{X: 1}))
	require.True(t, n.Server.Despawn(id))
	n.Run(time.Second)
	require.Zero(t, authority.RightsLookedAt(c))
	sendRights(t, n, c, 0, many, 0)
	require.Zero(t, authority.StatsOf(c).Rights)
}

// A client keeps as many rights as it takes entities. One more ends the connection.
func TestClientEndsTheConnectionAtTooManyRights(t *testing.T) {
	n, c := rightsAt(t, 2000)
	sendRights(t, n, c, 0, 2000, 1)
	require.Equal(t, netcode.Connected, c.State())
	require.EqualValues(t, 2000, authority.StatsOf(c).Rights)
	sendRights(t, n, c, 0, 2000, 1)
	require.Equal(t, netcode.Connected, c.State(), "no new entity")
	sendRights(t, n, c, 2000, 1, 1)
	require.ErrorIs(t, c.Err(), peer.ReasonTooManyEntities)
	require.EqualValues(t, 1, c.Stats().TooManyEntities)
}
