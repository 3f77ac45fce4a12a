package systems_test

import (
	"context"
	"errors"
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/rewind"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

type push struct {
	X int8 `net:"min=-1,max=1"`
}
type question struct{ A, B uint32 }
type sum struct{ C uint32 }

// party is a host and one client that connects to it, both run by the same game code.
type party struct {
	ends
	host    *systems.HostSystems
	guest   *systems.ClientSystems
	heard   map[string][]netcode.ClientID // By who heard: from whom.
	bodies  map[netcode.ClientID]ecs.Entity
	pushed  map[netcode.ClientID]int
	players []*netcode.Client
}

func newParty(t *testing.T) *party {
	g := &party{ends: newEnds(), heard: map[string][]netcode.ClientID{},
		bodies: map[netcode.ClientID]ecs.Entity{}, pushed: map[netcode.ClientID]int{}}
	p := netcode.NewProtocol()
	netcode.Replicate[position](p, authority.WrittenBy(authority.OwnerWrites))
	netcode.Replicate[components.Owner](p)
	input.Register[push](p)
	netcode.Handle(p, func(ctx *netcode.Context, m *ping) {
		name := "client"
		if server, ok := ctx.End.(*netcode.Server); ok {
			name = "server"
			require.NoError(t, netcode.Send(server, netcode.ToAll(), m))
			require.NoError(t, netcode.Reply(ctx, m))
		} else if ctx.Local == g.host.Client.ID() {
			name = "host"
		}
		g.heard[name] = append(g.heard[name], ctx.Sender)
	}, netcode.AtStage(netcode.StageUpdate))
	netcode.Answer(p, func(_ *netcode.Context, q *question, s *sum) error {
		if s.C = q.A + q.B; s.C == 0 {
			return errors.New("nothing")
		}
		return nil
	})
	worlds := []*ecs.World{g.world(), g.world()}
	server, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	server.OnError(g.report)
	server.OnConnect(func(id netcode.ClientID) {
		bodies := generic.NewMap3[components.Replicated, components.Owner, position](g.worlds[0])
		g.bodies[id] = bodies.NewWith(&components.Replicated{}, &components.Owner{Client: id}, &position{})
	})
	for range 2 {
		c, err := netcode.NewClient(p, netcode.Config{})
		require.NoError(t, err)
		c.OnError(g.report)
		g.players = append(g.players, c)
	}
	g.host, err = systems.NewHost(server, g.players[0], g.listen(t, serverAddress), g.clock)
	require.NoError(t, err)
	g.host.Add(netcode.StageUpdate, each(func() {
		for id := range server.Clients {
			if in, ok := input.Of[push](server, id); ok && server.TickDue() {
				g.pushed[id] += int(in.X)
			}
		}
	}))
	g.guest = systems.NewClient(g.players[1], g.listen(t, transport.Addr{}), g.clock)
	require.NoError(t, g.players[1].Connect(serverAddress))
	g.run(worlds[0], g.host)
	g.run(worlds[1], g.guest)
	return g
}

// The host's player does by the same calls what the other one does, and is one of all.
func TestHostIsAClientLikeAnyOther(t *testing.T) {
	g := newParty(t)
	g.until(t, func() bool { return len(g.bodies) == 2 && g.players[1].State() == netcode.Connected })
	host, guest := g.players[0], g.players[1]
	require.Equal(t, netcode.Connected, host.State())
	require.EqualValues(t, 1, host.ID())
	require.EqualValues(t, 2, guest.ID())
	require.Same(t, g.host.Server, host.Hosted())
	var all []netcode.ClientID
	for id := range g.host.Server.Clients {
		all = append(all, id)
	}
	require.Equal(t, []netcode.ClientID{1, 2}, all)

	for _, c := range g.players { // The same game code.
		require.NoError(t, netcode.Send(c, netcode.ToServer(), &ping{7}))
		require.NoError(t, input.Set(c, &push{X: 1}))
	}
	g.until(t, func() bool { return len(g.heard["host"]) == 3 && len(g.heard["client"]) == 3 })
	require.ElementsMatch(t, []netcode.ClientID{1, 2}, g.heard["server"], "the sender is who it is, and not the server")
	require.Equal(t, []netcode.ClientID{0, 0, 0}, g.heard["host"], "a reply, and what went to all, twice")
	g.until(t, func() bool { return g.pushed[1] > 20 && g.pushed[2] > 20 })

	for _, c := range g.players {
		var got uint32
		var failed error
		ask := func(a, b uint32) {
			require.NoError(t, netcode.Call(context.Background(), c, 0, &question{a, b}, func(s *sum, err error) {
				if failed = err; err == nil {
					got = s.C
				}
			}))
		}
		ask(3, 4)
		g.until(t, func() bool { return got == 7 })
		ask(0, 0)
		g.until(t, func() bool { return failed != nil })
		require.ErrorContains(t, failed, "nothing")
		got, failed = 0, nil
		require.NoError(t, netcode.Call(context.Background(), g.host.Server, c.ID(), &question{5, 6}, func(s *sum, err error) {
			require.NoError(t, err)
			got = s.C
		}))
		g.until(t, func() bool { return got == 11 })
	}

	// Both write what is theirs, the host in the one world that it has.
	g.until(t, func() bool {
		id, _ := g.host.ID(g.bodies[2])
		return authority.MayWrite[position](guest, id)
	})
	mine, _ := g.host.ID(g.bodies[1])
	theirs, _ := g.host.ID(g.bodies[2])
	require.True(t, authority.MayWrite[position](host, mine))
	require.False(t, authority.MayWrite[position](host, theirs))
	require.ErrorIs(t, authority.Write(host, mine, &position{}), authority.ErrSharedWorld, "it assigns to the component instead")
	require.ErrorIs(t, authority.Write(host, theirs, &position{}), authority.ErrNotAllowed)
	positions, far := generic.NewMap1[position](g.worlds[0]), generic.NewMap1[position](g.worlds[1])
	positions.Get(g.bodies[1]).X = 5
	twin, _ := g.guest.Entity(theirs)
	far.Get(twin).X = 6
	other, _ := g.guest.Entity(mine)
	g.until(t, func() bool { return positions.Get(g.bodies[2]).X == 6 && far.Get(other).X == 5 })
	for range 4 {
		g.step()
	}
	require.True(t, rewind.At(g.host.Server, 1, func(view *rewind.View) {
		require.False(t, view.Clamped())
		at, ok := rewind.Of[position](view, theirs)
		require.True(t, ok)
		require.EqualValues(t, 6, at.X)
	}))
	require.Empty(t, g.errors)
}

func TestHostLeavesAndIsKicked(t *testing.T) {
	g := newParty(t)
	g.until(t, func() bool { return len(g.bodies) == 2 })
	host, server := g.players[0], g.host.Server
	require.ErrorIs(t, netcode.Host(server, host), netcode.ErrHost, "it plays already")
	var left []netcode.ClientID
	server.OnDisconnect(func(id netcode.ClientID, _ *netcode.CloseError) { left = append(left, id) })
	host.Close()
	require.True(t, host.Closed())
	require.ErrorIs(t, host.Err(), peer.ReasonClosed)
	g.step()
	require.NoError(t, netcode.Host(server, host))
	require.EqualValues(t, 3, host.ID(), "no client has the id of an earlier one")
	require.True(t, server.Kick(3, "enough"))
	require.Equal(t, []netcode.ClientID{1, 3}, left)
	require.ErrorIs(t, host.Err(), peer.ReasonKicked)
	require.NoError(t, netcode.Host(server, host))
	g.step()
	g.host.Close()
	g.until(t, g.host.Closed)
	require.Equal(t, []netcode.ClientID{1, 3, 4, 2}, left)
	require.ErrorIs(t, netcode.Host(server, host), netcode.ErrHost, "the server is closing")
	require.ErrorIs(t, netcode.Send(host, netcode.ToServer(), &ping{}), netcode.ErrNotConnected)
}
