package peer

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// TestReserveSimpleEqualsReserve sends the same messages by ReserveSimple, wherever it returns memory, and by Push: the packets are
// the same.
func TestReserveSimpleEqualsReserve(t *testing.T) {
	if plain.On {
		t.Skip("netcode_plain: the build has no fast path")
	}
	rapid.Check(t, func(rt *rapid.T) {
		config := OutgoingConfig{PacketSize: 200, UnreliableBytes: 800}
		a, b := NewOutgoing(config, NewPool(200)), NewOutgoing(config, NewPool(200))
		ca, cb := newTestConn(1, 64), newTestConn(1, 64)
		for i := range rapid.IntRange(1, 60).Draw(rt, "messages") {
			p := Post{Type: 16, Stage: tick.Stage(rapid.IntRange(0, tick.NumStages-1).Draw(rt, "stage"))}
			switch rapid.IntRange(0, 9).Draw(rt, "other") {
			case 0:
				p.Channel = wire.NewChannel(wire.Reliable, 0)
			case 1:
				p.Channel = wire.NewChannel(wire.UnreliableSequenced, 1)
			case 2:
				require.Equal(rt, sendOne(t, cb, b, 150), sendOne(t, ca, a, 150))
			}
			body := make([]byte, rapid.IntRange(0, 100).Draw(rt, "size"))
			for k := range body {
				body[k] = byte(i)
			}
			var room []byte
			bound := len(body) + rapid.IntRange(0, 3).Draw(rt, "spare")
			if p.Channel == 0 {
				room = a.ReserveSimple(bound)
			}
			if room == nil || rapid.IntRange(0, 9).Draw(rt, "given up") == 0 {
				require.Equal(rt, b.Push(&p, body), a.Push(&p, body))
			} else {
				require.Len(rt, room, bound)
				a.CommitSimple(p.Type, p.Stage, copy(room, body))
				require.NoError(rt, b.Push(&p, body))
			}
			require.Equal(rt, b.Stats(), a.Stats())
			require.Equal(rt, b.Waiting(), a.Waiting())
		}
		require.Equal(rt, sendAll(t, cb, b), sendAll(t, ca, a))
	})
	o := NewOutgoing(OutgoingConfig{}, NewPool(DefaultPacketSize))
	require.Nil(t, o.ReserveSimple(5), "the first message of a batch is Reserve's")
	require.NoError(t, o.Push(&Post{Type: 16}, nil))
	require.NotNil(t, o.ReserveSimple(0))
	require.Nil(t, o.ReserveSimple(1<<16-1))
	require.Panics(t, func() { o.CommitSimple(0, tick.Update, 0) })
	_, err := o.Reserve(&Post{Type: 16}, 5)
	require.NoError(t, err)
	require.NotNil(t, o.ReserveSimple(3))
	o.CommitSimple(16, tick.Update, 3)
	require.Panics(t, func() { o.Commit(5) }, "the memory is another message's now")
	o.Clear()
	require.Nil(t, o.ReserveSimple(0), "nothing is open")
}
