package link

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/outbox"
	"github.com/arche-netcode/netcode/internal/peer"
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

// A message above the size that Begin gave takes a loan only for what the budget lacks, and grows with what it has while a loan is paid
// back.
func TestAPacketBorrowsOnlyWhatTheBudgetLacks(t *testing.T) {
	l := &Link{Out: &outbox.Buffer{}, Counters: &Counters{}, Frame: &tick.Frame{}}
	conn := peer.NewConn(peer.ConnConfig{Check: wire.NewChecksum(1, 2), FirstSequence: 1, PacketSize: 1200, BaseSize: peer.BasePacketSize, SentPackets: 64})
	l.Start(Config{PacketSize: 1200, SendBudget: 8000, TickInterval: time.Second / 30, Outgoing: peer.OutgoingConfig{
		PacketSize: 1200, PieceSize: 1200, UnreliableBytes: 64 << 10, ReliableBytes: 64 << 10, SentPackets: 64,
	}}, transport.Addr{}, conn, 1, peer.NewPool(1200), peer.SkipSeed{})
	send := func() {
		require.NoError(t, l.Outgoing.Push(&peer.Post{Type: wire.FirstUserMessage, Channel: wire.NewChannel(wire.Reliable, 0)}, make([]byte, 600)))
		b, ok := l.Begin()
		require.True(t, ok)
		l.AddMessages(&b, false)
		require.False(t, l.Outgoing.Pending(), "the message is in the packet")
		l.Finish(&b)
	}
	l.Budget.Take(l.Budget.Left() - 1000)
	send()
	require.True(t, l.Budget.MayBorrow(), "the budget had enough")
	left := l.Budget.Left()
	send()
	require.False(t, l.Budget.MayBorrow(), "of %d bytes", left)
	require.Zero(t, l.Budget.Left())
	l.Budget.Borrow(2000)
	l.Budget.Take(2000)
	l.Frame.Now = 200 * time.Millisecond
	l.Budget.Refill(l.Frame.Now, -1, 0)
	require.False(t, l.Budget.MayBorrow())
	require.Greater(t, l.Budget.Left(), 650)
	send()
}
