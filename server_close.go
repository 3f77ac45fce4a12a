package netcode

import (
	"github.com/arche-netcode/netcode/peer"
)

// Kick ends a client's connection; detail is told to the client. Messages that were sent to it are delivered before
// that, for Config.FlushTimeout at most; but not those that the server still keeps back for an entity that the client does
// not hold yet (Stats.Delayed), nor what stands behind them on an ordered channel: they count as Stats.DelayedDropped.
// OnDisconnect follows before Kick returns, or, when Kick is called from one of the server's own functions, after that one.
// Messages of the client are not handled any more, also when the client has closed already and OnDisconnect has not come
// yet. Kick says false if there is no such client.
func (s *Server) Kick(client ClientID, detail string) bool {
	c := s.present(client)
	if c == nil {
		return false
	}
	s.end(c, &peer.Error{Reason: peer.ReasonKicked, Detail: detail}, endFlushed)
	s.events.fire()
	return true
}

// Close ends every connection for a reason, peer.ReasonShuttingDown if peer.ReasonNone is given, and refuses new ones.
// The frames that follow deliver what was sent, for Config.FlushTimeout at most, and tell the clients, until Closed. What is
// kept back for an entity that a client does not hold yet is dropped, as by Kick, and so is what the server has not handled
// yet. A client handles the reliable messages that it has accepted, also those that wait for a stage or a tick, for its
// Config.LeaveTimeout at most; its OnDisconnect follows on that.
func (s *Server) Close(reason Reason) {
	if reason == peer.ReasonNone {
		reason = peer.ReasonShuttingDown
	}
	s.closing = true
	for _, c := range s.sessions {
		if c.state == leaving {
			s.end(c, c.reason, endQuiet)
			continue
		}
		s.end(c, &peer.Error{Reason: reason}, endFlushed)
	}
	s.events.fire()
}

// Closed tells if Close was called and every client was told; then frames are not needed any more.
func (s *Server) Closed() bool {
	return s.closing && s.counts[connected]+s.counts[lingering] == 0
}
