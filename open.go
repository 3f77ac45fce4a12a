package netcode

import "github.com/arche-netcode/netcode/peer"

// SetOpen lets clients of other processes in, which is how a server begins, or not. With false their connections end with
// peer.ReasonShuttingDown, after what was sent to them, for Config.FlushTimeout at most, and players that are away have left; new
// ones are refused with the same reason. The player of a host and the game go on. Alone tells when all were told: then nothing needs the
// socket. It is how a game that was open for others becomes one of a single player, and the other way round.
func (s *Server) SetOpen(open bool) {
	s.shut = !open
	if open {
		return
	}
	for _, c := range s.sessions {
		switch {
		case c.link.near != nil:
		case c.state == leaving:
			s.end(c, c.link.Reason, closeQuiet)
		default:
			s.end(c, &peer.Error{Reason: peer.ReasonShuttingDown}, closeFlushed)
		}
	}
	s.endAway()
	s.events.fire()
}

// Alone reports whether no client of another process is connected, or is still being told that its connection is over.
func (s *Server) Alone() bool {
	for _, c := range s.sessions {
		if c.link.near == nil && c.state != gone {
			return false
		}
	}
	return true
}
