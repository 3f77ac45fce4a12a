package link

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/outbox"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// A message above its share of the packet leaves room for state only up to the size of the path: a message that fits the path
// makes no packet larger than it.
func TestAMessageThatFitsThePathDoesNotExceedIt(t *testing.T) {
	for _, payload := range []int{200, 300, 400} {
		l := &Link{Out: &outbox.Buffer{}, Counters: &Counters{}, Frame: &tick.Frame{}}
		conn := peer.NewConn(peer.ConnConfig{Check: wire.NewChecksum(1, 2), FirstSequence: 1, PacketSize: 1200, BaseSize: peer.BasePacketSize, SentPackets: 64})
		l.Start(Config{PacketSize: 1200, SendBudget: -1, TickInterval: time.Second / 30, Outgoing: peer.OutgoingConfig{
			PacketSize: 1200, PieceSize: peer.BasePacketSize, UnreliableBytes: 64 << 10, ReliableBytes: 64 << 10, SentPackets: 64,
		}}, transport.Addr{}, conn, 1, peer.NewPool(1200), peer.SkipSeed{})
		l.Refill()
		require.NoError(t, l.Outgoing.Push(&peer.Post{Type: wire.FirstUserMessage, Channel: wire.NewChannel(wire.Reliable, 0)}, make([]byte, payload)))
		b, ok := l.Begin()
		require.True(t, ok)
		require.Equal(t, peer.BasePacketSize, conn.PathSize())
		l.AddMessages(&b, true)
		require.False(t, l.Outgoing.Pending(), "the message is in the packet")
		require.Equal(t, peer.BasePacketSize, b.Size(), "%d bytes", payload)
	}
}
