package netcode

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

// What an end owes when it closes is said, though nothing was acknowledged for so long that its ring is full.
func TestClosingWithAFullRing(t *testing.T) {
	cfg := Config{SentPackets: 64}.withDefaults()
	var ends [2]*link
	for i := range ends {
		l := &link{out: &outbox.Buffer{}, stats: &Stats{}, frame: &frame{}, config: &cfg}
		conn := peer.NewConn(peer.ConnConfig{Check: wire.NewChecksum(1, 2), FirstSequence: 1, SentPackets: 64})
		l.start(transport.Addr{}, conn, 1, peer.NewPool(1200), peer.SkipSeed{byte(i)})
		ends[i] = l
	}
	a, b := ends[0], ends[1]
	carry := func(from, to *link, got func(peer.Incoming)) {
		from.out.Drain(func(_ transport.Addr, p []byte) {
			if in, err := to.conn.Read(p, to.frame.now, outcomes{to}); err == nil {
				to.conn.Accept(in, to.frame.now)
				got(in)
			}
		})
	}
	arrived := 0
	for n := 1; n < 200; n++ {
		for _, l := range ends {
			l.frame.now, l.frame.due = time.Duration(n)*16*time.Millisecond, true
			l.refill()
		}
		b.keepAlive(time.Second, nil)
		if b.conn.AckDue() {
			b.sendAck()
		}
		b.conn.DetectLost(b.frame.now, outcomes{b})
		carry(b, a, func(peer.Incoming) {})
		switch {
		case n <= 100: // what a sends is lost
			a.conn.DetectLost(a.frame.now, outcomes{a})
			if packet, ok := a.beginPacket(); n > 30 && ok {
				packet.Add(wire.MessageKeepAlive, 0, 0)
				a.finish(&packet)
			}
			a.out.Drain(func(transport.Addr, []byte) {})
			if n == 100 {
				require.False(t, a.conn.CanSend(), "the ring is not full: the test shows nothing")
				require.NoError(t, a.outgoing.Push(&peer.Post{Type: wire.FirstUserMessage, Channel: wire.NewChannel(wire.Reliable, 0)}, []byte("bye")))
				a.startClose(&peer.Error{Reason: peer.ReasonKicked}, true)
			}
		case a.flushing:
			a.continueClose(outcomes{a})
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
	require.Zero(t, a.stats.FlushesCut)
}

// outcomes tells a link what became of its packets.
type outcomes struct{ l *link }

func (o outcomes) Acked(seq uint64, _ tick.Tick) { o.l.acked(seq) }
func (o outcomes) Lost(seq uint64)               { o.l.lost(seq) }
