package peer

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// TestPlainIsNext goes through packets with Next alone, and with Plain wherever it may: both find the same messages, and the
// same packets malformed.
func TestPlainIsNext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sizes message.Sizes
		for i := range sizes {
			sizes[i] = message.NoSize
		}
		sizes[16], sizes[17], sizes[200] = 16, 0, 3
		batches := []byte{0, 0}
		batch := 0
		for range rapid.IntRange(0, 20).Draw(t, "messages") {
			if rapid.IntRange(0, 5).Draw(t, "batch") == 0 && len(batches)-batch > 3 {
				wire.BatchHeader{Size: uint16(len(batches) - batch)}.Put(batches[batch:])
				batch = len(batches)
				batches = append(batches, 0, 0, rapid.SampledFrom([]byte{0, 1, 0x41}).Draw(t, "channel"))
			}
			size := rapid.SampledFrom([]int{16, 16, 0, 3}).Draw(t, "size")
			of := rapid.SampledFrom([]byte{16, 16, 17, 18, 200, 1, 0}).Draw(t, "type")
			stage := rapid.SampledFrom([]byte{0, 4, 6, 7, 8, 0x0C}).Draw(t, "stage")
			batches = append(append(batches, of, stage, byte(size), 0), make([]byte, size)...)
		}
		wire.BatchHeader{Size: uint16(len(batches) - batch)}.Put(batches[batch:])
		batches = batches[:len(batches)-rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "cut")]

		var want, got []string
		a := readBatches(batches)
		for a.Next() {
			want = append(want, fmt.Sprint(a.Channel, a.Header, a.Start()))
		}
		b := readBatches(batches)
		for {
			for _, p := range b.Plain(&sizes, nil) {
				for at := int(p.At); at < int(p.At)+int(p.Count)*(4+int(p.Size)); at += 4 + int(p.Size) {
					h := wire.MessageHeader{Type: p.Type, Stage: tick.Stage(batches[at+1]), Size: p.Size}
					got = append(got, fmt.Sprint(wire.Channel(0), h, at+4))
				}
			}
			if !b.Next() {
				break
			}
			got = append(got, fmt.Sprint(b.Channel, b.Header, b.Start()))
		}
		require.Equal(t, want, got)
		require.Equal(t, a.Err(), b.Err())
	})
}

// TestPutIsPush sends the same messages with Put, wherever that takes them, and with Push: the packets are the same.
func TestPutIsPush(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		config := OutgoingConfig{PacketSize: 200, UnreliableBytes: 800}
		a, b := NewOutgoing(config, NewPool(200)), NewOutgoing(config, NewPool(200))
		put := 0
		for i := range rapid.IntRange(1, 60).Draw(rt, "messages") {
			p := Post{Type: 16, Stage: tick.Stage(rapid.IntRange(0, tick.NumStages-1).Draw(rt, "stage"))}
			if rapid.IntRange(0, 6).Draw(rt, "other channel") == 0 {
				p.Channel = wire.NewChannel(wire.Reliable, 0)
			}
			body := make([]byte, rapid.IntRange(0, 100).Draw(rt, "size"))
			for k := range body {
				body[k] = byte(i)
			}
			var room []byte
			if p.Channel == 0 {
				if room = a.Put(header(p.Type, p.Stage, len(body))); room == nil {
					room = a.PutFirst(header(p.Type, p.Stage, len(body)))
				}
			}
			if room != nil {
				require.Len(rt, room, len(body))
				copy(room, body)
				put++
				require.NoError(rt, b.Push(&p, body))
				continue
			}
			require.Equal(rt, b.Push(&p, body), a.Push(&p, body))
		}
		require.Equal(rt, b.Stats(), a.Stats())
		require.Equal(rt, b.Waiting(), a.Waiting())
		require.Equal(rt, sendAll(t, newTestConn(1, 64), b), sendAll(t, newTestConn(1, 64), a))
	})
	o := NewOutgoing(OutgoingConfig{}, NewPool(DefaultPacketSize))
	require.Nil(t, o.Put(header(16, tick.Update, 5)), "the first message opens a batch, which is not its affair")
	require.Nil(t, o.PutFirst(header(16, tick.Update, 1<<16-1)), "no packet has so much room")
	require.True(t, len(o.PutFirst(header(16, tick.Update, 5))) == 5)
	require.NotNil(t, o.Put(header(16, tick.Update, 0)))
	require.Nil(t, o.Put(header(16, tick.Update, 1<<16-1)))
	_, err := o.Reserve(&Post{Type: 16}, 5)
	require.NoError(t, err)
	require.NotNil(t, o.Put(header(16, tick.Update, 3)))
	require.Panics(t, func() { o.Commit(5) }, "the room is another message's now")
	require.NoError(t, o.Push(&Post{Type: 16, Channel: wire.NewChannel(wire.Unreliable, 1)}, nil))
	require.Nil(t, o.Put(header(16, tick.Update, 0)), "another channel is open")
	o.Clear()
	require.Nil(t, o.Put(header(16, tick.Update, 0)), "nothing is open")
}

// header is that of a message without flags.
func header(t wire.MessageType, stage tick.Stage, size int) uint32 {
	return uint32(t) | uint32(stage)<<8 | uint32(size)<<16
}
