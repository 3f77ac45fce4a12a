package netcode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/wire"
)

// Each end has the handlers that were bound to it, after that of the protocol and in their order, and no other end's.
func TestHandlersOfOneEnd(t *testing.T) {
	p := protocol()
	var calls []string
	netcode.Handle(p, func(*netcode.Context, *chat) { calls = append(calls, "all") })
	netcode.Handle[wave](p, nil)
	r := newRig(t, p, netcode.Config{})
	one, two := r.joined(p, netcode.Config{}), r.joined(p, netcode.Config{})
	netcode.On(one.Client, func(ctx *netcode.Context, m *chat) {
		require.Equal(t, one.ID(), ctx.Local)
		require.EqualValues(t, 7, m.Number)
		calls = append(calls, "one")
	})
	netcode.On(one.Client, func(*netcode.Context, *chat) { calls = append(calls, "one again") })
	netcode.On(two.Client, func(*netcode.Context, *wave) { calls = append(calls, "two waves") })
	netcode.On(r.server.Server, func(*netcode.Context, *wave) { calls = append(calls, "the server waves") })

	require.NoError(t, netcode.Send(r.server.Server, netcode.To(one.ID()), &chat{7}))
	r.run(time.Second)
	require.Equal(t, []string{"all", "one", "one again"}, calls)

	calls = nil
	require.NoError(t, netcode.Send(r.server.Server, netcode.To(two.ID()), &chat{7}))
	require.NoError(t, netcode.Send(r.server.Server, netcode.To(two.ID()), &wave{}))
	r.run(time.Second)
	require.Equal(t, []string{"all", "two waves"}, calls)

	calls = nil
	require.NoError(t, netcode.Send(one.Client, netcode.ToServer(), &wave{}))
	require.NoError(t, netcode.Send(r.server.Server, netcode.ToSelf(), &wave{}))
	r.run(time.Second)
	require.Equal(t, []string{"the server waves", "the server waves"}, calls)
	require.Zero(t, r.server.Stats().Messages.Unhandled+two.Stats().Messages.Unhandled)
}

func TestHandlersOfOneEndNeedARegisteredMessage(t *testing.T) {
	p := protocol()
	r := newRig(t, p, netcode.Config{})
	end := r.server.Server
	require.PanicsWithValue(t, "netcode: On[netcode_test.wave]: the message is not registered: call netcode.Handle[wave](protocol, nil) on both sides",
		func() { netcode.On(end, func(*netcode.Context, *wave) {}) })
	require.PanicsWithValue(t, "netcode: On[netcode_test.wave]: no end to handle messages: <nil>", func() { netcode.On(nil, func(*netcode.Context, *wave) {}) })
	require.PanicsWithValue(t, "netcode: On[netcode_test.wave]: the handler is nil", func() { netcode.On[wave](end, nil) })
}

// A handler of one end obeys OwnerOnly, as that of the protocol does.
func TestAHandlerOfOneEndIsForOwners(t *testing.T) {
	p := protocol()
	netcode.Handle[chat](p, nil, netcode.OwnerOnly(), netcode.AtStage(netcode.StageUpdate))
	r := newRig(t, p, netcode.Config{})
	r.joined(p, netcode.Config{})
	var numbers []uint32
	netcode.On(r.server.Server, func(_ *netcode.Context, m *chat) { numbers = append(numbers, m.Number) })
	th := newThief(t, r, p) // Client 2, which checks nothing itself.
	theirs, own := r.spawn(1), r.spawn(1)
	require.True(t, r.server.SetOwner(theirs, 1))
	require.True(t, r.server.SetOwner(own, 2))
	r.accepting()
	for number, id := range []netcode.NetworkID{theirs, own} {
		th.post(&peer.Post{Type: wire.FirstUserMessage, Stage: netcode.StageUpdate, Flags: wire.FlagEntity, Entity: id}, []byte{byte(number), 0, 0, 0})
		r.step()
	}
	require.Equal(t, []uint32{1}, numbers)
	require.EqualValues(t, 1, r.server.Stats().NotOwner)
}
