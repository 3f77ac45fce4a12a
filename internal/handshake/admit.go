package handshake

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/admission"
	"github.com/arche-netcode/netcode/internal/hosts"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// fits returns the reason to refuse a client a place, nil if there is a place. If the game decides about clients, the
// client may be a connected player whose place it takes over: then fits returns nil, and hasRoom is called after the
// decision.
func (d *Door) fits(from transport.Addr) *errs.CloseError {
	if d.sessions.Asks() && !d.sessions.Shut() {
		return nil
	}
	return d.hasRoom(from, Session{})
}

// hasRoom returns the reason to refuse a client a place, nil if there is a place. A session of the same address is about
// to be replaced, and old is about to be taken over, so that their places count as free. So does that of a silent session.
func (d *Door) hasRoom(from transport.Addr, old Session) *errs.CloseError {
	if d.sessions.Shut() {
		return &errs.CloseError{Reason: errs.ReasonShuttingDown}
	}
	if d.replaces(from) {
		return nil
	}
	reason, scope := d.lacks(from, old)
	if reason != nil && d.silent(from).Phase == Nobody {
		d.countRefused(scope)
		return reason
	}
	return nil
}

// replaces reports whether a client gets the place of a session at its address. One that its transport knows from another address needs a
// place of its own: it could gather the places of many hosts at one.
func (d *Door) replaces(from transport.Addr) bool {
	s := d.sessions.At(from)
	return s.Phase == Connected && s.Address == from
}

// silentAfter is the silence after which a session may lose its place to another client of its host. Every session acknowledges a packet of
// the server each Pulse.
const silentAfter = time.Second

// silent returns the session that may lose its place to a client at an address, that of a client which has crashed and come back: of the same
// host and the same proved user, or of none, and silent.
func (d *Door) silent(from transport.Addr) Session {
	return d.sessions.Silent(silentAfter, d.sessions.Proved(from), func(at transport.Addr) bool { return hosts.Same(at.IP.Addr(), from.IP.Addr()) })
}

// displace ends a silent session if a client needs its place. It returns the reason to refuse the client if there is none, nor a place.
func (d *Door) displace(from transport.Addr) *errs.CloseError {
	if reason, _ := d.lacks(from, Session{}); reason == nil || d.replaces(from) {
		return nil
	}
	if old := d.silent(from); old.Phase == Connected {
		d.out.Stats.Displaced++
		d.sessions.End(old.Client, &errs.CloseError{Reason: errs.ReasonReplaced, Detail: "it was silent, and a new client of its host needed the place"})
	}
	reason, _ := d.lacks(from, Session{}) // OnDisconnect may have closed the server or filled the place.
	return reason
}

// lacks returns the reason to refuse a client a place with the limit that was reached, None if that is Clients. The reason is nil if there is
// a place.
func (d *Door) lacks(from transport.Addr, old Session) (*errs.CloseError, admission.Scope) {
	taken := d.sessions.Taken()
	if old.Phase != Nobody {
		d.places.Free(old.Address.IP.Addr())
		defer d.places.Take(old.Address.IP.Addr())
		taken--
	}
	if taken >= d.config.Clients {
		return &errs.CloseError{Reason: errs.ReasonFull, Detail: fmt.Sprintf("%d of %d places are taken", d.sessions.Taken(), d.config.Clients)}, admission.None
	}
	return d.crowded(from.IP.Addr())
}

// crowded returns the reason to refuse an address another place, nil if it may have one.
func (d *Door) crowded(ip netip.Addr) (*errs.CloseError, admission.Scope) {
	switch limit := d.places.Crowded(ip); limit.Scope {
	case admission.Address:
		return &errs.CloseError{Reason: errs.ReasonCrowded, Detail: fmt.Sprintf("%d clients from this address, which is the most (ClientsPerAddress)", limit.Most)}, limit.Scope
	case admission.Network:
		return &errs.CloseError{Reason: errs.ReasonCrowded, Detail: fmt.Sprintf("%d clients from %v, which is the most (ClientsPerNetwork)", limit.Most, limit.Of)}, limit.Scope
	}
	return nil, admission.None
}

// countRefused counts a client that was refused a place.
func (d *Door) countRefused(scope admission.Scope) {
	switch scope {
	case admission.Address:
		d.out.Stats.RefusedAddress++
	case admission.Network:
		d.out.Stats.RefusedNetwork++
	default:
		d.out.Stats.RefusedFull++
	}
}

// admit opens the session of a client that has proved its address, if the game approves it and there is a place.
func (d *Door) admit(s Session, payload []byte) {
	identity := ""
	if d.sessions.Asks() {
		decision, ok := d.approve(s, payload)
		if !ok {
			return
		}
		d.decisions.Settle(decision)
		identity = decision.Identity
		if reason := d.makeRoom(s.Address, identity); reason != nil {
			d.decisions.Deny(s.Nonce, reason, d.frame.Now)
			d.refuse(s.Address, s.Nonce, reason)
			return
		}
	}
	seed, err := peer.NewSkipSeed(d.config.Random)
	if err != nil {
		d.report.Error(err)
		return
	}
	if reason := d.displace(s.Address); reason != nil {
		d.refuse(s.Address, s.Nonce, reason)
		return
	}
	d.sessions.Replace(s.Address)
	s = d.enter(s, identity)
	d.places.Take(s.Address.IP.Addr())
	d.sessions.Open(s, seed)
}

// approve returns the game's approval of a client. ok is false, and the client is answered, if it is refused or the
// decision is open.
func (d *Door) approve(s Session, payload []byte) (decision *admission.Decision, ok bool) {
	if reason := d.decisions.Refusal(s.Nonce, d.frame.Now); reason != nil {
		d.refuse(s.Address, s.Nonce, reason)
		return nil, false
	}
	if decision = d.decisions.Find(s.Address, s.Nonce, s.User); decision == nil {
		if d.decisions.Crowded(s.Address, d.config.Limits) || !d.decisions.MakeRoom(s.Address, d.config.Clients) {
			d.out.Stats.ApprovalsFull++
			d.refuse(s.Address, s.Nonce, &errs.CloseError{Reason: errs.ReasonBusy})
			return nil, false
		}
		decision = &admission.Decision{Address: s.Address, Nonce: s.Nonce, User: s.User}
		if d.sessions.Ask(decision, payload); decision.State == admission.Open {
			d.decisions.Wait(decision, d.frame.After(d.config.Timeout))
		}
	}
	switch decision.State {
	case admission.Open:
		d.refuse(s.Address, s.Nonce, &errs.CloseError{Reason: errs.ReasonPending})
		return nil, false
	case admission.Refused:
		d.out.Stats.NotApproved++
		d.decisions.Deny(s.Nonce, decision.Reason, d.frame.Now)
		d.refuse(s.Address, s.Nonce, decision.Reason)
		d.decisions.Settle(decision)
		return nil, false
	}
	return decision, true
}

// makeRoom ends the old session of a player that connects again. If it returns a reason to refuse the new session, the
// old one continues.
func (d *Door) makeRoom(from transport.Addr, identity string) *errs.CloseError {
	old, reason := d.connectedAs(identity)
	if reason == nil {
		reason = d.hasRoom(from, old)
	}
	if reason != nil || old.Phase == Nobody {
		return reason
	}
	d.out.Stats.TakenOver++
	d.sessions.End(old.Client, takenOver())
	return d.hasRoom(from, Session{}) // OnDisconnect may have closed the server or filled the place.
}

// connectedAs returns the old session of a player that connects again, if there is one, or the reason to refuse the new
// session.
func (d *Door) connectedAs(identity string) (old Session, refused *errs.CloseError) {
	p := d.Players.Find(identity)
	if p == nil || !p.Connected {
		return Session{}, nil
	}
	old = d.sessions.Of(p.ID)
	local := d.sessions.Local(p.ID)
	switch {
	case local == Leaving && d.mayReturn():
		d.sessions.End(p.ID, takenOver())
		return Session{}, nil
	case old.Phase == Leaving && d.mayReturn(): // The old session has closed in order. It ends now.
		return old, nil
	case old.Phase == Leaving || local == Leaving: // The client is a new player.
		d.Players.Release(p)
		return Session{}, nil
	case d.config.RefuseSecond || local == Connected: // No other client takes over the player of this process.
		d.out.Stats.RefusedSecond++
		return Session{}, &errs.CloseError{Reason: errs.ReasonAlreadyConnected}
	}
	return old, nil
}

// takenOver returns the reason of the end of a player's old session.
func takenOver() *errs.CloseError { return &errs.CloseError{Reason: errs.ReasonTakenOver} }

// Leave frees the place of a client whose session ended for a reason. Its player is then away or has left for good. For a
// client of this process s is empty.
func (d *Door) Leave(s Session, client wire.ClientID, reason *errs.CloseError) {
	d.places.Free(s.Address.IP.Addr())
	if s.Phase != Nobody {
		d.past.Add(s.Nonce, reason, d.frame.Now)
	}
	p := d.Players.Of(client)
	switch {
	case p == nil:
		d.sessions.Left(client)
	case !d.keeps(s, reason):
		d.endPlayer(p)
	default:
		d.Players.GoAway(p, s.Address.IP.Addr(), d.frame.After(d.config.Keep))
		for one := d.Players.TooMany(d.config.Clients); one != nil; one = d.Players.TooMany(d.config.Clients) {
			d.out.Stats.KeptFull++
			d.endPlayer(one)
		}
	}
}

// keeps reports whether a player may return after its session ended for a reason.
func (d *Door) keeps(s Session, reason *errs.CloseError) bool {
	switch {
	case reason.Reason == errs.ReasonTakenOver: // The player is back already.
		return true
	case d.sessions.Shut() || d.config.Keep == 0 || reason.Reason == errs.ReasonKicked:
		return false
	}
	return d.config.KeepClosed || s.Phase != Leaving && reason.Reason != errs.ReasonClosed
}

// mayReturn reports whether a player that closed in order may return.
func (d *Door) mayReturn() bool { return d.config.KeepClosed && d.config.Keep > 0 }

// undecided returns the reason to refuse a client about which the game did not decide in time.
func (d *Door) undecided() *errs.CloseError {
	return &errs.CloseError{Reason: errs.ReasonNotApproved, Detail: fmt.Sprintf("the server did not decide in %v", d.config.Timeout)}
}

// AskLocal asks the game about the client of this process. If the decision is open, it waits for as long as those about others.
func (d *Door) AskLocal(payload []byte) *admission.Decision {
	decision := &admission.Decision{State: admission.Given}
	if d.sessions.Asks() {
		decision.State = admission.Open
		if d.sessions.Ask(decision, payload); decision.State == admission.Open {
			d.decisions.Wait(decision, d.frame.After(d.config.Timeout))
		}
	}
	return decision
}

// AdmitLocal settles the decision about the client of this process. Once it is given, it returns the client's session if there is a place.
func (d *Door) AdmitLocal(decision *admission.Decision) (s Session, refused *errs.CloseError) {
	given := decision.State == admission.Given
	d.decisions.Settle(decision)
	if !given {
		d.out.Stats.NotApproved++
		if refused = decision.Reason; refused == nil {
			refused = d.undecided()
		}
		return Session{}, refused
	}
	if refused = d.makeRoom(transport.Addr{}, decision.Identity); refused != nil {
		return Session{}, refused
	}
	s = d.enter(Session{}, decision.Identity)
	return s, nil
}

// enter gives a session its client id: that of the player of an identity, if there is one.
func (d *Door) enter(s Session, identity string) Session {
	s.Client = d.LastID + 1
	if identity != "" {
		var p *admission.Player
		if p, s.Returned = d.Players.Enter(identity, s.Client); s.Returned {
			s.Client = p.ID
			d.out.Stats.Returned++
		}
	}
	d.LastID = max(d.LastID, s.Client)
	return s
}

// endPlayer removes a player for good and tells the game.
func (d *Door) endPlayer(p *admission.Player) {
	d.Players.Leave(p)
	d.sessions.Left(p.ID)
}

// EndAway removes all players that are away.
func (d *Door) EndAway() {
	for away := d.Players.Away; len(away) > 0; away = d.Players.Away {
		d.endPlayer(away[0])
	}
}

// Kick removes a player that is away. It reports whether there was one.
func (d *Door) Kick(client wire.ClientID) bool {
	p := d.Players.Of(client)
	if p == nil || p.Connected || p.Left {
		return false
	}
	d.endPlayer(p)
	return true
}
