package netcode

import (
	"bytes"
	"fmt"
	"net/netip"
	"time"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/transport"
)

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
	nonce    uint64
	until    time.Duration // The end of the decision.
	state    approvalState
	identity string
	reason   *peer.Error // Of a refusal.
}

// approvalState counts the steps of a decision.
type approvalState uint8

const (
	approvalOpen    approvalState = iota // Not decided.
	approvalGiven                        // Accept was called.
	approvalRefused                      // Refuse was called.
	approvalOver                         // It has its effect, or its time was over.
)

// approvals is the decisions of OnApprove that are under way.
type approvals struct {
	ask     func(*Approval)
	prover  transport.Prover  // Nil where the transport proves nothing.
	pending []*Approval       // In the order in which they came; Config.Clients at most.
	refused peer.PastSessions // The refusals of late: a Join that comes again gets the same one, and the game is not asked.
}

// OnApprove sets the function that decides who gets a place: Unity calls this connection approval. It is called once for each
// attempt of a client, in the server's frame. The client has proved its address then, and has no place yet. Call Approval.Accept or
// Approval.Refuse in it, or later for a decision that needs a backend. Without a function, and with nil, every client that finds a
// place is accepted, without an identity. If the function panics, the client is refused with peer.ReasonHandlerPanic. It is not
// called for the player of a host, whose Identity is empty.
func (s *Server) OnApprove(f func(a *Approval)) { s.approvals.ask = f }

// SetProver lets Approval.User and Approval.Data be what the socket of the server proves of its peers. NewServer of package systems
// calls it with its socket. A socket that is no transport.Prover proves nothing.
func (s *Server) SetProver(socket any) { s.approvals.prover, _ = socket.(transport.Prover) }

// Accept gives the client a place, if there is one when its next Join comes: at once or within 100 ms. identity names the player, as
// by its account, so that it is known when it comes back. It has at most MaxIdentity bytes. Whoever is accepted with it is that player:
// take it from User, or from a payload that proves it. A client with an empty one is no player who can come back. Of two clients with
// one identity the second replaces the first, see Config.RefuseSecond. Accept returns false without any effect if the approval is
// decided, or its time is over. With a longer identity it refuses the client and tells OnError.
func (a *Approval) Accept(identity string) bool {
	if !a.open() {
		return false
	}
	if len(identity) > MaxIdentity {
		a.decide(&peer.Error{Reason: peer.ReasonNotApproved, Detail: "the server gave an identity that is too long"})
		a.server.Report(fmt.Errorf("netcode: Approval.Accept: the identity has %d bytes: it may have %d, use a hash of it", len(identity), MaxIdentity))
		return false
	}
	a.state, a.identity = approvalGiven, identity
	if a.until != 0 {
		a.until = max(a.until, a.server.frame.After(time.Second)) // So that its next Join finds the decision.
	}
	return true
}

// Refuse refuses the client. Its Client.Err has peer.ReasonNotApproved, and text as the detail: one printable line of at most
// 900 bytes. Refuse returns false without any effect if the approval is decided, or its time is over.
func (a *Approval) Refuse(text string) bool {
	if !a.open() {
		return false
	}
	a.decide(&peer.Error{Reason: peer.ReasonNotApproved, Detail: text})
	return true
}

// Open reports whether the approval still waits for its decision. Ask before long work.
func (a *Approval) Open() bool { return a.open() }

func (a *Approval) open() bool {
	return a.state == approvalOpen && (a.until == 0 || a.server.frame.Now < a.until)
}

// decide refuses.
func (a *Approval) decide(reason *peer.Error) { a.state, a.reason = approvalRefused, reason }

// approve returns the approval of a client that has proved its address, if it may have a place by now. Otherwise it answers the
// client.
func (s *Server) approve(from transport.Addr, join peer.Join) (a *Approval, ok bool) {
	if s.approvals.ask == nil {
		return nil, true
	}
	if reason := s.approvals.refused.Find(join.Nonce, s.frame.Now); reason != nil {
		s.refuse(from, join.Nonce, reason)
		return nil, false
	}
	if a = s.pendingOf(from, join.Nonce); a == nil {
		if a, ok = s.askFor(from, join); !ok {
			return nil, false
		}
	}
	switch a.state {
	case approvalOpen:
		s.refuse(from, join.Nonce, &peer.Error{Reason: peer.ReasonPending})
		return nil, false
	case approvalRefused:
		s.stats.NotApproved++
		s.approvals.refused.Add(join.Nonce, a.reason, s.frame.Now)
		s.refuse(from, join.Nonce, a.reason)
		s.settle(a)
		return nil, false
	}
	return a, true
}

// askFor asks the game about a client, unless too many decisions are pending.
func (s *Server) askFor(from transport.Addr, join peer.Join) (a *Approval, ok bool) {
	if len(s.approvals.pending) >= s.config.Clients || s.crowdedBy(from.IP.Addr()) {
		s.stats.ApprovalsFull++
		s.refuse(from, join.Nonce, &peer.Error{Reason: peer.ReasonBusy})
		return nil, false
	}
	a = &Approval{Address: from, Payload: bytes.Clone(join.Payload), server: s, nonce: join.Nonce}
	if s.approvals.prover != nil {
		a.User, a.Data, _ = s.approvals.prover.Proved(from)
	}
	s.callApprove(a)
	if a.state == approvalOpen {
		a.until = s.frame.After(s.config.HandshakeTimeout)
		s.approvals.pending = append(s.approvals.pending, a)
	}
	return a, true
}

// nameOnApprove is for errors of panics.
const nameOnApprove = "OnApprove"

// callApprove calls the function of the game.
func (s *Server) callApprove(a *Approval) {
	defer func() {
		if value := recover(); value != nil {
			s.stats.HandlerPanics++
			s.reportPanic(PanicError{Name: nameOnApprove, Value: value})
			a.decide(&peer.Error{Reason: peer.ReasonHandlerPanic, Detail: "the server's " + nameOnApprove})
		}
	}()
	s.approvals.ask(a)
}

// crowdedBy reports whether too many decisions are pending about clients of an address or of its network: as many as may have places.
func (s *Server) crowdedBy(ip netip.Addr) bool {
	if isExempt(ip) {
		return false
	}
	address, network := 0, 0
	for _, a := range s.approvals.pending {
		other := a.Address.IP.Addr()
		if isExempt(other) {
			continue
		}
		if peer.AddressPrefix(other) == peer.AddressPrefix(ip) {
			address++
		}
		if peer.NetworkPrefix(other) == peer.NetworkPrefix(ip) {
			network++
		}
	}
	most, all := s.config.ClientsPerAddress, s.config.ClientsPerNetwork
	return most > 0 && address >= most || all > 0 && network >= all && !isLocalNetwork(ip)
}

// pendingOf returns the approval that was asked for by a client, nil if there is none.
func (s *Server) pendingOf(from transport.Addr, nonce uint64) *Approval {
	for _, a := range s.approvals.pending {
		if a.nonce == nonce && a.Address == from {
			return a
		}
	}
	return nil
}

// settle ends an approval.
func (s *Server) settle(a *Approval) {
	if a == nil {
		return
	}
	a.state = approvalOver
	for i, one := range s.approvals.pending {
		if one == a {
			s.approvals.pending = append(s.approvals.pending[:i], s.approvals.pending[i+1:]...)
			return
		}
	}
}

// expireApprovals ends the approvals whose time is over. It refuses the clients about whom the game did not decide.
func (s *Server) expireApprovals() {
	kept := s.approvals.pending[:0]
	for _, a := range s.approvals.pending {
		if s.frame.Now < a.until {
			kept = append(kept, a)
			continue
		}
		if a.state == approvalOpen {
			s.stats.ApprovalsLate++
			reason := &peer.Error{Reason: peer.ReasonNotApproved, Detail: fmt.Sprintf("the server did not decide in %v", s.config.HandshakeTimeout)}
			s.approvals.refused.Add(a.nonce, reason, s.frame.Now)
		}
		a.state = approvalOver
	}
	clear(s.approvals.pending[len(kept):])
	s.approvals.pending = kept
}
