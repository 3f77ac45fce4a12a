package netcode

import (
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// part begins the end of a connection. With flush, what waits and what is not acknowledged yet of reliable messages is
// delivered before the first close message, for Config.FlushTimeout at most.
func (l *link) part(reason *peer.Error, flush bool) {
	l.reason = reason
	if flush && l.config.FlushTimeout > 0 && l.owes() {
		l.flushing, l.flushEnd = true, l.frame.now+l.config.FlushTimeout
		return
	}
	l.sayGoodbye()
}

// owes tells if there are messages that the other end does not have yet, as far as this end can know.
func (l *link) owes() bool { return l.outgoing.Unconfirmed() > 0 || l.outgoing.Waiting() > 0 }

// flush goes on delivering what is owed, and turns to the goodbye when that is done or the time is over.
func (l *link) flush(out peer.Outcome) {
	if l.frame.due {
		l.conn.DetectLost(l.frame.now, out)
	}
	l.budget.Refill(l.frame.now)
	l.sendMessages()
	if !l.conn.CanSend() {
		l.keepAlive(closeEvery, nil)
	}
	switch {
	case !l.owes():
	case l.frame.now >= l.flushEnd:
		l.stats.FlushesCut++
	default:
		if l.frame.due && l.conn.AckDue() {
			l.sendAck()
		}
		return
	}
	l.sayGoodbye()
}

// farewell is a frame of a connection that is over: it flushes, or repeats the goodbye. It says whether all is said.
func (l *link) farewell(out peer.Outcome) (over bool) {
	if l.flushing {
		l.flush(out)
		return false
	}
	return l.repeatGoodbye()
}

// sayGoodbye sends the first close message; repeatGoodbye sends the others.
func (l *link) sayGoodbye() {
	l.flushing = false
	l.outgoing.Clear()
	l.closesLeft = closeRepeats
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
	if b, ok := l.open(l.conn.HasRoom()); ok {
		payload := peer.AppendClose(b.Payload()[:0], *l.reason)
		b.Add(wire.MessageClose, tick.Initialization, len(payload))
		l.finish(&b)
	}
}

// closingPacket takes a packet that came after this end closed: credit lets what is owed leave, and a close message of the
// other end ends the wait. It says whether that was one. A packet with anything that has no effect any more is not
// acknowledged, so that nobody thinks it was handled.
func (l *link) closingPacket(in peer.Incoming, role peer.Role) (closed bool) {
	dropped := false
	r := in.Messages()
	for r.Next() {
		switch {
		case peer.Allowed(peer.StateClosing, role, r.Header.Type) != peer.VerdictAccept || r.Channel != 0:
			dropped = true
		case r.Header.Type == wire.MessageClose:
			closed = true
		case r.Header.Type == wire.MessageCredit && len(r.Payload) == peer.CreditSize:
			l.outgoing.Credit(parseCredit(r.Payload))
		}
	}
	if r.Err() == nil && !dropped {
		l.conn.Accept(in, l.frame.now)
	}
	return closed
}
