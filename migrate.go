package netcode

import (
	"time"

	"github.com/arche-netcode/netcode/internal/handshake"
	"github.com/arche-netcode/netcode/internal/report"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/transport"
)

// A session goes on where its client is (docs/adr/0041). A client that hears nothing sends Resume, which names its session.
// The server lets the new address prove itself by a cookie, and keeps nothing before that. A session that it does not have it
// answers with a Reset, from the datagram alone.

// receiveResume answers a Resume.
func (s *Server) receiveResume(from transport.Addr, packet []byte) {
	r, err := peer.ParseResume(packet)
	if err != nil {
		s.stats.BadHandshakes++
		return
	}
	s.stats.Resumes++
	c := s.byID[r.Client]
	if c == nil || c.nonce != r.Nonce || c.link.near != nil {
		s.reset(from, &r)
		return
	}
	fromClient, _ := handshake.Checksums(c.epoch, c.Protocol())
	switch {
	case c.state != connected || !peer.ResumeSealed(packet, fromClient):
		s.stats.BadHandshakes++
	case r.Number <= c.resumed:
		s.stats.ResumesOld++
	case from == c.link.Address:
		s.resumed(c, r.Number)
	default:
		s.mayMigrate(c, from, &r)
	}
}

// resumed notes a Resume from the session's own address. The client gets a packet with the next tick.
func (s *Server) resumed(c *Session, number uint32) {
	c.resumed, c.link.ReceivedAt, c.confirmed = number, s.frame.Now, true
	c.timed = s.frame.Now - s.config.Pulse - s.config.KeepAlive
}

// mayMigrate moves a session to an address that has proved itself, or lets it prove itself.
func (s *Server) mayMigrate(c *Session, to transport.Addr, r *peer.Resume) {
	_, proved := s.cookies.Check(r.Cookie, to, r.Path, c.epoch, s.frame.Now)
	switch {
	case !proved && s.mayWork(to, r.Path, peer.WorkUnproven):
		s.sendCookie(to, r.Path, c.epoch)
	case !proved || !s.mayWork(to, r.Path, peer.WorkProven):
	default:
		s.places.Free(c.link.Address.IP.Addr()) // A session never stands in its own way.
		reason := s.crowded(to.IP.Addr())
		s.places.Take(c.link.Address.IP.Addr())
		if reason != nil {
			s.refuseBriefly(to, r.Path, reason.Reason)
			return
		}
		s.migrate(c, to)
		s.resumed(c, r.Number)
	}
}

// migrate moves a session to another address. One that was there before stays without an address until its own client
// resumes: two clients may swap.
func (s *Server) migrate(c *Session, to transport.Addr) {
	from := c.link.Address
	if s.byAddress[from] == c {
		delete(s.byAddress, from)
		for _, other := range s.sessions {
			if other != c && other.link.Address == from && other.state != gone {
				s.byAddress[from] = other
			}
		}
	}
	s.places.Free(from.IP.Addr())
	s.places.Take(to.IP.Addr())
	s.lines.leave(c)
	s.byAddress[to] = c
	c.link.Address = to
	c.link.Conn.NewPath()
	s.stats.Migrated++
	s.lines.join(c)
	s.events.waiting = append(s.events.waiting, event{client: c.id, from: from, to: to})
	if s.report.Enabled(report.Info) {
		s.report.Log(report.Info, "client goes on at another address", "client", c.id, "from", from, "to", to)
	}
}

// Moved begins the path to a client anew, as when it migrates: round trip, loss, rate and size of packets are measured from the beginning,
// and OnMigrate is told. It is for a transport that follows its peers by itself and keeps their addresses (transport.Mover), so the
// address of the session stays. Package systems calls it.
func (s *Server) Moved(m transport.Move) {
	c := s.byAddress[m.Peer]
	if c == nil || c.state != connected {
		return
	}
	s.stats.Migrated++
	s.events.waiting = append(s.events.waiting, event{client: c.id, from: m.From, to: m.To})
	c.link.Conn.NewPath()
}

// Moved begins the path to the server anew: Server.Moved for a client's own move.
func (c *Client) Moved(m transport.Move) {
	if c.state == Connected && m.Peer == c.link.Address {
		c.link.Conn.NewPath()
		c.stats.Migrated++
	}
}

// reset tells that a session is over or not known here. A session that still tells its client of its end does that at its
// address itself.
func (s *Server) reset(to transport.Addr, r *peer.Resume) {
	if c := s.byAddress[to]; c != nil && c.nonce == r.Nonce && c.state == lingering {
		return
	}
	if !s.mayWork(to, r.Path, peer.WorkUnproven) {
		return
	}
	reason := peer.ReasonReset
	if past := s.past.Find(r.Nonce, s.frame.Now); past != nil {
		reason = past.Reason
	}
	s.stats.Resets++
	s.reply(to, challengeRoom, func(b []byte) []byte {
		return peer.AppendReset(b, peer.Reset{Client: r.Client, Nonce: r.Nonce, Path: r.Path, Reason: reason, Token: s.tokens.Make(r.Client, r.Nonce)})
	})
}

// quietLeast is the shortest silence after which a client resumes.
const quietLeast = 150 * time.Millisecond

// quiet returns the silence after which this end resumes. It is longer where packets are rarely heard: a server at rest sends one
// each Config.Pulse.
func (c *Client) quiet() time.Duration {
	return max(quietLeast, 2*c.agreed.interval(), min(4*c.link.Conn.UsualGap(), 2*c.agreed.Pulse))
}

// askResume sends Resume while the server is silent.
func (c *Client) askResume() {
	silence := c.frame.Now - c.link.ReceivedAt
	if !c.resume.Due(c.frame.Now, silence, c.quiet()) {
		return
	}
	if !c.resume.Asks {
		path, err := random64(c.config.Random)
		if err != nil {
			c.Report(err)
			return
		}
		c.resume.Ask(path)
	}
	room := c.out.Room(peer.HelloSize)
	if room == nil {
		c.counters.OutputFull++
		return
	}
	c.stats.Resumes++
	fromClient, _ := c.attempt.Checksums()
	c.out.Commit(c.link.Address, len(c.resume.Append(room[:0], fromClient, c.frame.Now, silence)))
}

// takeReset ends a connection that the server does not know any more.
func (c *Client) takeReset(reset *peer.Reset) {
	if !c.resume.Believes(reset, c.frame.Now-c.link.ReceivedAt) {
		c.stats.ResetsWaited++
		return
	}
	c.stats.Resets++
	c.attempt.Rejoins = c.config.Rejoin && reset.Reason == peer.ReasonReset
	c.end(&peer.Error{Reason: reset.Reason})
	c.events.fire() // OnDisconnect may connect, or say by Close that the client is not to.
	if c.attempt.Rejoins && c.state == Disconnected {
		if err := c.ConnectWith(c.attempt.Server, c.attempt.Payload); err != nil {
			c.Report(err)
		}
	}
}
