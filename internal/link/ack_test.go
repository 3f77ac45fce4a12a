package link

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/outbox"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// A repeated ack counts as sent only when it is sent, not without room for it.
func TestRepeatedAckWithoutRoomIsNotCounted(t *testing.T) {
	end := func() *peer.Conn {
		return peer.NewConn(peer.ConnConfig{Check: wire.NewChecksum(1, 2), FirstSequence: 1})
	}
	far := end()
	l := Link{Conn: end(), Out: &outbox.Buffer{}, Counters: &Counters{}, Frame: &tick.Frame{}, config: Config{PacketSize: 1200}, Budget: peer.NewBudget(-1, 0), skipper: peer.NewSkipper(peer.SkipSeed{})}
	room := make([]byte, 1200)
	b := far.Begin(room)
	require.True(t, b.Add(wire.MessageKeepAlive, 0, 0))
	in, err := l.Conn.Read(far.Finish(&b, 1, 0), 0, nil)
	require.NoError(t, err)
	l.Conn.Accept(in, 0)
	l.SendAck()
	said := l.Conn.Stats()

	l.RepeatAck()
	sent := l.Conn.Stats()
	require.EqualValues(t, 1, sent.Repeated)
	require.Equal(t, 2*said.BytesSent, sent.BytesSent)
	require.Equal(t, 2, l.Out.Len())

	for _, size := range []int{1200, 1} {
		for l.Out.Room(size) != nil {
			l.Out.Commit(transport.Addr{}, size)
		}
	}
	full := l.Out.Len()
	l.RepeatAck()
	require.Equal(t, sent, l.Conn.Stats())
	require.EqualValues(t, 1, l.Counters.OutputFull)
	require.Equal(t, full, l.Out.Len())
}
