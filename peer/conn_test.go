package peer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

const ms = time.Millisecond

func TestAckTravels(t *testing.T) {
	for _, first := range append(startSequences(), 1) {
		a, b := newTestConn(first, 64), newTestConn(first, 64)
		var out log
		in := deliver(t, b, finish(t, a, true, 5, 0), 40*ms, nil)
		require.Equal(t, first, in.Sequence)
		require.True(t, in.Eliciting)
		require.True(t, b.AckDue())
		require.False(t, b.AckNow())

		back := finish(t, b, false, 5, 50*ms)
		require.False(t, b.AckDue())
		in = deliver(t, a, back, 90*ms, &out)
		require.False(t, in.Eliciting)
		require.False(t, a.AckDue(), "an acknowledgement elicits none")
		require.Equal(t, []uint64{first}, out.acked)
		require.Equal(t, []tick.Tick{5}, out.ticks)
		rtt, jitter := a.RTT()
		require.Equal(t, 90*ms, rtt)
		require.Equal(t, 45*ms, jitter)
		at, any := a.Heard()
		require.True(t, any)
		require.Equal(t, 90*ms, at)
	}
}

func TestNoDecodeNoAck(t *testing.T) {
	a, b := newTestConn(1, 64), newTestConn(1, 64)
	packet := finish(t, a, true, 1, 0)
	_, err := b.Read(packet, 0, nil)
	require.NoError(t, err)
	require.False(t, b.AckDue())
	_, any := b.Heard()
	require.False(t, any)
	var out log
	deliver(t, a, finish(t, b, false, 1, 0), 0, &out)
	require.Empty(t, out.acked)
	deliver(t, b, packet, 0, nil) // read again: what was not accepted is no duplicate
	_, err = b.Read(packet, 0, nil)
	require.ErrorIs(t, err, ErrDuplicate)
}

func TestAckNowAfterSixteen(t *testing.T) {
	a, b := newTestConn(1, 64), newTestConn(1, 64)
	for n := range 16 {
		require.False(t, b.AckNow(), "after %d", n)
		deliver(t, b, finish(t, a, false, 1, 0), 0, nil)
		deliver(t, b, finish(t, a, true, 1, 0), 0, nil)
	}
	require.True(t, b.AckNow())
	var buf [64]byte
	builder := b.Begin(buf[:])
	deliver(t, b, finish(t, a, true, 1, 0), 0, nil)
	require.NotNil(t, b.Finish(&builder, 1, 0))
	require.True(t, b.AckDue(), "accepted after Begin: that packet does not acknowledge it")
	require.False(t, b.AckNow())
}

func TestDamageNeverAffectsState(t *testing.T) {
	a, b := newTestConn(1, 64), newTestConn(1, 64)
	deliver(t, b, finish(t, a, true, 1, 0), 0, nil)
	packet := finish(t, b, true, 1, 0)
	before := *a
	before.sent.ring = append([]record(nil), a.sent.ring...)
	var out log
	for bit := range 8 * len(packet) {
		packet[bit/8] ^= 1 << (bit % 8)
		_, err := a.Read(packet, ms, &out)
		require.ErrorIs(t, err, ErrChecksum)
		packet[bit/8] ^= 1 << (bit % 8)
	}
	for n := range packet {
		_, err := a.Read(packet[:n], ms, &out)
		require.ErrorIs(t, err, ErrChecksum)
	}
	foreign := NewConn(ConnConfig{Check: wire.NewChecksum(testEpoch+1, testProtocol)})
	_, err := a.Read(finish(t, foreign, true, 1, 0), ms, &out)
	require.ErrorIs(t, err, ErrChecksum, "another epoch")

	require.Equal(t, uint64(8*len(packet)+len(packet)+1), a.Stats().BadChecksum)
	before.stats.BadChecksum = a.stats.BadChecksum
	require.Equal(t, before, *a)
	require.Empty(t, out.acked)
	deliver(t, a, packet, ms, &out)
	require.Equal(t, []uint64{1}, out.acked)
}

func TestMalformedPackets(t *testing.T) {
	legal := wire.PacketHeader{Sequence: 1}
	good := handmade(legal, []byte{16, 0, 1, 0, 'x'})
	parse := func(b []byte) error {
		c := newTestConn(1, 64)
		in, err := c.Read(b, 0, nil)
		if err == ErrMalformed {
			require.Equal(t, uint64(1), c.Stats().Malformed)
			require.Equal(t, Incoming{}, in)
		}
		return err
	}
	cutEverywhere(t, testCheck(), good, len(good), parse)
	body := good[:len(good)-wire.ChecksumSize]
	for name, bad := range map[string][]byte{
		"flag":            append([]byte{0x40}, body[1:]...),
		"handshake":       append([]byte{0x80}, body[1:]...),
		"bytes after":     append(append([]byte(nil), body...), 0),
		"batch too large": append([]byte{0, 1, 0, 8, 0}, body[5:]...),
		"batch too small": append([]byte{0, 1, 0, 6, 0}, body[5:]...),
		"batch below two": {0, 1, 0, 1, 0},
		"no batch":        {0, 1, 0},

		"a further batch without a message":        append(append([]byte(nil), body...), 3, 0, 5),
		"a further batch below its header":         append(append([]byte(nil), body...), 2, 0, 5),
		"a further batch of the same channel":      append(append([]byte(nil), body...), 7, 0, 0, 16, 0, 0, 0),
		"a further batch with one byte too many":   append(append([]byte(nil), body...), 7, 0, 5, 16, 0, 0, 0, 0),
		"a further batch with one byte too few":    append(append([]byte(nil), body...), 8, 0, 5, 16, 0, 0, 0),
		"two of the same channel after each other": append(append([]byte(nil), body...), 7, 0, 5, 16, 0, 0, 0, 7, 0, 5, 16, 0, 0, 0),
	} {
		require.ErrorIs(t, parse(seal(testCheck(), append([]byte(nil), bad...), 0)), ErrMalformed, name)
	}
}

func TestConfigDefaultsAndLimits(t *testing.T) {
	c := NewConn(ConnConfig{})
	require.Equal(t, uint64(1), c.Next())
	require.Len(t, c.sent.ring, DefaultSentPackets)
	require.Equal(t, DefaultPacketSize, c.config.PacketSize)
	for asked, want := range map[int]int{-1: 1024, 1: 64, 64: 64, 65: 128, 1000: 1024, 1 << 20: 1 << 14} {
		require.Len(t, NewConn(ConnConfig{SentPackets: asked}).sent.ring, want)
	}
	require.Equal(t, MinPacketSize, NewConn(ConnConfig{PacketSize: 3}).config.PacketSize)
	require.Equal(t, MaxPacketSize, NewConn(ConnConfig{PacketSize: 1 << 20}).config.PacketSize)
}
