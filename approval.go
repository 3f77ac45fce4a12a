package netcode

import (
	"bytes"
	"fmt"
	"time"

	"github.com/arche-netcode/netcode/internal/admission"
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
