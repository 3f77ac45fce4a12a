package netcode

import (
	"net/netip"
	"slices"
	"time"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/wire"
)

// player is a client that OnApprove gave an identity. It is connected, or away and may come back. It has the same client id in both.
type player struct {
	identity string
	id       wire.ClientID
	session  *Session      // Nil while it is away.
	from     netip.Prefix  // While it is away, the network that it came from.
	until    time.Duration // While it is away, the time at which it has left for good.
	left     bool          // It has left for good, and OnLeave is still to come.
}

// players is the clients with an identity.
type players struct {
	byIdentity map[string]*player // Looked up only.
	byClient   map[wire.ClientID]*player
	away       []*player // In the order in which they left. Config.Clients at most.
}

// notAway takes a player out of those that are away: without a look at the others if it went first.
func (a *players) notAway(p *player) {
	switch i := slices.Index(a.away, p); {
	case i == 0:
		a.away[0], a.away = nil, a.away[1:]
	case i > 0:
		a.away = slices.Delete(a.away, i, i+1)
	}
}

// fromMost returns the player that went first of the network from which most are away, so that a client that comes with many
// identities takes the time of its neighbours alone.
func (a *players) fromMost() *player {
	counts := map[netip.Prefix]int{}
	for _, p := range a.away {
		counts[p.from]++
	}
	return slices.MaxFunc(a.away, func(p, q *player) int { return counts[p.from] - counts[q.from] })
}

// OnLeave adds a function that is called once for each client that has left for good. For a client without an identity, or
// without Config.Keep, that is right after OnDisconnect. A player with an identity whose connection was lost is away for
// Config.Keep first. It keeps its client id meanwhile. With the id it keeps its entities, what it may write and its place in interest
// policies. It has left for good when it did not come back in that time, or closed in order. A kick and a server that closes end the
// time at once. For a player that comes back OnConnect is called with the same id, and Returned is true. No other player ever has
// that id. OnLeave panics on nil.
func (s *Server) OnLeave(f func(client ClientID)) {
	mustBeGiven(f != nil, "Server.OnLeave")
	s.events.left = append(s.events.left, f)
}

// Identity returns the identity that Approval.Accept gave a client. It is there while the client is connected or away, in OnDisconnect
// and in OnLeave. It is empty for any other client, and for the player of a host.
func (s *Server) Identity(client ClientID) string {
	if p := s.players.byClient[client]; p != nil {
		return p.identity
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
	for _, p := range slices.Clone(s.players.away) {
		if p.session == nil && !yield(p.id) {
			return
		}
	}
}

// connectedAs returns the session of a player who connects anew, nil if there is none, or the reason to refuse the new one.
func (s *Server) connectedAs(identity string) (old *Session, refused *peer.Error) {
	p := s.players.byIdentity[identity]
	switch {
	case identity == "" || p == nil || p.session == nil:
		return nil, nil
	case p.session.state == leaving: // It has closed in order: who comes now is a new player.
		delete(s.players.byIdentity, identity)
		return nil, nil
	case s.config.RefuseSecond:
		s.stats.RefusedSecond++
		return nil, &peer.Error{Reason: peer.ReasonAlreadyConnected}
	}
	return p.session, nil
}

// takeOver ends the session of a player who connects anew, so that there is one at a time.
func (s *Server) takeOver(old *Session) {
	s.stats.TakenOver++
	s.end(old, &peer.Error{Reason: peer.ReasonTakenOver}, closeTold)
	s.events.fire() // OnDisconnect comes before the new session is there.
}

// assignID gives a session that begins its client id: that of its player, or a new one.
func (s *Server) assignID(c *Session, identity string) {
	p := s.players.byIdentity[identity]
	if identity == "" || p == nil {
		s.lastID++
		c.id = s.lastID
		if identity != "" {
			c.player = &player{identity: identity, id: c.id, session: c}
			s.players.byIdentity[identity], s.players.byClient[c.id] = c.player, c.player
		}
		return
	}
	s.players.notAway(p)
	s.stats.Returned++
	c.id, c.player, c.returned, p.session = p.id, p, true, c
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
		p.session, p.until, p.from = nil, s.frame.After(s.config.Keep), peer.NetworkPrefix(c.link.Address.IP.Addr())
		s.players.away = append(s.players.away, p)
		for len(s.players.away) > s.config.Clients {
			s.stats.KeptFull++
			s.endPlayer(s.players.fromMost())
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

// endPlayer forgets a player, and tells the game.
func (s *Server) endPlayer(p *player) {
	if s.players.byIdentity[p.identity] == p {
		delete(s.players.byIdentity, p.identity)
	}
	p.left = true
	s.players.notAway(p)
	s.events.waiting = append(s.events.waiting, event{client: p.id, left: true})
}

// forgetLeft forgets a client after OnDisconnect and OnLeave. Their functions may have named it to the interest once more.
func (s *Server) forgetLeft(client wire.ClientID) {
	delete(s.players.byClient, client)
	s.leaveInterest(client)
}

// leaveInterest makes the interest forget a client, unless it is a player that may come back.
func (s *Server) leaveInterest(client wire.ClientID) {
	if p := s.players.byClient[client]; s.interest != nil && (p == nil || p.left) {
		s.interest.Leave(client)
	}
}

// expireAway ends the time of the players that did not come back.
func (s *Server) expireAway() {
	for len(s.players.away) > 0 && s.frame.Now >= s.players.away[0].until {
		s.endPlayer(s.players.away[0])
	}
}

// kickAway ends the time of a player that is away, and reports whether there is one.
func (s *Server) kickAway(client wire.ClientID) bool {
	p := s.players.byClient[client]
	if p == nil || p.session != nil || p.left {
		return false
	}
	s.endPlayer(p)
	s.events.fire()
	return true
}
