package peer

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// TestBuilderNeverExceedsThePacket fills packets with random messages and reads
// them back.
func TestBuilderNeverExceedsThePacket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(MinPacketSize, 1500).Draw(t, "size")
		a := NewConn(ConnConfig{Check: testCheck(), PacketSize: size})
		b := NewConn(ConnConfig{Check: testCheck()})
		if rapid.Bool().Draw(t, "acks") {
			a.received.accept(1, true)
			a.received.accept(5, true)
			b.sent.push(1, 0, sentPending)
			for range 4 {
				b.sent.push(1, 0, sentSilent)
			}
		}
		buf := make([]byte, rapid.IntRange(size, 2000).Draw(t, "buffer"))
		builder := a.Begin(buf)
		require.True(t, builder.Empty())
		require.GreaterOrEqual(t, builder.Room(), MaxPayload(size))
		var want [][]byte
		for {
			n := rapid.IntRange(0, 300).Draw(t, "n")
			fits := builder.Fits(n)
			require.Equal(t, fits && n > 0, n > 0 && n <= builder.Room())
			message := rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "message")
			space := builder.Payload()
			require.Len(t, space, builder.Room())
			copy(space, message)
			require.Equal(t, fits, builder.Add(wire.FirstUserMessage, tick.Update, n))
			if !fits {
				break
			}
			want = append(want, message)
		}
		packet := a.Finish(&builder, 1, 0)
		require.LessOrEqual(t, len(packet), size)
		require.Same(t, &buf[0], &packet[0])
		in, err := b.Read(packet, 0, nil)
		require.NoError(t, err)
		require.Equal(t, len(want) > 0, in.Eliciting)
		r := in.Messages()
		for _, message := range want {
			require.True(t, r.Next())
			require.Equal(t, string(message), string(r.Payload))
		}
		require.False(t, r.Next())
		require.NoError(t, r.Err())
	})
}

func TestBuilderExactFit(t *testing.T) {
	c := NewConn(ConnConfig{Check: testCheck(), PacketSize: 100})
	buf := make([]byte, 100)
	b := c.Begin(buf)
	require.True(t, b.Add(wire.FirstUserMessage, tick.Update, b.Room()))
	require.False(t, b.Fits(0))
	require.Zero(t, b.Room())
	require.Nil(t, b.Payload())
	require.Len(t, c.Finish(&b, 1, 0), 100)

	b = c.Begin(buf)
	require.True(t, b.Add(wire.FirstUserMessage, tick.Update, b.Room()-wire.MessageHeaderSize))
	require.Zero(t, b.Room())
	require.True(t, b.Add(wire.MessageKeepAlive, tick.Update, 0), "a message without payload fills the rest")
	require.False(t, b.Add(wire.MessageKeepAlive, tick.Update, -1))
	require.Len(t, c.Finish(&b, 1, 0), 100)
}

func TestFinishRefusesStaleBuilders(t *testing.T) {
	c := newTestConn(1, 64)
	one, two := make([]byte, 100), make([]byte, 100)
	first, second := c.Begin(one), c.Begin(two)
	require.NotNil(t, c.Finish(&first, 1, 0))
	require.Nil(t, c.Finish(&second, 1, 0), "its sequence is used")
	require.Nil(t, c.Finish(&first, 1, 0), "finished before")
	var none Builder
	require.Nil(t, c.Finish(&none, 1, 0))
	require.Zero(t, none.Room())
	require.False(t, none.Add(wire.FirstUserMessage, tick.Update, 0))
	require.True(t, none.Empty())
	short := c.Begin(make([]byte, 14))
	require.Nil(t, c.Finish(&short, 1, 0), "no buffer for a header")
	require.Equal(t, uint64(2), c.Next())
	require.Equal(t, uint64(1), c.Stats().Sent)
}

func TestShortestPackets(t *testing.T) {
	a, b := newTestConn(1, 64), newTestConn(1, 64)
	packet := finish(t, a, false, 1, 0)
	require.Len(t, packet, 9, "header 3, batch size 2, checksum 4")
	deliver(t, b, packet, 0, nil)
	for range 40 {
		packet = finish(t, a, false, 1, 0)
		deliver(t, b, packet, 0, nil)
	}
	require.Len(t, finish(t, b, false, 1, 0), 11, "ack 2 more; ack bits as expected take nothing")
}
