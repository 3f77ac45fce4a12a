package netcode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/peer"
)

func TestCloseDeliversSentMessages(t *testing.T) {
	p := protocol()
	var got []uint32
	netcode.Handle(p, func(_ *netcode.Context, m *chat) { got = append(got, m.Number) }, netcode.Over(netcode.ReliableOrdered))
	var want []uint32
	for i := range uint32(200) {
		want = append(want, i)
	}
	for name, leave := range map[string]func(r *rig, c *clientEnd){
		"the client closes": func(r *rig, c *clientEnd) {
			for _, i := range want {
				require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{i}))
			}
			c.Close()
			require.ErrorIs(t, netcode.Send(c.Client, netcode.ToServer(), &chat{999}), netcode.ErrNotConnected)
		},
		"the server closes": func(r *rig, c *clientEnd) {
			for _, i := range want {
				require.NoError(t, netcode.Send(r.server.Server, netcode.To(1), &chat{i}))
			}
			r.server.Close(peer.ReasonNone)
			require.ErrorIs(t, netcode.Send(r.server.Server, netcode.To(1), &chat{999}), netcode.ErrNotConnected)
		},
		"the server kicks": func(r *rig, c *clientEnd) {
			for _, i := range want {
				require.NoError(t, netcode.Send(r.server.Server, netcode.To(1), &chat{i}))
			}
			require.True(t, r.server.Kick(1, "bye"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			got = nil
			patient := netcode.Config{FlushTimeout: 5 * time.Second} // of what is lost, one in ten is lost thrice
			r := newRig(t, p, patient)
			c := r.joined(p, patient)
			lossy := lossy(7, 30)
			r.tamper = lossy
			leave(r, c)
			require.Len(t, c.log, 1+btoi(name == "the client closes"), "its own game is told at once")
			r.until(func() bool { return c.State() == netcode.Disconnected && len(r.server.log) == 2 })
			require.Equal(t, want, got)
			require.Zero(t, r.server.Stats().FlushesCut+c.Stats().FlushesCut)
		})
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestClosingDoesNotWaitForEver(t *testing.T) {
	p := protocol()
	netcode.Handle[chat](p, nil, netcode.Over(netcode.Reliable))
	r := newRig(t, p, netcode.Config{})
	c := r.joined(p, netcode.Config{FlushTimeout: 700 * time.Millisecond})
	r.tamper = lossy(1, 100)
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{1}))
	c.Close()
	r.run(600 * time.Millisecond)
	require.Equal(t, netcode.Closing, c.State())
	require.Zero(t, c.Stats().FlushesCut)
	r.run(700 * time.Millisecond)
	require.Equal(t, netcode.Disconnected, c.State())
	require.EqualValues(t, 1, c.Stats().FlushesCut)
	r.run(10 * time.Second)
	require.Len(t, r.server.log, 2, "its silence tells the server")
}

// Both ends close at once: neither waits for the other's messages, and both are told.
func TestBothCloseAtOnce(t *testing.T) {
	p := protocol()
	netcode.Handle(p, func(*netcode.Context, *chat) { t.Error("handled after the end") }, netcode.Over(netcode.Reliable))
	r := newRig(t, p, netcode.Config{})
	c := r.joined(p, netcode.Config{})
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{1}))
	require.NoError(t, netcode.Send(r.server.Server, netcode.To(1), &chat{1}))
	c.Close()
	r.server.Close(peer.ReasonNone)
	r.until(func() bool { return c.Closed() && r.server.Closed() })
	require.ErrorIs(t, c.Err(), peer.ReasonClosed)
	require.Equal(t, "disconnect 1: server is shutting down", r.server.log[1])
}
