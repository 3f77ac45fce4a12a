package netcode_test

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// page is a large message.
type page struct{ Text [500]uint64 }

// note is a message that fits a packet of the usual size, and no packet of 300 bytes.
type note struct{ Text [600]uint8 }

// One client's path drops datagrams of more than 300 bytes, handshakes apart. With both ends told, it gets and sends all that the other
// client does, whose packets stay large.
func TestPacketSizeOfOneClient(t *testing.T) {
	p := protocol()
	got := map[netcode.ClientID]int{}
	netcode.Handle(p, func(ctx *netcode.Context, m *page) {
		if m.Text[499] == 7 {
			got[ctx.Sender]++
		}
	}, netcode.Over(netcode.ReliableOrdered))
	netcode.Handle[note](p, nil)
	list := collections.NewList[[100]uint8](p, "list")
	r := newRig(t, p, netcode.Config{})
	narrow, dropped := transport.Addr{}, 0
	longest := map[transport.Addr]int{}
	r.tamper = func(from, to transport.Addr, packet []byte) []byte {
		end := to
		if to == r.server.conn.LocalAddr() {
			end = from
		}
		if packet[0]&0x80 == 0 {
			longest[end] = max(longest[end], len(packet))
			if end == narrow && len(packet) > 300 {
				dropped++
				return nil
			}
		}
		return packet
	}
	r.server.OnConnect(func(id netcode.ClientID) {
		if id == 1 {
			require.NoError(t, r.server.SetPacketSize(id, 300))
		}
	})
	bodies := make([]wire.NetworkID, 0, 300)
	r.change(func(store *snapshot.Store) {
		for range cap(bodies) {
			id := store.Spawn()
			r.set(store, id, float32(len(bodies)))
			bodies = append(bodies, id)
		}
	})
	c := r.join(p, netcode.Config{})
	narrow = c.conn.LocalAddr()
	c.OnConnect(func(netcode.ClientID) { require.NoError(t, c.SetPacketSize(300)) })
	r.until(func() bool { return len(r.server.log) > 0 })
	wide := r.joined(p, netcode.Config{})
	for n := range uint8(3) {
		require.NoError(t, list.Of(r.server.Server, bodies[0]).Append([100]uint8{n}))
	}
	large := &page{}
	large.Text[499] = 7
	for _, end := range []*clientEnd{c, wide} {
		require.NoError(t, netcode.Send(end.Client, netcode.ToServer(), large))
	}
	require.NoError(t, netcode.Send(r.server.Server, netcode.ToAll(), large))
	r.run(2 * time.Second)
	for _, end := range []*clientEnd{c, wide} {
		for i, id := range bodies {
			x, ok := r.x(end, id)
			require.True(t, ok)
			require.Equal(t, float32(i), x)
		}
		require.Equal(t, 3, list.Of(end.Client, bodies[0]).Len())
	}
	require.Equal(t, map[netcode.ClientID]int{0: 2, 1: 1, 2: 1}, got)
	require.Zero(t, dropped)
	require.LessOrEqual(t, longest[narrow], 300)
	require.Greater(t, longest[wide.conn.LocalAddr()], 1000, "the other client's packets stay as large as they were")

	var large2 *netcode.TooLargeError
	require.ErrorAs(t, netcode.Send(r.server.Server, netcode.To(1), &note{}), &large2)
	require.Less(t, large2.Max, 300)
	require.NoError(t, netcode.Send(r.server.Server, netcode.To(2), &note{}))
	r.run(100 * time.Millisecond)
	require.NoError(t, r.server.SetPacketSize(1, 1200), "and back, when nothing waits")
	require.NoError(t, netcode.Send(r.server.Server, netcode.To(1), &note{}))
}

// A size out of its range, a client that is not there, and one for whom messages wait.
func TestPacketSizeRefuses(t *testing.T) {
	p := protocol()
	netcode.Handle[chat](p, nil, netcode.Over(netcode.Reliable))
	r := newRig(t, p, netcode.Config{PacketSize: 1000})
	c := r.join(p, netcode.Config{})
	require.ErrorIs(t, c.SetPacketSize(500), netcode.ErrNotConnected)
	require.ErrorIs(t, r.server.SetPacketSize(1, 500), netcode.ErrNotConnected)
	r.until(func() bool { return len(r.server.log) > 0 && c.State() == netcode.Connected })
	for _, n := range []int{-1, 0, 255, 1001, math.MaxInt} {
		want := &netcode.PacketSizeError{Size: n, Min: 256, Max: 1000}
		require.Equal(t, want, r.server.SetPacketSize(1, n))
		require.Equal(t, want, c.SetPacketSize(n))
	}
	require.NoError(t, r.server.SetPacketSize(1, 256))
	require.NoError(t, c.SetPacketSize(1000))
	require.NoError(t, netcode.Send(r.server.Server, netcode.To(1), &chat{1}))
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{1}))
	require.ErrorIs(t, r.server.SetPacketSize(1, 500), netcode.ErrMessagesWait)
	require.ErrorIs(t, c.SetPacketSize(500), netcode.ErrMessagesWait)
	r.run(time.Second)
	require.NoError(t, r.server.SetPacketSize(1, 500))
	require.NoError(t, c.SetPacketSize(500))
}

// A packet that tries a size leaves in a tick with state. It does not tell a client that lost the state that it has all of the tick.
func TestAPacketThatTriesASizeCompletesNoTick(t *testing.T) {
	p := protocol()
	r := newRig(t, p, netcode.Config{SendBudget: -1})
	c := r.joined(p, netcode.Config{})
	var ids []wire.NetworkID
	var probes []tick.Tick
	r.tamper = func(from, to transport.Addr, packet []byte) []byte {
		if from != r.server.conn.LocalAddr() {
			return packet
		}
		if n := len(packet); n > 600 && bytes.Equal(packet[n-200:n-10], make([]byte, 190)) {
			probes = append(probes, r.server.Tick())
			return packet
		}
		return nil // All state is lost.
	}
	r.server.game = func(store *snapshot.Store) {
		for len(ids) < 300 {
			ids = append(ids, store.Spawn())
		}
		for i, id := range ids {
			r.set(store, id, float32(store.Tick())*1.234567+float32(i)*7.7)
		}
	}
	r.run(300 * time.Millisecond)
	require.NotEmpty(t, probes)
	for _, at := range probes {
		require.False(t, c.Replica().Complete(at, at), "all state of tick %d was lost", at)
	}
}
