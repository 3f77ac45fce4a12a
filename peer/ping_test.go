package peer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/wire"
)

// arrive is deliver of a packet that came before the frame in which it is read.
func arrive(t require.TestingT, c *Conn, packet []byte, arrived, now time.Duration) {
	in, err := c.Read(packet, now, nil)
	require.NoError(t, err)
	in.Arrived = arrived
	c.Accept(in, now)
}

// delayOf returns the ack delay of a packet, and whether it has one.
func delayOf(t require.TestingT, packet []byte) (time.Duration, bool) {
	h, _, err := wire.ParsePacketHeader(packet)
	require.NoError(t, err)
	return time.Duration(h.Delay) * wire.AckDelayUnit, h.HasDelay
}

// Ping is the way there and back, whatever the frames of both ends are.
func TestPingIsTheWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := func(name string, most time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(most)).Draw(t, name))
		}
		a, b := newTestConn(1, 64), newTestConn(1, 64)
		now, told := time.Duration(0), -delayEvery
		for range 10 {
			there, back := span("there", 200*time.Millisecond), span("back", 200*time.Millisecond)
			question := finish(t, a, rapid.Bool().Draw(t, "eliciting"), 1, now)
			arrived := now + there
			frame := arrived + span("until the frame", 50*time.Millisecond)
			arrive(t, b, question, arrived, frame)
			sent := frame + span("until the tick", 600*time.Millisecond)
			answer := finish(t, b, true, 1, sent)
			delay, has := delayOf(t, answer)
			require.Equal(t, sent-told >= delayEvery && sent-arrived < 1<<16*wire.AckDelayUnit, has)
			before := a.Ping()
			now = sent + back + span("until the frame", 50*time.Millisecond)
			arrive(t, a, answer, sent+back, now)
			if has {
				told = sent
				require.InDelta(t, float64(sent-arrived), float64(delay), float64(wire.AckDelayUnit))
				require.InDelta(t, float64(there+back), float64(a.Ping()), float64(wire.AckDelayUnit))
			} else {
				require.Equal(t, before, a.Ping())
			}
			now += span("pause", time.Second)
		}
	})
}

// An ack delay stands in packets with messages only, and only where they have room for it: neither a probe nor a full packet grows.
func TestAckDelayNeedsRoom(t *testing.T) {
	a, b := newTestConn(1, 64), newTestConn(1, 64)
	_, has := delayOf(t, finish(t, b, true, 1, 0))
	require.False(t, has, "nothing came")
	deliver(t, b, finish(t, a, true, 1, 0), 0, nil)
	_, has = delayOf(t, finish(t, b, false, 1, 0))
	require.False(t, has, "no message: it may be repeated as it is")
	fill := func(builder Builder, spare int) []byte {
		n := builder.Room() - spare
		require.True(t, builder.Add(wire.MessageKeepAlive, 0, n))
		packet := b.Finish(&builder, 1, 0)
		require.NotNil(t, packet)
		return packet
	}
	var buf [DefaultPacketSize]byte
	for spare := range wire.AckDelaySize {
		_, has = delayOf(t, fill(b.Begin(buf[:]), spare))
		require.False(t, has, "%d bytes are left", spare)
	}
	_, has = delayOf(t, fill(b.BeginProbe(buf[:], 700), 0))
	require.False(t, has, "a probe")
	packet := fill(b.Begin(buf[:]), wire.AckDelaySize)
	_, has = delayOf(t, packet)
	require.True(t, has)
	require.Len(t, packet, DefaultPacketSize)
	arrive(t, a, packet, 0, 0)
}

// An ack delay may be any number, about any packet.
func TestAckDelayIsNotTrusted(t *testing.T) {
	a := newTestConn(1, 64)
	for range 3 {
		finish(t, a, true, 1, time.Second)
	}
	say := func(sequence, ack uint16, delay uint16, now time.Duration) {
		deliver(t, a, handmade(wire.PacketHeader{
			Sequence: wire.Sequence(sequence), HasAck: true, Ack: wire.Sequence(ack), HasDelay: true, Delay: delay,
		}, nil), now, nil)
	}
	say(1, 3, 0, time.Second+80*time.Millisecond)
	require.Equal(t, 80*time.Millisecond, a.Ping())
	say(2, 3, 65535, time.Second+90*time.Millisecond)
	require.Zero(t, a.Ping(), "longer than it can have been")
	say(3, 65000, 0, 2*time.Second)
	require.Zero(t, a.Ping(), "a packet before the first")
	say(4, 3, 0, time.Hour)
	require.Equal(t, maxSample, a.Ping())
	a.NewPath()
	require.Zero(t, a.Ping())
	say(5, 3, 0, time.Hour)
	require.Zero(t, a.Ping(), "of the path before")
}
