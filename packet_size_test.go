package netcode_test

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/congestion"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
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
	r := rig.New(t, p, netcode.Config{})
	narrow, dropped := transport.Addr{}, 0
	longest := map[transport.Addr]int{}
	r.Tamper = func(from, to transport.Addr, packet []byte) []byte {
		end := to
		if to == r.Server.Conn.LocalAddr() {
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
	r.Server.OnConnect(func(id netcode.ClientID) {
		if id == 1 {
			require.NoError(t, r.Server.SetPacketSize(id, 300))
		}
	})
	bodies := make([]wire.NetworkID, 0, 300)
	r.Change(func(store *snapshot.Store) {
		for range cap(bodies) {
			id := store.Spawn()
			r.Set(store, id, float32(len(bodies)))
			bodies = append(bodies, id)
		}
	})
	c := r.Join(p, netcode.Config{})
	narrow = c.Conn.LocalAddr()
	c.OnConnect(func(netcode.ClientID) { require.NoError(t, c.SetPacketSize(300)) })
	r.Until(func() bool { return len(r.Server.Log) > 0 })
	wide := r.Joined(p, netcode.Config{})
	for n := range uint8(3) {
		require.NoError(t, list.Of(r.Server.Server, bodies[0]).Append([100]uint8{n}))
	}
	large := &page{}
	large.Text[499] = 7
	for _, end := range []*rig.ClientEnd{c, wide} {
		require.NoError(t, netcode.Send(end.Client, netcode.ToServer(), large))
	}
	require.NoError(t, netcode.Send(r.Server.Server, netcode.ToAll(), large))
	r.Run(2 * time.Second)
	for _, end := range []*rig.ClientEnd{c, wide} {
		for i, id := range bodies {
			x, ok := r.X(end, id)
			require.True(t, ok)
			require.Equal(t, float32(i), x)
		}
		require.Equal(t, 3, list.Of(end.Client, bodies[0]).Len())
	}
	require.Equal(t, map[netcode.ClientID]int{0: 2, 1: 1, 2: 1}, got)
	require.Zero(t, dropped)
	require.LessOrEqual(t, longest[narrow], 300)
	require.Greater(t, longest[wide.Conn.LocalAddr()], 1000, "the other client's packets stay as large as they were")

	var large2 *errs.TooLargeError
	require.ErrorAs(t, netcode.Send(r.Server.Server, netcode.To(1), &note{}), &large2)
	require.Less(t, large2.Max, 300)
	require.NoError(t, netcode.Send(r.Server.Server, netcode.To(2), &note{}))
	r.Run(100 * time.Millisecond)
	require.NoError(t, r.Server.SetPacketSize(1, 1200), "and back, when nothing waits")
	require.NoError(t, netcode.Send(r.Server.Server, netcode.To(1), &note{}))
}

// A size out of its range, a client that is not there, and one for whom messages wait.
func TestPacketSizeRefuses(t *testing.T) {
	p := protocol()
	netcode.Handle[chat](p, nil, netcode.Over(netcode.Reliable))
	r := rig.New(t, p, netcode.Config{PacketSize: 1000})
	c := r.Join(p, netcode.Config{})
	require.ErrorIs(t, c.SetPacketSize(500), errs.ErrNotConnected)
	require.ErrorIs(t, r.Server.SetPacketSize(1, 500), errs.ErrNotConnected)
	r.Until(func() bool { return len(r.Server.Log) > 0 && c.State() == netcode.Connected })
	for _, n := range []int{-1, 0, 255, 1001, math.MaxInt} {
		want := &errs.PacketSizeError{Size: n, Min: 256, Max: 1000}
		require.Equal(t, want, r.Server.SetPacketSize(1, n))
		require.Equal(t, want, c.SetPacketSize(n))
	}
	require.NoError(t, r.Server.SetPacketSize(1, 256))
	require.NoError(t, c.SetPacketSize(1000))
	require.NoError(t, netcode.Send(r.Server.Server, netcode.To(1), &chat{1}))
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{1}))
	require.ErrorIs(t, r.Server.SetPacketSize(1, 500), errs.ErrMessagesWait)
	require.ErrorIs(t, c.SetPacketSize(500), errs.ErrMessagesWait)
	r.Run(time.Second)
	require.NoError(t, r.Server.SetPacketSize(1, 500))
	require.NoError(t, c.SetPacketSize(500))
}

// A packet that tries a size leaves in a tick with state. It does not tell a client that lost the state that it has all of the tick.
func TestAPacketThatTriesASizeCompletesNoTick(t *testing.T) {
	r, c := connected(t, netcode.Config{SendBudget: -1})
	var ids []wire.NetworkID
	var probes []tick.Tick
	r.Tamper = func(from, to transport.Addr, packet []byte) []byte {
		if from != r.Server.Conn.LocalAddr() {
			return packet
		}
		if n := len(packet); n > 600 && bytes.Equal(packet[n-200:n-10], make([]byte, 190)) {
			probes = append(probes, r.Server.Tick())
			return packet
		}
		return nil // All state is lost.
	}
	r.Server.Game = func(store *snapshot.Store) {
		for len(ids) < 300 {
			ids = append(ids, store.Spawn())
		}
		for i, id := range ids {
			r.Set(store, id, float32(store.Tick())*1.234567+float32(i)*7.7)
		}
	}
	r.Run(300 * time.Millisecond)
	require.NotEmpty(t, probes)
	for _, at := range probes {
		require.False(t, c.Replica().Complete(at, at), "all state of tick %d was lost", at)
	}
}

// A KeepAlive is padded with zeros, and with nothing else: there is one way to write it.
func TestPaddingIsZeros(t *testing.T) {
	for _, c := range []struct {
		name    string
		payload []byte
		legal   bool
	}{
		{"none", nil, true},
		{"one", []byte{0}, true},
		{"a packet full", make([]byte, 1100), true},
		{"a byte at the end", append(make([]byte, 1000), 1), false},
		{"a byte at the start", append([]byte{1}, make([]byte, 1000)...), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := protocol()
			r := rig.New(t, p, netcode.Config{})
			th := rig.NewThief(r, p)
			th.Send(wire.MessageKeepAlive, 0, c.payload)
			_, there := r.Server.ClientStats(1)
			require.Equal(t, c.legal, there)

			im := newImposter(t, p, netcode.Config{})
			b := im.conn.Begin(make([]byte, 1200))
			payload := append([]byte{7, 0}, c.payload...)
			copy(b.Payload(), payload)
			require.True(t, b.Add(wire.MessageKeepAlive, 0, len(payload)))
			steps.OfClient(im.client).Receive(im.socket.LocalAddr(), im.conn.Finish(&b, 1, 0))
			require.Equal(t, c.legal, im.client.State() == netcode.Connected)
			if !c.legal {
				require.ErrorIs(t, im.client.Err(), errs.ReasonMalformed)
			}
		})
	}
}

// A server bounds one client alone, and both ends tell the state of their direction.
func TestSetBudgetBoundsOneClient(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[position](p)
	r := rig.New(t, p, netcode.Config{})
	first, second := r.Joined(p, netcode.Config{}), r.Joined(p, netcode.Config{SendBudget: -1})
	r.Run(time.Second)
	require.NoError(t, r.Server.SetBudget(first.ID(), 6000))
	require.ErrorIs(t, r.Server.SetBudget(77, 6000), errs.ErrNotConnected)
	line := func(id netcode.ClientID) congestion.State {
		stats, ok := r.Server.ClientStats(id)
		require.True(t, ok)
		return stats.Line
	}
	require.LessOrEqual(t, line(first.ID()).Rate, 6000+6000/96*28, "with IP and UDP of small packets")
	require.Equal(t, 16<<10, line(second.ID()).Rate, "the first rate")
	require.Equal(t, congestion.Application, line(second.ID()).Reason)
	require.Equal(t, congestion.Application, first.Line().Reason)
	require.Equal(t, congestion.State{}, second.Line(), "unlimited is not controlled")
	require.NoError(t, r.Server.SetBudget(first.ID(), -1))
	require.Equal(t, congestion.State{}, line(first.ID()))
	require.NoError(t, r.Server.SetBudget(first.ID(), 6000))
	r.Run(time.Second)
	require.Positive(t, line(first.ID()).Rate)
}

// A client whose budget is too short for what changes is told so as the reason of its rate. A budget of 0 is that of Config.SendBudget.
func TestALineTellsThatItsBudgetIsSpent(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{})
	var ids []netcode.NetworkID
	for i := range 400 {
		r.Change(func(store *snapshot.Store) { ids = append(ids, store.Spawn()); r.Set(store, ids[i], float32(i)) })
	}
	c := r.Joined(p, netcode.Config{})
	r.Server.Game = func(store *snapshot.Store) {
		for i, id := range ids {
			r.Set(store, id, float32(int(r.Now/time.Millisecond)+i))
		}
	}
	sent := func() uint64 {
		before := r.Server.Stats().Packets.BytesSent
		r.Run(2 * time.Second)
		return r.Server.Stats().Packets.BytesSent - before
	}
	require.NoError(t, r.Server.SetBudget(c.ID(), 6000))
	require.Less(t, sent(), uint64(2*6000+2*2400))
	stats, _ := r.Server.ClientStats(c.ID())
	require.Equal(t, congestion.Bound, stats.Line.Reason)
	require.NoError(t, r.Server.SetBudget(c.ID(), 0))
	require.Greater(t, sent(), uint64(30_000))
}

// While the ring of sent packets is full, state waits, and only pulses leave. A client must not take the ticks of these pulses, nor
// those between them, for complete.
func TestAPulseDoesNotHideStateThatWaits(t *testing.T) {
	r, c := connected(t, netcode.Config{SentPackets: 64})
	id := r.Spawn(0)
	r.Sees(c, id, 0)
	r.Server.Game = func(store *snapshot.Store) { r.Set(store, id, float32(store.Tick())) }
	r.Run(time.Second)
	complete := map[tick.Tick]bool{}
	check := func() {
		for at := c.Replica().NewestKnown(); at > c.Replica().NewestKnown()-tick.Tick(32); at-- {
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

	r.Tamper = func(_, to transport.Addr, packet []byte) []byte {
		if to == r.Server.Conn.LocalAddr() {
			return nil
		}
		return packet
	}
	pulses, before := 0, c.ServerTime().Tick
	for end := r.Now + 4*time.Second; r.Now < end; {
		sent := r.Server.Stats().SentRingFull
		heard := c.Stats().Packets.Received
		r.Step()
		if r.Server.Stats().SentRingFull > sent && c.Stats().Packets.Received > heard {
			pulses++
		}
		check()
	}
	require.GreaterOrEqual(t, pulses, 3, "the ring is not full: the test shows nothing")
	require.Greater(t, c.ServerTime().Tick, before+60, "the clock runs")
	r.Tamper = nil
	for end := r.Now + time.Second; r.Now < end; {
		r.Step()
		check()
	}
	x, ok := r.X(c, id)
	require.True(t, ok)
	require.InDelta(t, float64(r.Server.Store().Tick()), float64(x), 1)
}

// A server that closes with a full ring tells the client its own reason: its keep-alives are legal.
func TestAFlushWithAFullRingTellsItsReason(t *testing.T) {
	p := protocol()
	netcode.Handle(p, func(*netcode.Context, *chat) {}, netcode.Over(netcode.ReliableOrdered))
	r := rig.New(t, p, netcode.Config{SentPackets: 64, FlushTimeout: 4 * time.Second})
	c := r.Joined(p, netcode.Config{})
	id := r.Spawn(0)
	r.Sees(c, id, 0)
	r.Server.Game = func(store *snapshot.Store) { r.Set(store, id, float32(store.Tick())) }
	r.Tamper = func(_, to transport.Addr, packet []byte) []byte {
		if to == r.Server.Conn.LocalAddr() {
			return nil
		}
		return packet
	}
	r.Run(2 * time.Second)
	require.NotZero(t, r.Server.Stats().SentRingFull)
	require.NoError(t, netcode.Send(r.Server.Server, netcode.To(c.ID()), &chat{1}))
	require.True(t, r.Server.Kick(c.ID(), "late"))
	r.Run(time.Second)
	require.Equal(t, netcode.Connected, c.State())
	r.Tamper = nil
	r.Until(func() bool { return c.State() == netcode.Disconnected })
	var reason *errs.CloseError
	require.ErrorAs(t, c.Err(), &reason)
	require.Equal(t, errs.ReasonKicked, reason.Reason)
	require.Equal(t, "late", reason.Detail)
}
