package link

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/outbox"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// A closing end sends its waiting messages, even if its ring is full for lack of acknowledgements.
func TestClosingWithAFullRing(t *testing.T) {
	config := Config{PacketSize: 1200, SendBudget: 64 << 10, TickInterval: time.Second / 30, FlushTimeout: time.Second, Outgoing: peer.OutgoingConfig{
		PacketSize: 1200, PieceSize: peer.BasePacketSize, UnreliableBytes: 64 << 10, ReliableBytes: 256 << 10, SentPackets: 64,
	}}
	var ends [2]*Link
	for i := range ends {
		l := &Link{Out: &outbox.Buffer{}, Counters: &Counters{}, Frame: &tick.Frame{}}
		conn := peer.NewConn(peer.ConnConfig{Check: wire.NewChecksum(1, 2), FirstSequence: 1, SentPackets: 64})
		l.Start(config, transport.Addr{}, conn, 1, peer.NewPool(1200), peer.SkipSeed{byte(i)})
		ends[i] = l
	}
	a, b := ends[0], ends[1]
	carry := func(from, to *Link, got func(peer.Incoming)) {
		from.Out.Drain(func(_ transport.Addr, p []byte) {
			if in, err := to.Conn.Read(p, to.Frame.Now, outcomes{to}); err == nil {
				to.Conn.Accept(in, to.Frame.Now)
				got(in)
			}
		})
	}
	arrived := 0
	for n := 1; n < 200; n++ {
		for _, l := range ends {
			l.Frame.Now, l.Frame.Due = time.Duration(n)*16*time.Millisecond, true
			l.Refill()
		}
		b.KeepAlive(time.Second, nil)
		if b.Conn.AckDue() {
			b.SendAck()
		}
		b.Conn.DetectLost(b.Frame.Now, outcomes{b})
		carry(b, a, func(peer.Incoming) {})
		switch {
		case n <= 100: // Packets of a are lost.
			a.Conn.DetectLost(a.Frame.Now, outcomes{a})
			if packet, ok := a.Begin(); n > 30 && ok {
				packet.Add(wire.MessageKeepAlive, 0, 0)
				a.Finish(&packet)
			}
			a.Out.Drain(func(transport.Addr, []byte) {})
			if n == 100 {
				require.False(t, a.Conn.CanSend(), "the ring is not full: the test shows nothing")
				require.NoError(t, a.Outgoing.Push(&peer.Post{Type: wire.FirstUserMessage, Channel: wire.NewChannel(wire.Reliable, 0)}, []byte("bye")))
				a.StartClose(&errs.CloseError{Reason: errs.ReasonKicked}, true)
			}
		case a.flushing:
			a.ContinueClose(outcomes{a})
		}
		carry(a, b, func(in peer.Incoming) {
			for r := in.Messages(); r.Next(); {
				if r.Header.Type == wire.FirstUserMessage {
					arrived++
				}
			}
		})
	}
	require.Positive(t, arrived)
	require.Zero(t, a.Counters.FlushesCut)
}

// outcomes tells a link the fate of its packets.
type outcomes struct{ l *Link }

func (o outcomes) Acked(seq uint64, _ tick.Tick) { o.l.Acked(seq) }
func (o outcomes) Lost(seq uint64)               { o.l.Lost(seq) }
