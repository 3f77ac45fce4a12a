package handshake

import (
	"fmt"
	"net/netip"

	"github.com/arche-netcode/netcode/internal/admission"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// fits returns the reason that there is no place for a client, nil if there is one. Where the game decides, a client that asks may be a player that is
// connected, and have its place: hasRoom is asked when that is known.
func (d *Door) fits(from transport.Addr) *peer.Error {
	if d.sessions.Asks() && !d.sessions.Shut() {
		return nil
	}
	return d.hasRoom(from, Seat{})
}

// hasRoom returns the reason that there is no place for a client, nil if there is one. A session of the same address is about to
// be replaced, so its place counts, and so does that of old, which is about to be taken over.
func (d *Door) hasRoom(from transport.Addr, old Seat) *peer.Error {
	if d.sessions.Shut() {
		return &peer.Error{Reason: peer.ReasonShuttingDown}
	}
	if d.sessions.At(from).Phase == Connected {
		return nil
	}
	taken := d.sessions.Taken()
	if old.Phase != Nobody {
		d.places.Free(old.Address.IP.Addr())
		defer d.places.Take(old.Address.IP.Addr())
		taken--
	}
	if taken >= d.config.Clients {
		d.out.Stats.RefusedFull++
		return &peer.Error{Reason: peer.ReasonFull, Detail: fmt.Sprintf("%d of %d places are taken", d.sessions.Taken(), d.config.Clients)}
	}
	return d.crowded(from.IP.Addr())
}

// crowded returns the reason to refuse an address a further place, nil if there is none.
func (d *Door) crowded(ip netip.Addr) *peer.Error {
	switch d.places.Crowded(ip) {
	case admission.Address:
		d.out.Stats.RefusedAddress++
		return &peer.Error{Reason: peer.ReasonCrowded, Detail: fmt.Sprintf("%d clients from this address, which is the most (ClientsPerAddress)", d.config.ClientsPerAddress)}
	case admission.Network:
		d.out.Stats.RefusedNetwork++
		return &peer.Error{Reason: peer.ReasonCrowded, Detail: fmt.Sprintf("%d clients from %v, which is the most (ClientsPerNetwork)", d.config.ClientsPerNetwork, peer.NetworkPrefix(ip))}
	}
	return nil
}

// admit makes the session of a client that has proved its address, if the game gives it a place and there is one.
func (d *Door) admit(s Seat, payload []byte) {
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
	d.sessions.Replace(s.Address)
	s.Client = d.LastID + 1
	if identity != "" {
		var p *admission.Player
		if p, s.Returned = d.Players.Enter(identity, s.Client); s.Returned {
			s.Client = p.ID
			d.out.Stats.Returned++
		}
	}
	d.LastID = max(d.LastID, s.Client)
	d.places.Take(s.Address.IP.Addr())
	d.sessions.Open(s, seed)
}

// approve returns the game's decision about a client, if it may have a place by now. Otherwise it answers the client.
func (d *Door) approve(s Seat, payload []byte) (decision *admission.Decision, ok bool) {
	if reason := d.decisions.Refusal(s.Nonce, d.frame.Now); reason != nil {
		d.refuse(s.Address, s.Nonce, reason)
		return nil, false
	}
	if decision = d.decisions.Find(s.Address, s.Nonce); decision == nil {
		if len(d.decisions.Waiting) >= d.config.Clients || d.decisions.Crowded(s.Address, d.config.Limits) {
			d.out.Stats.ApprovalsFull++
			d.refuse(s.Address, s.Nonce, &peer.Error{Reason: peer.ReasonBusy})
			return nil, false
		}
		decision = &admission.Decision{Address: s.Address, Nonce: s.Nonce}
		if d.sessions.Ask(decision, payload); decision.State == admission.Open {
			d.decisions.Wait(decision, d.frame.After(d.config.Timeout))
		}
	}
	switch decision.State {
	case admission.Open:
		d.refuse(s.Address, s.Nonce, &peer.Error{Reason: peer.ReasonPending})
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

// makeRoom ends the session of a player who connects anew. Where it returns a reason to refuse the new one, the old one goes on.
func (d *Door) makeRoom(from transport.Addr, identity string) *peer.Error {
	old, reason := d.connectedAs(identity)
	if reason == nil {
		reason = d.hasRoom(from, old)
	}
	if reason != nil || old.Phase == Nobody {
		return reason
	}
	d.out.Stats.TakenOver++
	d.sessions.TakeOver(old.Client)
	return d.hasRoom(from, Seat{}) // OnDisconnect may have closed the server, or given the place away.
}

// connectedAs returns the session of a player who connects anew, if there is one, or the reason to refuse the new one.
func (d *Door) connectedAs(identity string) (old Seat, refused *peer.Error) {
	p := d.Players.Find(identity)
	if p == nil || !p.Connected {
		return Seat{}, nil
	}
	old = d.sessions.Of(p.ID)
	switch {
	case old.Phase == Leaving: // It has closed in order: who comes now is a new player.
		d.Players.Release(p)
		return Seat{}, nil
	case d.config.RefuseSecond:
		d.out.Stats.RefusedSecond++
		return Seat{}, &peer.Error{Reason: peer.ReasonAlreadyConnected}
	}
	return old, nil
}

// Leave gives the place of a client back whose session ended for a reason. Its player is away, or has left for good. A client of this process
// has an empty seat.
func (d *Door) Leave(s Seat, client wire.ClientID, reason *peer.Error) {
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
		d.Players.GoAway(p, peer.NetworkPrefix(s.Address.IP.Addr()), d.frame.After(d.config.Keep))
		for one := d.Players.TooMany(d.config.Clients); one != nil; one = d.Players.TooMany(d.config.Clients) {
			d.out.Stats.KeptFull++
			d.endPlayer(one)
		}
	}
}

// keeps reports whether a player may come back after its session ended for a reason.
func (d *Door) keeps(s Seat, reason *peer.Error) bool {
	switch {
	case reason.Reason == peer.ReasonTakenOver: // It is back already.
		return true
	case d.sessions.Shut() || d.config.Keep == 0 || s.Phase == Leaving:
		return false
	}
	return reason.Reason != peer.ReasonClosed && reason.Reason != peer.ReasonKicked
}

// endPlayer makes a player have left for good, and tells the game.
func (d *Door) endPlayer(p *admission.Player) {
	d.Players.Leave(p)
	d.sessions.Left(p.ID)
}

// EndAway ends the time of all players that are away.
func (d *Door) EndAway() {
	for away := d.Players.Away; len(away) > 0; away = d.Players.Away {
		d.endPlayer(away[0])
	}
}

// Kick ends the time of a player that is away, and reports whether there is one.
func (d *Door) Kick(client wire.ClientID) bool {
	p := d.Players.Of(client)
	if p == nil || p.Connected || p.Left {
		return false
	}
	d.endPlayer(p)
	return true
}
