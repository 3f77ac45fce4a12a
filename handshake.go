package netcode

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/arche-netcode/netcode/internal/admission"
	"github.com/arche-netcode/netcode/internal/handshake"
	"github.com/arche-netcode/netcode/internal/registry"
	"github.com/arche-netcode/netcode/internal/report"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/transport"
)

// The handshake keeps nothing for a client before its Join (docs/adr/0025). Hello and Join are answered from what they
// bring back, and each answer is no longer than its question until the address is proved.

// receiveHello answers a Hello: with a Challenge, or if it has a valid cookie, with an Accept.
func (s *Server) receiveHello(from transport.Addr, packet []byte) {
	hello, err := peer.ParseHello(packet)
	if err != nil {
		s.stats.BadHandshakes++
		return
	}
	s.stats.Hellos++
	c := s.byAddress[from]
	epochs, proved := s.cookies.Check(hello.Cookie, from, hello.Nonce, cookieEpoch(c, hello.Nonce), s.frame.Now)
	switch {
	case !proved:
		s.challenge(from, hello.Nonce)
	case !s.mayWork(from, hello.Nonce, peer.WorkProven):
	default:
		if reason := s.admissible(from, hello); reason != nil {
			s.refuse(from, hello.Nonce, reason)
			return
		}
		s.accept(from, hello.Nonce, epochOf(epochs, hello.Protocol))
	}
}

// receiveJoin makes the session of a client that proves by its Join that it has received Accept. For a session that there is
// already it changes nothing: Welcome is sent with each tick until a packet of the client comes.
func (s *Server) receiveJoin(from transport.Addr, packet []byte) {
	join, err := peer.ParseJoin(packet)
	if err != nil {
		s.stats.BadHandshakes++
		return
	}
	c := s.byAddress[from]
	if c != nil && c.nonce == join.Nonce && c.state < lingering {
		s.stats.Joins++
		return
	}
	before := cookieEpoch(c, join.Nonce)
	if c != nil && c.nonce == join.Nonce {
		before = c.before
	}
	epochs, proved := s.cookies.Check(join.Cookie, from, join.Nonce, before, s.frame.Now)
	if !proved {
		s.challenge(from, join.Nonce)
		return
	}
	epoch, older, sealed := s.sealOf(packet, epochs)
	if !sealed {
		s.stats.BadHandshakes++
		return
	}
	s.stats.Joins++
	if !s.mayWork(from, join.Nonce, peer.WorkProven) {
		return
	}
	reason := s.past.Find(join.Nonce, s.frame.Now)
	if reason != nil {
		s.stats.JoinsRepeated++
	} else {
		reason = s.fits(from)
	}
	if reason != nil {
		s.refuse(from, join.Nonce, reason)
		return
	}
	if d, ok := s.approve(from, join); ok {
		s.seatApproved(from, join.Nonce, epoch, before, d, older)
	}
}

// sealOf returns the epoch and the protocol with which a Join is sealed: the server's own, or that of an older build, which the Hello
// named.
func (s *Server) sealOf(join []byte, epochs peer.Epochs) (epoch uint32, o *registry.Older, sealed bool) {
	for i := -1; i < len(s.protocol.types.Older); i++ {
		if i >= 0 {
			o = s.protocol.types.Older[i]
		}
		hash := s.protocol.types.HashWith(o)
		epoch = epochOf(epochs, hash)
		if fromClient, _ := handshake.Checksums(epoch, hash); peer.JoinSealed(join, fromClient) {
			return epoch, o, true
		}
	}
	return 0, nil, false
}

// seatApproved makes the session of a client that may have a place, if there is one.
func (s *Server) seatApproved(from transport.Addr, nonce uint64, epoch, before uint32, d *admission.Decision, o *registry.Older) {
	identity := ""
	if d != nil {
		s.decisions.Settle(d)
		identity = d.Identity
		if reason := s.makeRoom(from, identity); reason != nil {
			s.decisions.Deny(nonce, reason, s.frame.Now)
			s.refuse(from, nonce, reason)
			return
		}
	}
	s.replace(s.byAddress[from])
	s.open(from, nonce, epoch, before, identity, o)
}

// makeRoom ends the session of a player who connects anew. Where it returns a reason to refuse the new one, the old one goes on.
func (s *Server) makeRoom(from transport.Addr, identity string) *peer.Error {
	old, reason := s.connectedAs(identity)
	if reason == nil {
		reason = s.hasRoom(from, old)
	}
	if reason != nil || old == nil {
		return reason
	}
	s.takeOver(old)
	return s.hasRoom(from, nil) // OnDisconnect may have closed the server, or given the place away.
}

// cookieEpoch returns the epoch that a cookie must have been made for: that of the session of the address when the cookie was
// asked for. So a delayed Hello cannot replace a session that came after it, and the Hello that opened a session may come
// again.
func cookieEpoch(c *Session, nonce uint64) uint32 {
	switch {
	case c == nil:
		return 0
	case c.nonce == nonce && c.state == connected:
		return c.before
	}
	return c.epoch
}

// epochOf returns the epoch of the session that a cookie opens: the first epoch of the cookie with which no checksum starts
// from zero.
func epochOf(epochs peer.Epochs, protocol uint64) uint32 {
	epoch := uint32(1)
	for i := len(epochs) - 1; i >= 0; i-- {
		if in, out := handshake.Checksums(epochs[i], protocol); epochs[i] != 0 && in != 0 && out != 0 {
			epoch = epochs[i]
		}
	}
	return epoch
}

// admissible returns the reason to refuse a client, nil if there is none.
func (s *Server) admissible(from transport.Addr, hello peer.Hello) *peer.Error {
	if hello.Version != peer.Version {
		s.logRefused(from, hello)
		return &peer.Error{Reason: peer.ReasonWrongVersion, Detail: fmt.Sprintf("the server speaks version %d", peer.Version)}
	}
	if hello.Protocol != s.protocol.types.Canon.Hash && s.protocol.types.OlderOf(hello.Protocol) == nil {
		s.logRefused(from, hello)
		return &peer.Error{Reason: peer.ReasonWrongProtocol, Detail: s.protocol.types.Canon.FirstDifference(hello.Digest)}
	}
	return s.fits(from)
}

// fits returns the reason that there is no place for a client, nil if there is one. Where OnApprove decides, a client that asks may be a player that is
// connected, and have its place: hasRoom is asked when that is known.
func (s *Server) fits(from transport.Addr) *peer.Error {
	if s.onApprove != nil && !s.closing && !s.shut {
		return nil
	}
	return s.hasRoom(from, nil)
}

// hasRoom returns the reason that there is no place for a client, nil if there is one. A session of the same address is about to
// be replaced, so its place counts, and so does that of old, which is about to be taken over; nil for none.
func (s *Server) hasRoom(from transport.Addr, old *Session) *peer.Error {
	if s.closing || s.shut {
		return &peer.Error{Reason: peer.ReasonShuttingDown}
	}
	if c := s.byAddress[from]; c != nil && c.state == connected {
		return nil
	}
	taken := s.taken()
	if old != nil {
		s.places.Free(old.link.Address.IP.Addr())
		defer s.places.Take(old.link.Address.IP.Addr())
		taken--
	}
	if taken >= s.config.Clients {
		s.stats.RefusedFull++
		return s.full()
	}
	return s.crowded(from.IP.Addr())
}

// logRefused logs a client that was refused for another version or protocol, once a second: an old client may ask for ever.
func (s *Server) logRefused(from transport.Addr, hello peer.Hello) {
	s.stats.RefusedProtocol++
	s.tellRefused(from, hello)
	if s.refusedAt != 0 && s.frame.Now-s.refusedAt < time.Second || !s.report.Enabled(report.Warn) {
		return
	}
	s.refusedAt = max(s.frame.Now, 1)
	s.report.Log(report.Warn, "client refused: another version or protocol", "address", from,
		"difference", s.differenceFrom(hello), "version", hello.Version, "ours", peer.Version,
		"protocol", fmt.Sprintf("%016x", hello.Protocol), "our protocol", fmt.Sprintf("%016x", s.protocol.types.Canon.Hash), "refused", s.stats.RefusedProtocol)
}

// refusalsTold limits the differences of protocols that OnError is told: clients choose them.
const refusalsTold = 16

// tellRefused tells OnError of a client that was refused for another version or protocol, once for each difference.
func (s *Server) tellRefused(from transport.Addr, hello peer.Hello) {
	if len(s.refused) == refusalsTold {
		return
	}
	difference := s.differenceFrom(hello)
	if !slices.Contains(s.refused, difference) {
		s.refused = append(s.refused, difference)
		s.report.Tell(&ProtocolError{Address: from, Difference: difference})
	}
}

// differenceFrom returns in words the difference to the version or the protocol of a client.
func (s *Server) differenceFrom(hello peer.Hello) string {
	if hello.Version != peer.Version {
		return fmt.Sprintf("the client speaks version %d, the server %d", hello.Version, peer.Version)
	}
	return s.protocol.types.Canon.Difference(hello.Digest)
}

// replace ends the session that an address had: a client that joins anew has forgotten it.
func (s *Server) replace(c *Session) {
	if c == nil || c.state == leaving { // A client that leaves does not need its address.
		return
	}
	if c.state == lingering {
		s.remove(c)
		return
	}
	s.stats.Replaced++
	s.end(c, &peer.Error{Reason: peer.ReasonReplaced, Detail: "from the same address"}, closeQuiet)
}

// challenge sends the cookie that a Hello must bring back.
func (s *Server) challenge(to transport.Addr, nonce uint64) {
	if !s.mayWork(to, nonce, peer.WorkUnproven) {
		return
	}
	s.sendCookie(to, nonce, cookieEpoch(s.byAddress[to], nonce))
}

// sendCookie sends a Challenge with the cookie for an address, a nonce and an epoch.
func (s *Server) sendCookie(to transport.Addr, nonce uint64, epoch uint32) {
	s.stats.Challenges++
	cookie := s.cookies.Make(to, nonce, epoch, s.frame.Now)
	s.reply(to, challengeRoom, func(b []byte) []byte {
		return peer.AppendChallenge(b, peer.Challenge{Nonce: nonce, Cookie: cookie})
	})
}

// accept tells a client the epoch with which it may join; the same Hello again gets the same answer.
func (s *Server) accept(to transport.Addr, nonce uint64, epoch uint32) {
	s.reply(to, challengeRoom, func(b []byte) []byte {
		return peer.AppendAccept(b, peer.Accept{
			Nonce: nonce, Epoch: epoch,
			Rate: uint16(s.config.TickRate), Window: uint16(s.config.Window), PacketSize: uint16(s.config.PacketSize),
		})
	})
}

// welcome tells a client that it has a session.
func (s *Server) welcome(c *Session) {
	_, check := handshake.Checksums(c.epoch, c.Protocol())
	s.reply(c.link.Address, challengeRoom, func(b []byte) []byte {
		return peer.AppendWelcome(b, peer.Welcome{Client: c.id, Tick: s.frame.Clock.Tick(), Token: s.tokens.Make(c.id, c.nonce)}, check)
	})
}

// refuse tells a client the reason of its refusal.
func (s *Server) refuse(to transport.Addr, nonce uint64, reason *peer.Error) {
	s.reply(to, peer.HelloSize, func(b []byte) []byte {
		return peer.AppendRefuse(b, peer.Refuse{Nonce: nonce, Reason: reason.Reason, Detail: reason.Detail})
	})
}

// challengeRoom is enough bytes for any handshake datagram of a server's but Refuse.
const challengeRoom = 48

// reply queues a handshake datagram of at most size bytes for Drain.
func (s *Server) reply(to transport.Addr, size int, write func(b []byte) []byte) {
	room := s.out.Room(size)
	if room == nil {
		s.counters.OutputFull++
		return
	}
	s.out.Commit(to, len(write(room[:0])))
}

// mayWork takes a piece of handshake work out of the budgets of an address and its network. Where the budget is used up it
// tells the client, which may try again: that costs one table lookup.
func (s *Server) mayWork(from transport.Addr, nonce uint64, work peer.Work) bool {
	switch s.places.Work(from.IP.Addr(), work, s.frame.Now) {
	case admission.Address:
		s.stats.BusyAddress++
	case admission.Network:
		s.stats.BusyNetwork++
	default:
		return true
	}
	s.refuseBriefly(from, nonce, peer.ReasonBusy)
	return false
}

// refuseBriefly sends a refusal without a detail: it is shorter than any question.
func (s *Server) refuseBriefly(to transport.Addr, nonce uint64, reason Reason) {
	s.reply(to, challengeRoom, func(b []byte) []byte {
		return peer.AppendRefuse(b, peer.Refuse{Nonce: nonce, Reason: reason})
	})
}

// crowded returns the reason to refuse an address a further place, nil if there is none.
func (s *Server) crowded(ip netip.Addr) *peer.Error {
	switch s.places.Crowded(ip) {
	case admission.Address:
		s.stats.RefusedAddress++
		return &peer.Error{Reason: peer.ReasonCrowded, Detail: fmt.Sprintf("%d clients from this address, which is the most (ClientsPerAddress)", s.config.ClientsPerAddress)}
	case admission.Network:
		s.stats.RefusedNetwork++
		return &peer.Error{Reason: peer.ReasonCrowded, Detail: fmt.Sprintf("%d clients from %v, which is the most (ClientsPerNetwork)", s.config.ClientsPerNetwork, peer.NetworkPrefix(ip))}
	}
	return nil
}

// Limits of what a client tells a server before it has a place.
const (
	// MaxPayload is the most bytes of the payload of Client.ConnectWith.
	MaxPayload = peer.MaxPayloadOfJoin
	// MaxIdentity is the most bytes of the identity that Approval.Accept gives a client.
	MaxIdentity = 64
)

// Approval is a client that asks for a place, for the function of Server.OnApprove. Its address is proved. Nothing else that
// the client sends is: check the payload. Accept or Refuse decides, in the function or in a later frame. Until then the decision is
// pending: the client takes no place and goes on asking. A decision is pending for Config.HandshakeTimeout of the server at most.
// Then the client is refused. An Approval belongs to the goroutine of its server.
type Approval struct {
	Address transport.Addr // Where the client is.
	Payload []byte         // From Client.ConnectWith, at most MaxPayload bytes; hostile. It is a copy.
	// User and Data are proved by the transport, as by a connect token of package transport/secure. Both are empty where it proves nothing.
	User string
	Data []byte // Not to be changed.

	server   *Server
	decision admission.Decision
}

// OnApprove sets the function that decides who gets a place: Unity calls this connection approval. It is called once for each
// attempt of a client, in the server's frame. The client has proved its address then, and has no place yet. Call Approval.Accept or
// Approval.Refuse in it, or later for a decision that needs a backend. Without a function, and with nil, every client that finds a
// place is accepted, without an identity. If the function panics, the client is refused with peer.ReasonHandlerPanic. It is not
// called for the player of a host, whose Identity is empty.
func (s *Server) OnApprove(f func(a *Approval)) { s.onApprove = f }

// SetProver lets Approval.User and Approval.Data be what the socket of the server proves of its peers. NewServer of package systems
// calls it with its socket. A socket that is no transport.Prover proves nothing.
func (s *Server) SetProver(socket any) { s.prover, _ = socket.(transport.Prover) }

// Accept gives the client a place, if there is one when its next Join comes: at once or within 100 ms. identity names the player, as
// by its account, so that it is known when it comes back. It has at most MaxIdentity bytes. Whoever is accepted with it is that player:
// take it from User, or from a payload that proves it. A client with an empty one is no player who can come back. Of two clients with
// one identity the second replaces the first, see Config.RefuseSecond. Accept returns false without any effect if the approval is
// decided, or its time is over. With a longer identity it refuses the client and tells OnError.
func (a *Approval) Accept(identity string) bool {
	if !a.Open() {
		return false
	}
	if len(identity) > MaxIdentity {
		a.decision.Refuse(&peer.Error{Reason: peer.ReasonNotApproved, Detail: "the server gave an identity that is too long"})
		a.server.Report(fmt.Errorf("netcode: Approval.Accept: the identity has %d bytes: it may have %d, use a hash of it", len(identity), MaxIdentity))
		return false
	}
	a.decision.Accept(identity, a.server.frame.After(time.Second))
	return true
}

// Refuse refuses the client. Its Client.Err has peer.ReasonNotApproved, and text as the detail: one printable line of at most
// 900 bytes. Refuse returns false without any effect if the approval is decided, or its time is over.
func (a *Approval) Refuse(text string) bool {
	if !a.Open() {
		return false
	}
	a.decision.Refuse(&peer.Error{Reason: peer.ReasonNotApproved, Detail: text})
	return true
}

// Open reports whether the approval still waits for its decision. Ask before long work.
func (a *Approval) Open() bool { return a.decision.IsOpen(a.server.frame.Now) }

// approve returns the decision about a client that has proved its address, nil where the game does not decide, if it may have a place
// by now. Otherwise it answers the client.
func (s *Server) approve(from transport.Addr, join peer.Join) (d *admission.Decision, ok bool) {
	if s.onApprove == nil {
		return nil, true
	}
	if reason := s.decisions.Refusal(join.Nonce, s.frame.Now); reason != nil {
		s.refuse(from, join.Nonce, reason)
		return nil, false
	}
	if d = s.decisions.Find(from, join.Nonce); d == nil {
		if d, ok = s.askGame(from, join); !ok {
			return nil, false
		}
	}
	switch d.State {
	case admission.Open:
		s.refuse(from, join.Nonce, &peer.Error{Reason: peer.ReasonPending})
		return nil, false
	case admission.Refused:
		s.stats.NotApproved++
		s.decisions.Deny(join.Nonce, d.Reason, s.frame.Now)
		s.refuse(from, join.Nonce, d.Reason)
		s.decisions.Settle(d)
		return nil, false
	}
	return d, true
}

// askGame asks the game about a client, unless too many decisions are pending.
func (s *Server) askGame(from transport.Addr, join peer.Join) (d *admission.Decision, ok bool) {
	if s.decisions.Len() >= s.config.Clients || s.decisions.Crowded(from, s.config.admission()) {
		s.stats.ApprovalsFull++
		s.refuse(from, join.Nonce, &peer.Error{Reason: peer.ReasonBusy})
		return nil, false
	}
	a := &Approval{Address: from, Payload: bytes.Clone(join.Payload), server: s, decision: admission.Decision{Address: from, Nonce: join.Nonce}}
	if s.prover != nil {
		a.User, a.Data, _ = s.prover.Proved(from)
	}
	s.callApprove(a)
	if d = &a.decision; d.State == admission.Open {
		s.decisions.Wait(d, s.frame.After(s.config.HandshakeTimeout))
	}
	return d, true
}

// nameOnApprove is for errors of panics.
const nameOnApprove = "OnApprove"

// callApprove calls the function of the game.
func (s *Server) callApprove(a *Approval) {
	defer func() {
		if value := recover(); value != nil {
			s.stats.HandlerPanics++
			s.reportPanic(PanicError{Name: nameOnApprove, Value: value})
			a.decision.Refuse(&peer.Error{Reason: peer.ReasonHandlerPanic, Detail: "the server's " + nameOnApprove})
		}
	}()
	s.onApprove(a)
}

// expireApprovals ends the approvals whose time is over.
func (s *Server) expireApprovals() {
	late := &peer.Error{Reason: peer.ReasonNotApproved, Detail: fmt.Sprintf("the server did not decide in %v", s.config.HandshakeTimeout)}
	s.stats.ApprovalsLate += s.decisions.Expire(s.frame.Now, late)
}
