package netcode

import (
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/peer"
)

// orderly tells if an end that closes for a reason has delivered first what it had sent, so that this is to be handled: the
// reasons of the game, and those of netcode that are no fault.
func orderly(reason *peer.Error) bool {
	switch reason.Reason {
	case peer.ReasonClosed, peer.ReasonKicked, peer.ReasonShuttingDown:
		return true
	}
	return !reason.Reason.Ours()
}

// leave begins the wait for the handlers of what the other end had sent when it closed in order. Nothing is sent there any
// more but acknowledgements of its goodbye.
func (l *link) leave(reason *peer.Error) {
	l.reason, l.leaveEnd = reason, l.frame.now+l.config.LeaveTimeout
	l.outgoing.Clear()
}

// left tells if that is over. The inbound queues have counted what of the source waits.
func (l *link) left() bool {
	return l.source.Unhandled() == 0 || l.source.Fault() != nil || l.frame.now >= l.leaveEnd
}

// leave has a client's reliable messages that were accepted handled, and then takes it out of the game.
func (s *Server) leave(c *Session, reason *peer.Error) {
	if !orderly(reason) || !s.inbound.MayHold(c.source) {
		s.end(c, reason, endQuiet)
		return
	}
	s.move(c, leaving)
	s.doors.shut(c.id)
	c.dropEarly()
	c.link.leave(reason)
}

// seeOff takes those out of the game of which nothing waits any more.
func (s *Server) seeOff() {
	s.leavers = s.leavers[:0]
	for _, c := range s.sessions {
		if c.state == leaving {
			s.leavers = append(s.leavers, c.source)
		}
	}
	s.inbound.CountUnhandled(s.leavers)
	clear(s.leavers)
	for _, c := range s.sessions {
		if c.state == leaving && c.left() {
			s.end(c, c.reason, endQuiet)
		}
	}
}

// present is a client that the game knows: connected, or leaving.
func (s *Server) present(id ClientID) *Session {
	if c := s.byID[id]; c != nil && (c.state == connected || c.state == leaving) {
		return c
	}
	return nil
}

// taken counts the places that are taken: a client that leaves has its own until the game is told.
func (s *Server) taken() int { return s.counts[connected] + s.counts[leaving] }

// leave has the server's reliable messages that were accepted handled, and then ends the connection.
func (c *Client) leave(reason *peer.Error) {
	if !orderly(reason) || !c.inbound.MayHold(c.source) {
		c.end(reason)
		return
	}
	c.state, c.leaving = Closing, true
	c.doors.shut(0)
	c.dropEarly()
	c.link.leave(reason)
}

// seeOff is a frame of a client whose server has closed.
func (c *Client) seeOff() {
	list := [1]*message.Source{c.source}
	c.inbound.CountUnhandled(list[:])
	if c.left() {
		c.end(c.reason)
	}
}
