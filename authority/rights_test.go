package authority_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/nettest"
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
	require.ErrorIs(t, c.Err(), errs.ReasonTooManyEntities)
	require.EqualValues(t, 1, c.Stats().TooManyEntities)
}

// A client that asks for each entity and gives it up again, 300 times a tick for 720 ticks, costs the server one right for each entity, and
// the game no more than 256 questions a tick.
func TestAsksAndReleasesPileUpNowhere(t *testing.T) {
	const many, ticks = 300, 720
	p := netcode.NewProtocol()
	netcode.Replicate[position](p, authority.WrittenBy(authority.NamedWrites))
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 1,
		Server: netcode.Config{ReliableBytes: 1 << 24, SendBudget: -1}, Client: netcode.Config{ReliableBytes: 1 << 24, SendBudget: -1},
	})
	c := n.Clients[0].Client
	asked, most, kept := 0, 0, 0
	authority.OnAsk(n.Server.Server, func(netcode.ClientID, netcode.NetworkID) bool { asked++; return true })
	ids := make([]netcode.NetworkID, many)
	for i := range ids {
		ids[i] = n.Server.Spawn()
		require.NoError(t, netcode.Put(n.Server.Server, ids[i], &position{}))
	}
	require.True(t, n.RunUntil(time.Second, func() bool { return n.Connected() && c.Replica() != nil && c.Replica().Len() == many }))
	for now := n.Server.Tick(); n.Server.Tick() < now+ticks; {
		for _, id := range ids {
			_ = authority.Ask(c, id) // The queue of the client may be full.
			_ = authority.Release(c, id)
		}
		tick, before := n.Server.Tick(), asked
		n.Step()
		if n.Server.Tick() == tick+1 {
			most = max(most, asked-before)
		}
		kept = max(kept, authority.RightsKept(n.Server.Server, c.ID()))
	}
	require.Greater(t, asked, 100*ticks)
	require.LessOrEqual(t, most, authority.MaxAsks)
	require.Positive(t, authority.StatsOf(n.Server.Server).AsksDropped)
	require.LessOrEqual(t, kept, many)
	require.Equal(t, netcode.Connected, c.State())
	for _, id := range ids {
		authority.Grant(n.Server.Server, id, 0)
	}
	n.Run(20 * time.Second) // As long as late writes are no offence.
	id := n.Server.Spawn()
	require.NoError(t, netcode.Put(n.Server.Server, id, &position{}))
	authority.Grant(n.Server.Server, id, c.ID())
	require.True(t, n.RunUntil(time.Second, func() bool { return authority.MayWrite[position](c, id) }))
	require.LessOrEqual(t, authority.RightsKept(n.Server.Server, c.ID()), many, "places are used again")
}
