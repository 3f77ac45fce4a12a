package netcode

import (
	"slices"

	"github.com/arche-netcode/netcode/internal/admission"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/wire"
)

// OnLeave adds a function that is called once for each client that has left for good. For a client without an identity, or
// without Config.Keep, that is right after OnDisconnect. A player with an identity whose connection was lost is away for
// Config.Keep first. Meanwhile it keeps its client id, and so its entities, its rights to write and its place in interest policies. It has
// left for good when it did not come back in that time, or closed in order. A kick and a server that closes end the time at once. For a
// player that comes back OnConnect is called with the same id, and Returned is true. No other player ever has that id. OnLeave panics on nil.
func (s *Server) OnLeave(f func(client ClientID)) {
	mustBeGiven(f != nil, "Server.OnLeave")
	s.events.left = append(s.events.left, f)
}

// Identity returns the identity that Approval.Accept gave a client. It is there while the client is connected or away, in OnDisconnect
// and in OnLeave. It is empty for any other client, and for the player of a host.
func (s *Server) Identity(client ClientID) string {
	if p := s.players.Of(client); p != nil {
		return p.Identity
	}
	return ""
}

// Returned reports whether a connected client is a player that was connected before, under the same id.
func (s *Server) Returned(client ClientID) bool {
	c := s.client(client)
	return c != nil && c.returned
}

// Away yields the players that are away and may come back, in the order in which they went. The body of the loop may Kick them.
func (s *Server) Away(yield func(ClientID) bool) {
	for _, p := range slices.Clone(s.players.Away) {
		if !p.Connected && !p.Left && !yield(p.ID) {
			return
		}
	}
}

// connectedAs returns the session of a player who connects anew, nil if there is none, or the reason to refuse the new one.
func (s *Server) connectedAs(identity string) (old *Session, refused *peer.Error) {
	p := s.players.Find(identity)
	if p == nil || !p.Connected {
		return nil, nil
	}
	old = s.present(p.ID)
	switch {
	case old.state == leaving: // It has closed in order: who comes now is a new player.
		s.players.Release(p)
		return nil, nil
	case s.config.RefuseSecond:
		s.stats.RefusedSecond++
		return nil, &peer.Error{Reason: peer.ReasonAlreadyConnected}
	}
	return old, nil
}

// takeOver ends the session of a player who connects anew, so that there is one at a time.
func (s *Server) takeOver(old *Session) {
	s.stats.TakenOver++
	s.end(old, &peer.Error{Reason: peer.ReasonTakenOver}, closeTold)
	s.events.fire() // OnDisconnect comes before the new session is there.
}

// assignID gives a session that begins its client id: that of its player, or a new one.
func (s *Server) assignID(c *Session, identity string) {
	if identity == "" {
		s.lastID++
		c.id = s.lastID
		return
	}
	if c.player, c.returned = s.players.Enter(identity, s.lastID+1); c.returned {
		s.stats.Returned++
	} else {
		s.lastID++
	}
	c.id = c.player.ID
}

// playerLeft takes the player of a session that is over. The player is away, or has left for good.
func (s *Server) playerLeft(c *Session, reason *peer.Error) {
	p := c.player
	switch {
	case p == nil:
		s.events.waiting = append(s.events.waiting, event{client: c.id, left: true})
	case !s.keeps(c, reason):
		s.endPlayer(p)
	default:
		s.players.GoAway(p, peer.NetworkPrefix(c.link.Address.IP.Addr()), s.frame.After(s.config.Keep))
		for one := s.players.TooMany(s.config.Clients); one != nil; one = s.players.TooMany(s.config.Clients) {
			s.stats.KeptFull++
			s.endPlayer(one)
		}
	}
}

// keeps reports whether a player may come back after its session ended for a reason.
func (s *Server) keeps(c *Session, reason *peer.Error) bool {
	switch {
	case reason.Reason == peer.ReasonTakenOver: // It is back already.
		return true
	case s.closing || s.shut || s.config.Keep == 0 || c.state == leaving:
		return false
	}
	return reason.Reason != peer.ReasonClosed && reason.Reason != peer.ReasonKicked
}

// endPlayer makes a player have left for good, and tells the game.
func (s *Server) endPlayer(p *admission.Player) {
	s.players.Leave(p)
	s.events.waiting = append(s.events.waiting, event{client: p.ID, left: true})
}

// endAway ends the time of all players that are away.
func (s *Server) endAway() {
	for away := s.players.Away; len(away) > 0; away = s.players.Away {
		s.endPlayer(away[0])
	}
}

// forgetLeft forgets a client after OnDisconnect and OnLeave. Their functions may have named it to the interest once more.
func (s *Server) forgetLeft(client wire.ClientID) {
	s.players.Forget(client)
	s.leaveInterest(client)
}

// leaveInterest makes the interest forget a client, unless it is a player that may come back.
func (s *Server) leaveInterest(client wire.ClientID) {
	if p := s.players.Of(client); s.interest != nil && (p == nil || p.Left) {
		s.interest.Leave(client)
	}
}

// expireAway ends the time of the players that did not come back.
func (s *Server) expireAway() {
	for p := s.players.Due(s.frame.Now); p != nil; p = s.players.Due(s.frame.Now) {
		s.endPlayer(p)
	}
}

// kickAway ends the time of a player that is away, and reports whether there is one.
func (s *Server) kickAway(client wire.ClientID) bool {
	p := s.players.Of(client)
	if p == nil || p.Connected || p.Left {
		return false
	}
	s.endPlayer(p)
	s.events.fire()
	return true
}
