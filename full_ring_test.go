package netcode_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// While the ring of sent packets is full, state waits, and only pulses leave. A client must not take the ticks of these pulses, nor
// those between them, for complete.
func TestAPulseDoesNotHideStateThatWaits(t *testing.T) {
	p := protocol()
	r := newRig(t, p, netcode.Config{SentPackets: 64})
	c := r.joined(p, netcode.Config{})
	id := r.spawn(0)
	r.sees(c, id, 0)
	r.server.game = func(store *snapshot.Store) { r.set(store, id, float32(store.Tick())) }
	r.run(time.Second)
	complete := map[tick.Tick]bool{}
	check := func() {
		for at := c.Replica().Heard(); at > c.Replica().Heard()-tick.Tick(32); at-- {
			if c.Replica().Complete(at, at) {
				v, ok := c.Replica().AsOf(id, at)
				require.True(t, ok)
				require.Equal(t, float32(at), math.Float32frombits(v.Row(1)[0]), "tick %d counts as complete", at)
				complete[at] = true
			}
		}
	}
	check()
	require.NotEmpty(t, complete)

	r.tamper = func(_, to transport.Addr, packet []byte) []byte {
		if to == r.server.conn.LocalAddr() {
			return nil
		}
		return packet
	}
	pulses, before := 0, c.ServerTime().Tick
	for end := r.now + 4*time.Second; r.now < end; {
		sent := r.server.Stats().SentRingFull
		heard := c.Stats().Packets.Received
		r.step()
		if r.server.Stats().SentRingFull > sent && c.Stats().Packets.Received > heard {
			pulses++
		}
		check()
	}
	require.GreaterOrEqual(t, pulses, 3, "the ring is not full: the test shows nothing")
	require.Greater(t, c.ServerTime().Tick, before+60, "the clock runs")
	r.tamper = nil
	for end := r.now + time.Second; r.now < end; {
		r.step()
		check()
	}
	x, ok := r.x(c, id)
	require.True(t, ok)
	require.InDelta(t, float64(r.server.Store().Tick()), float64(x), 1)
}

// A server that closes with a full ring tells the client its own reason: its keep-alives are legal.
func TestAFlushWithAFullRingTellsItsReason(t *testing.T) {
	p := protocol()
	netcode.Handle(p, func(*netcode.Context, *chat) {}, netcode.Over(netcode.ReliableOrdered))
	r := newRig(t, p, netcode.Config{SentPackets: 64, FlushTimeout: 4 * time.Second})
	c := r.joined(p, netcode.Config{})
	id := r.spawn(0)
	r.sees(c, id, 0)
	r.server.game = func(store *snapshot.Store) { r.set(store, id, float32(store.Tick())) }
	r.tamper = func(_, to transport.Addr, packet []byte) []byte {
		if to == r.server.conn.LocalAddr() {
			return nil
		}
		return packet
	}
	r.run(2 * time.Second)
	require.NotZero(t, r.server.Stats().SentRingFull)
	require.NoError(t, netcode.Send(r.server.Server, netcode.To(c.ID()), &chat{1}))
	require.True(t, r.server.Kick(c.ID(), "late"))
	r.run(time.Second)
	require.Equal(t, netcode.Connected, c.State())
	r.tamper = nil
	r.until(func() bool { return c.State() == netcode.Disconnected })
	var reason *peer.Error
	require.ErrorAs(t, c.Err(), &reason)
	require.Equal(t, peer.ReasonKicked, reason.Reason)
	require.Equal(t, "late", reason.Detail)
}
