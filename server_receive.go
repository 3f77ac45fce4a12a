package netcode

import (
	"net/netip"
	"time"

	"github.com/arche-netcode/netcode/peer"
)

// resyncEvery is the shortest time between two resyncs of one client: each sends it the whole world.
const resyncEvery = 2 * time.Second

// Receive takes one datagram. It keeps nothing of packet. What comes from an address without a connection and is no
// handshake is counted and dropped, silently.
func (s *Server) Receive(from netip.AddrPort, packet []byte) {
	c := s.byAddress[from]
	switch kind := peer.KindOf(packet); {
	case kind == peer.KindHello:
		s.receiveHello(from, packet)
	case kind == peer.KindJoin:
		s.receiveJoin(from, packet)
	case kind == peer.KindPacket && c != nil:
		s.receivePacket(c, packet)
	case kind == peer.KindPacket:
		s.stats.Strangers++
	default:
		s.stats.BadHandshakes++
	}
	s.events.fire()
}

// receivePacket takes a packet from a client: either the whole of it has its effect, or none of it and it is not
// acknowledged.
func (s *Server) receivePacket(c *Session, packet []byte) {
	in, err := c.conn.Read(packet, s.frame.now, (*outcome)(c))
	if err != nil {
		s.unreadable(c, err)
		return
	}
	if c.state == leaving {
		if c.closingPacket(in, peer.RoleServer) {
			c.sendAck()
		}
		return
	}
	if c.state == lingering {
		if c.closingPacket(in, peer.RoleServer) || c.closeHeard {
			s.remove(c)
		}
		return
	}
	content, reason := s.judge(&c.link, &in)
	if reason != nil {
		s.refusePacket(c, reason)
		return
	}
	c.heard, c.met = s.frame.now, true
	if content.snapshot != nil && !s.readUpstream(c, content.snapshot) {
		return
	}
	if content.credited {
		c.outgoing.Credit(content.credit)
	}
	s.takeSections(c, content.sections)
	if content.messages > 0 {
		if reason := s.queue(&c.link, &in, content.plain); reason != nil {
			s.refusePacket(c, reason)
			return
		}
	}
	s.resync(c, content)
	c.conn.Accept(in, s.frame.now)
	if content.closed != nil {
		c.sendAck()
		s.leave(c, content.closed)
	} else if c.conn.AckNow() {
		c.sendAck()
	}
}

// unreadable ends the connection unless the packet may be anyone's: one that failed the checksum, or came twice. Of a client
// that has closed in order nothing but its goodbye counts any more.
func (s *Server) unreadable(c *Session, err error) {
	if c.state == leaving {
		return
	}
	switch reason := peer.CloseReason(err); reason {
	case peer.ReasonNone:
	case peer.ReasonMalformed:
		s.refusePacket(c, closeError(err))
	default:
		s.end(c, &peer.Error{Reason: reason}, endTold)
	}
}

// refusePacket ends the connection of a client that sent what no client sends, inside a checksum that holds.
func (s *Server) refusePacket(c *Session, reason *peer.Error) {
	s.stats.refused(reason)
	s.end(c, reason, endTold)
}

// resync serves a client that lost its past, but not more often than each two seconds: it costs the whole world.
func (s *Server) resync(c *Session, content content) {
	if !content.resync || c.view == nil || c.view.Served(content.resyncEpoch) {
		return
	}
	if c.resynced && s.frame.now-c.resyncAt < resyncEvery {
		s.stats.ResyncsDeferred++
		return
	}
	c.resynced, c.resyncAt = true, s.frame.now
	s.stats.Resyncs++
	c.view.Resync(content.resyncEpoch, c.conn.Next())
}
