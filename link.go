package netcode

import (
	"net/netip"
	"time"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

const (
	// closeRepeats is how often a close message is sent and closeEvery the time between; an ack ends it earlier.
	closeRepeats = 4
	closeEvery   = 100 * time.Millisecond
)

// link is what both ends of a connection have alike: the packet layer, what waits to be sent, and the goodbye.
type link struct {
	conn    *peer.Conn
	address netip.AddrPort
	outbox  outbox
	budget  budget

	frame  *frame
	config *Config
	out    *output
	stats  *Stats

	heard time.Duration // When a packet last came.
	spoke time.Duration // When a packet that must be acknowledged last went out.

	reason     *peer.Error // Why it is over.
	closeFirst uint64      // Sequence of the first close message.
	closesLeft int
	closeAt    time.Duration
	closeHeard bool // The other end acknowledged a close message.
}

// start fills in what a fresh connection begins with.
func (l *link) start(address netip.AddrPort, conn *peer.Conn) {
	now := l.frame.now
	l.address, l.conn = address, conn
	l.outbox.limit = l.config.OutboxBytes
	l.outbox.clear()
	l.budget = newBudget(l.config.SendBudget, now)
	l.heard, l.spoke = now, now
	l.reason, l.closesLeft, l.closeHeard = nil, 0, false
}

// begin opens the next packet, unless there is no room for it.
func (l *link) begin() (peer.Builder, bool) {
	if !l.conn.CanSend() {
		l.stats.SentRingFull++
		return peer.Builder{}, false
	}
	room := l.out.room(l.config.PacketSize)
	if room == nil {
		l.stats.OutputFull++
		return peer.Builder{}, false
	}
	return l.conn.Begin(room), true
}

// finish closes a packet and queues it for Drain.
func (l *link) finish(b *peer.Builder) {
	if !b.Empty() {
		l.spoke = l.frame.now
	}
	packet := l.conn.Finish(b, l.frame.clock.Tick(), l.frame.now)
	l.budget.take(len(packet))
	l.out.commit(l.address, len(packet))
}

// sendAck sends a packet that only acknowledges.
func (l *link) sendAck() {
	if b, ok := l.begin(); ok {
		l.finish(&b)
	}
}

// keepAlive sends a message that must be acknowledged when nothing such was sent for a while: it measures the link and
// shows that this end is here.
func (l *link) keepAlive(every time.Duration) {
	if l.frame.now-l.spoke < every {
		return
	}
	if b, ok := l.begin(); ok {
		b.Add(wire.MessageKeepAlive, tick.Initialization, 0)
		l.finish(&b)
	}
}

// silent tells if nothing was heard for the silence timeout.
func (l *link) silent() bool { return l.frame.now-l.heard >= l.config.SilenceTimeout }

// sayGoodbye sends the first close message; repeatGoodbye sends the others.
func (l *link) sayGoodbye(reason *peer.Error) {
	l.outbox.clear()
	l.reason, l.closesLeft = reason, closeRepeats
	l.closeFirst = l.conn.Next()
	l.sendClose()
}

// repeatGoodbye says whether the goodbye is over: acknowledged, or said often enough.
func (l *link) repeatGoodbye() (over bool) {
	if l.closeHeard {
		return true
	}
	if l.frame.now < l.closeAt {
		return false
	}
	if l.closesLeft == 0 {
		return true
	}
	l.sendClose()
	return false
}

// sendClose sends the close message once.
func (l *link) sendClose() {
	l.closesLeft--
	l.closeAt = l.frame.now + closeEvery
	if b, ok := l.begin(); ok {
		payload := peer.AppendClose(b.Payload()[:0], *l.reason)
		b.Add(wire.MessageClose, tick.Initialization, len(payload))
		l.finish(&b)
	}
}

// acked notes an acknowledgement; lost packets need nothing here.
func (l *link) acked(seq uint64) {
	if l.reason != nil && seq >= l.closeFirst {
		l.closeHeard = true
	}
}
