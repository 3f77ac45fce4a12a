package nettest_test

import (
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/transport"
)

// Catalogue case 14. A handler despawns the entity that its message is about, at the server and at a client, while more messages
// about it wait behind it in the same frame: each of them finds the entity alive or is told that it is gone, and nothing fails.
func TestCase14HandlerDespawns(t *testing.T) {
	p := protocol()
	var n *nettest.Net
	found, gone := 0, 0
	netcode.Handle(p, func(ctx *netcode.Context, m *note) {
		w, entity := &n.Server.World, n.Server.Systems.Entity
		if _, server := ctx.End.(*netcode.Server); !server {
			w, entity = &n.Clients[0].World, n.Clients[0].Systems.Entity
		}
		e, ok := entity(ctx.Entity)
		if !ok {
			gone++
			return
		}
		require.True(t, w.Alive(e))
		found++
		if m.Number == 1 {
			w.RemoveEntity(e)
			_, ok = entity(ctx.Entity)
			require.False(t, ok, "at once")
		}
	}, netcode.Over(netcode.ReliableOrdered))
	var e ecs.Entity
	n = nettest.New(t, nettest.Config{
		Protocol: p, Clients: 2, Seed: 14, Link: transport.Link{Delay: 20 * time.Millisecond},
		Game: func(w *ecs.World, frame int) {
			if frame%120 == 30 { // once for each end
				walkers := generic.NewMap2[components.Replicated, position](w)
				e = walkers.New()
			}
		},
	})
	send := func(end netcode.Endpoint, to netcode.Recipient, id netcode.NetworkID) {
		for i := range uint32(5) {
			require.NoError(t, netcode.Send(end, to, &note{i, check(i)}, netcode.About(id)))
		}
	}
	for turn, first := range []netcode.Endpoint{n.Clients[0].Client, n.Server.Server} {
		n.Run(time.Second)
		id, ok := n.Server.Systems.ID(e)
		require.True(t, ok)
		found, gone = 0, 0
		if turn == 0 {
			send(first, netcode.ToServer(), id)
		} else {
			send(first, netcode.To(n.Clients[0].ID()), id)
		}
		n.Run(time.Second)
		require.Equal(t, 2, found, "the one before it, and that one")
		require.LessOrEqual(t, gone, 3, "the others, where they are handled at all")
		require.True(t, n.Connected())
		if turn == 0 {
			require.Zero(t, n.Clients[1].Replica().Len(), "it is gone everywhere")
		} else {
			require.True(t, n.Server.World.Alive(e), "a client removes its own copy alone")
		}
	}
	require.Zero(t, n.Server.Stats().HandlerPanics)
}

// Catalogue case 30, messages. Messages about an entity that a client may see and does not have wait, under caps of bytes
// and of time, and leaves when the entity does; of one that never comes it is dropped, and counted. The client, which holds what
// overtook its entity on the way under caps of its own, never has to.
func TestCase30MessageBeforeSpawn(t *testing.T) {
	p := protocol()
	netcode.Replicate[boulder](p) // does not fit a packet: in sight, and yet it does not come
	heard := 0
	var n *nettest.Net
	netcode.Handle(p, func(ctx *netcode.Context, m *note) {
		_, there := n.Clients[0].Systems.Entity(ctx.Entity)
		require.True(t, there, "never before its entity")
		heard++
	})
	var e ecs.Entity
	const held, late = 20, 500 * time.Millisecond
	const room = held * (96 + 12) // a note and what is kept beside it
	n = nettest.New(t, nettest.Config{
		Protocol: p, Clients: 1, Seed: 30, Link: transport.Link{Delay: 20 * time.Millisecond},
		Server: netcode.Config{PacketSize: 256, OutboxBytes: room, DeferredTime: late},
		Game: func(w *ecs.World, frame int) {
			if frame == 30 {
				boulders := generic.NewMap3[components.Replicated, boulder, position](w)
				e = boulders.New()
			}
		},
	})
	n.Run(time.Second)
	id, ok := n.Server.Systems.ID(e)
	require.True(t, ok)
	c := n.Clients[0]
	require.True(t, n.Server.Visible(c.ID(), id))
	tell := func(count, taken int) {
		for i := range count {
			err := netcode.Send(n.Server.Server, netcode.To(c.ID()), &note{uint32(i), check(uint32(i))}, netcode.About(id))
			if i < taken {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, netcode.ErrQueueFull, "by bytes")
			}
		}
		n.Run(200 * time.Millisecond)
	}
	tell(3*held, held)
	require.Zero(t, heard)
	require.EqualValues(t, held, n.Server.Stats().Delayed)
	require.Zero(t, n.Server.Stats().DelayedDropped)
	n.Run(late)
	require.EqualValues(t, held, n.Server.Stats().DelayedDropped, "by time: it never came")
	casebook.Injected(t, n.Server.Stats().DelayedDropped, "messages about an entity that never came")
	require.Zero(t, c.Stats().Messages.Deferred, "of what the client cannot have nothing leaves")
	tell(5, 5)
	require.Zero(t, heard)
	n.Server.World.Remove(e, ecs.ComponentID[boulder](&n.Server.World)) // now it fits
	n.Run(200 * time.Millisecond)
	require.Equal(t, 5, heard, "what was held is handled when it comes")
	tell(1, 1)
	require.Equal(t, 6, heard)
	require.True(t, n.Connected())
	require.EqualValues(t, held, n.Server.Stats().DelayedDropped)
	require.Zero(t, c.Stats().Messages.DeferredLate)
}
