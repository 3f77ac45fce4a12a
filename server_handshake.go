package netcode

import (
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/arche-netcode/netcode/peer"
)

// receiveHandshake answers a Hello. Before the cookie is right nothing is kept and the answer is smaller than the
// question, so a forged address gains nothing.
func (s *Server) receiveHandshake(from netip.AddrPort, packet []byte) {
	hello, err := peer.ParseHello(packet)
	if err != nil {
		s.stats.BadHandshakes++
		return
	}
	s.stats.Hellos++
	c := s.byAddress[from]
	if !s.cookies.Check(hello.Cookie, from, hello.Nonce, cookieEpoch(c, hello.Nonce), s.frame.now) {
		s.challenge(from, hello.Nonce)
		return
	}
	if reason := s.admissible(from, hello); reason != nil {
		s.refuse(from, hello.Nonce, reason)
		return
	}
	if c != nil && c.nonce == hello.Nonce && c.state <= connected {
		s.accept(c)
		return
	}
	s.replace(c)
	s.welcome(from, hello.Nonce, cookieEpoch(c, hello.Nonce))
}

// cookieEpoch is the epoch that a cookie must have been made for: that of the session which the address had when it
// was asked for. So a Hello that the network held back cannot replace the session that came after it, while the one
// that opened a session may come again.
func cookieEpoch(c *session, nonce uint64) uint32 {
	switch {
	case c == nil:
		return 0
	case c.nonce == nonce && c.state <= connected:
		return c.before
	}
	return c.epoch
}

// admissible says why this client cannot come in, if so.
func (s *Server) admissible(from netip.AddrPort, hello peer.Hello) *peer.Error {
	if hello.Version != peer.Version {
		s.logRefused(from, hello)
		return &peer.Error{Reason: peer.ReasonWrongVersion, Detail: fmt.Sprintf("the server speaks version %d", peer.Version)}
	}
	if hello.Protocol != s.protocol.hash {
		s.logRefused(from, hello)
		return &peer.Error{Reason: peer.ReasonWrongProtocol, Detail: s.protocol.firstDifference(hello.Digest)}
	}
	if s.closing {
		return &peer.Error{Reason: peer.ReasonShuttingDown}
	}
	if c := s.byAddress[from]; c != nil && c.state <= connected {
		return nil
	}
	if s.taken() >= s.config.Clients {
		s.stats.RefusedFull++
		return s.full()
	}
	return nil
}

// logRefused says who was refused for another version or protocol, once a second: an old client may ask for ever.
func (s *Server) logRefused(from netip.AddrPort, hello peer.Hello) {
	s.stats.RefusedProtocol++
	if s.refusedAt != 0 && s.frame.now-s.refusedAt < time.Second || !s.report.enabled(slog.LevelWarn) {
		return
	}
	s.refusedAt = max(s.frame.now, 1)
	s.report.log(slog.LevelWarn, "client refused: another version or protocol", "address", from,
		"difference", s.differenceFrom(hello), "version", hello.Version, "ours", peer.Version,
		"protocol", fmt.Sprintf("%016x", hello.Protocol), "our protocol", fmt.Sprintf("%016x", s.protocol.hash), "refused", s.stats.RefusedProtocol)
}

// differenceFrom says in words where the version or the protocol of a client differs.
func (s *Server) differenceFrom(hello peer.Hello) string {
	if hello.Version != peer.Version {
		return fmt.Sprintf("the client speaks version %d, the server %d", hello.Version, peer.Version)
	}
	return s.protocol.difference(hello.Digest)
}

// replace ends the session that an address had: whoever says hello anew there has forgotten it.
func (s *Server) replace(c *session) {
	if c == nil || c.state == leaving { // Who leaves needs its address no more.
		return
	}
	if c.state == lingering {
		s.remove(c)
		return
	}
	s.stats.Replaced++
	s.end(c, &peer.Error{Reason: peer.ReasonReplaced, Detail: "from the same address"}, endQuiet)
}

// welcome opens a session and tells the client.
func (s *Server) welcome(from netip.AddrPort, nonce uint64, before uint32) {
	c, err := s.open(from, nonce, before)
	if err != nil {
		s.Report(err)
		return
	}
	s.accept(c)
}

// challenge sends the cookie that a Hello must bring back.
func (s *Server) challenge(to netip.AddrPort, nonce uint64) {
	s.stats.Challenges++
	cookie := s.cookies.Make(to, nonce, cookieEpoch(s.byAddress[to], nonce), s.frame.now)
	s.reply(to, func(b []byte) []byte { return peer.AppendChallenge(b, peer.Challenge{Nonce: nonce, Cookie: cookie}) })
}

// accept tells a client its session; the same Hello again gets the same answer.
func (s *Server) accept(c *session) {
	s.reply(c.address, func(b []byte) []byte {
		return peer.AppendAccept(b, peer.Accept{
			Nonce: c.nonce, Epoch: c.epoch, Client: c.id, Tick: s.frame.clock.Tick(),
			Rate: uint16(s.config.TickRate), Window: uint16(s.config.Window), PacketSize: uint16(s.config.PacketSize),
		})
	})
}

// refuse tells a client why it cannot come in.
func (s *Server) refuse(to netip.AddrPort, nonce uint64, reason *peer.Error) {
	s.reply(to, func(b []byte) []byte {
		return peer.AppendRefuse(b, peer.Refuse{Nonce: nonce, Reason: reason.Reason, Detail: reason.Detail})
	})
}

// reply queues a handshake datagram for Drain.
func (s *Server) reply(to netip.AddrPort, write func(b []byte) []byte) {
	room := s.out.room(peer.HelloSize)
	if room == nil {
		s.stats.OutputFull++
		return
	}
	s.out.commit(to, len(write(room[:0])))
}
