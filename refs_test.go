package netcode_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/inspect"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// naming is a message that names entities.
type naming struct {
	From    wire.NetworkID `net:"entity"`
	Number  uint16
	Targets [2]wire.NetworkID `net:"entity"`
}

// namer asks who an entity is.
type namer struct{ Number uint8 }

// TestMessagesNameOnlyVisibleEntities has a message with three names go to two clients, one of which sees one of the entities.
func TestMessagesNameOnlyVisibleEntities(t *testing.T) {
	for _, debug := range []bool{false, true} {
		p := protocol()
		if debug {
			p.Debug()
		}
		got := map[netcode.ClientID][]naming{}
		take := func(ctx *message.Context, m *naming) { got[ctx.Local] = append(got[ctx.Local], *m) }
		netcode.Handle(p, take)
		var open, secret wire.NetworkID
		netcode.Answer(p, func(_ *netcode.Context, q *namer, a *marked) error {
			a.Marker, a.Of = 5, secret
			return nil
		})
		r := rig.New(t, p, netcode.Config{History: 2})
		blind, seeing := r.Joined(p, netcode.Config{}), r.Joined(p, netcode.Config{})
		open, secret = r.Spawn(1), r.Spawn(2)
		r.Server.Hide(blind.ID(), secret)
		m := naming{From: secret, Number: 7, Targets: [2]wire.NetworkID{open, secret}}
		veiled := naming{Number: 7, Targets: [2]wire.NetworkID{open, {}}}
		for name, to := range map[string][]netcode.Recipient{
			"each":      {netcode.To(blind.ID()), netcode.To(seeing.ID())},
			"all":       {netcode.ToAll()},
			"some":      {netcode.ToMany([]netcode.ClientID{blind.ID(), seeing.ID()})},
			"who sees":  {netcode.ToSeers(open)},
			"all but 9": {netcode.ToAllBut(9)},
		} {
			clear(got)
			for _, one := range to {
				require.NoError(t, netcode.Send(r.Server.Server, one, &m), name)
			}
			require.Equal(t, secret, m.From, "the sender's own stays as it is")
			r.Until(func() bool { return len(got[blind.ID()]) == 1 && len(got[seeing.ID()]) == 1 })
			require.Equal(t, []naming{veiled}, got[blind.ID()], name)
			require.Equal(t, []naming{m}, got[seeing.ID()], name)
		}
		clear(got)
		require.NoError(t, netcode.Send(r.Server.Server, netcode.ToSelf(), &m))
		r.Until(func() bool { return len(got[0]) == 1 })
		require.Equal(t, []naming{m}, got[0], "to itself a server says everything")
		clear(got)
		require.NoError(t, netcode.Send(seeing.Client, netcode.ToServer(), &m))
		r.Until(func() bool { return len(got[0]) == 1 })
		require.Equal(t, []naming{m}, got[0], "what a client names it has heard of")

		answers := 0
		for _, c := range []*rig.ClientEnd{blind, seeing} {
			want := secret
			if c == blind {
				want = wire.NetworkID{}
			}
			require.NoError(t, netcode.Call(context.Background(), c.Client, 0, &namer{}, func(a *marked, err error) {
				require.NoError(t, err)
				require.Equal(t, marked{Marker: 5, Of: want}, *a)
				answers++
			}))
		}
		r.Until(func() bool { return answers == 2 })

		clear(got)
		r.Server.Show(blind.ID(), secret)
		require.NoError(t, netcode.Send(r.Server.Server, netcode.ToAll(), &m))
		r.Until(func() bool { return len(got[blind.ID()]) == 1 })
		require.Equal(t, m, got[blind.ID()][0], "from when it sees it on")
		r.Change(func(store *snapshot.Store) { store.Despawn(secret) })
		clear(got)
		require.NoError(t, netcode.Send(r.Server.Server, netcode.ToAll(), &m))
		r.Until(func() bool { return len(got[blind.ID()]) == 1 && len(got[seeing.ID()]) == 1 })
		require.Equal(t, []naming{veiled}, got[seeing.ID()], "the dead are nobody")
	}
}

// Not a byte of the name itself is in the packets.
func TestNamesOfUnseenEntitiesDoNotTravel(t *testing.T) {
	p := protocol()
	netcode.Handle(p, func(*message.Context, *naming) {})
	r := rig.New(t, p, netcode.Config{})
	c := r.Joined(p, netcode.Config{})
	secret := r.Spawn(1)
	r.Server.Hide(c.ID(), secret)
	r.Run(rig.FrameTime * 60)
	sizes := map[int]bool{}
	r.Tamper = func(_, to transport.Addr, packet []byte) []byte {
		if to == c.Conn.LocalAddr() {
			sizes[len(packet)] = true
			require.NotContains(t, string(inspect.AppendClientDump(nil, c.Client, packet)), secret.String())
		}
		return packet
	}
	for range 20 {
		require.NoError(t, netcode.Send(r.Server.Server, netcode.To(c.ID()), &naming{From: secret}))
		require.NoError(t, netcode.Send(r.Server.Server, netcode.ToAll(), &naming{From: secret}))
		r.Step()
	}
	require.NotEmpty(t, sizes)
}

func TestMessagesThatNameAllocateNothing(t *testing.T) {
	p := protocol()
	handled := 0
	netcode.Handle(p, func(_ *message.Context, m *naming) { handled++ })
	r := rig.New(t, p, netcode.Config{SendBudget: -1})
	open, secret := r.Spawn(1), r.Spawn(2)
	for range 4 {
		c := r.Joined(p, netcode.Config{SendBudget: -1})
		r.Server.Hide(c.ID(), secret)
	}
	m := &naming{From: secret, Targets: [2]wire.NetworkID{open, secret}}
	play := func() {
		_ = netcode.Send(r.Server.Server, netcode.ToAll(), m)
		_ = netcode.Send(r.Server.Server, netcode.To(2), m)
		r.Step()
	}
	for range 500 {
		play()
	}
	before := handled
	alloctest.Zero(t, 100, play)
	require.Greater(t, handled, before+400)
}

// A message to a host's player alone hides names as one to several clients does.
func TestMessagesToAHostNameOnlyVisibleEntities(t *testing.T) {
	p := protocol()
	var got []naming
	netcode.Handle(p, func(_ *netcode.Context, m *naming) { got = append(got, *m) })
	server, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	client, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	require.NoError(t, netcode.Host(server, client))
	h := &hosting{server: server, client: client}
	open, secret := server.Spawn(), server.Spawn()
	h.frame()
	server.Hide(client.ID(), secret)
	for _, to := range []netcode.Recipient{netcode.To(client.ID()), netcode.ToAll(), netcode.ToMany([]netcode.ClientID{client.ID()})} {
		got = nil
		require.NoError(t, netcode.Send(server, to, &naming{From: secret, Number: 7, Targets: [2]wire.NetworkID{open, secret}}))
		h.frame()
		require.Equal(t, []naming{{Number: 7, Targets: [2]wire.NetworkID{open, {}}}}, got)
	}
}
