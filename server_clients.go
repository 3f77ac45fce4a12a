package netcode

import (
	"net/netip"
	"time"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// ClientStats is the state of one client's connection at a server.
type ClientStats struct {
	Address netip.AddrPort // Where its packets come from.
	RTT     time.Duration  // Smoothed round-trip time, the client's wait for its next tick included; 0: not known yet.
	Jitter  time.Duration  // Smoothed mean deviation of RTT.
	Loss    float64        // Share of packets to the client that were lost lately, 0 to 1.

	Known   int  // Entities that the client is proved to hold.
	Unacked int  // Entities whose newest state was sent and is not acknowledged yet.
	Synced  bool // The client is proved to hold everything it may see, as of the last tick.
	Waiting int  // Bytes of messages that wait to be sent.

	Unconfirmed int // Reliable messages that wait or are not acknowledged yet, pieces of large ones counted apart.

	Packets  peer.Stats         // Packet counters.
	Snapshot snapshot.ViewStats // State counters.
}

// Clients yields the connected clients in the order in which they came.
func (s *Server) Clients(yield func(ClientID) bool) {
	for _, c := range s.sessions {
		if c.state == connected && !yield(c.id) {
			return
		}
	}
}

// ClientStats answers for one connected client.
func (s *Server) ClientStats(client ClientID) (ClientStats, bool) {
	c := s.client(client)
	if c == nil {
		return ClientStats{}, false
	}
	rtt, jitter := c.conn.RTT()
	return ClientStats{
		Address: c.address, RTT: rtt, Jitter: jitter, Loss: c.conn.Loss(),
		Known: c.view.Known(), Unacked: c.view.Unacked(), Synced: c.view.Synced(), Waiting: c.outgoing.Waiting() + c.early.waiting(), Unconfirmed: c.outgoing.Unconfirmed(),
		Packets: c.conn.Stats(), Snapshot: c.view.Stats(),
	}, true
}

// Show lets a client see an entity again. All entities are visible until hidden. With SetInterest it holds until the policy
// takes the entity out of sight, as in Hide. It says false if there is no such client or no such entity.
func (s *Server) Show(client ClientID, entity NetworkID) bool {
	c := s.client(client)
	if c == nil || !s.store.Alive(entity) {
		return false
	}
	s.observe(c)
	c.view.Show(entity)
	return true
}

// Hide takes an entity out of a client's sight: it despawns there, and no byte about it is sent until Show. Called from
// OnSpawn of the server's systems, it keeps an entity from being seen at all. It says false if there is no such client or
// no such entity.
//
// With SetInterest the policy decides anew: a Hide holds only until the policy next brings the entity into sight, which for
// an entity or a client that is new is in the same network tick. Hide by the policy then: an interest.Explicit, combined by
// interest.Both.
//
// Messages about the entity that were handed over before Hide and wait unsent are taken back, unreliable ones too
// (Stats.Recalled). Only a reliable one that was sent once and got lost may be sent again.
func (s *Server) Hide(client ClientID, entity NetworkID) bool {
	c := s.client(client)
	if c == nil || !s.store.Alive(entity) {
		return false
	}
	s.observe(c)
	c.view.Hide(entity)
	return true
}

// Visible tells if a connected client may see an entity.
func (s *Server) Visible(client ClientID, entity NetworkID) bool {
	c := s.client(client)
	if c == nil {
		return false
	}
	s.observe(c)
	return c.view.Visible(entity)
}

// VisibleRows is the components that a connected client may see of an entity, whether the entity has them or not: all but what
// the interest hides (interest.NewRows), and none of an entity that it may not see.
func (s *Server) VisibleRows(client ClientID, entity NetworkID) snapshot.Mask {
	c := s.client(client)
	if c == nil {
		return 0
	}
	s.observe(c)
	return c.view.Rows(entity)
}

// Keeps tells if a connected client holds the last state that it was sent of an entity that it may not see any more
// (interest.Keep).
func (s *Server) Keeps(client ClientID, entity NetworkID) bool {
	c := s.client(client)
	if c == nil {
		return false
	}
	s.observe(c)
	return c.view.Keeps(entity)
}

// client is a connected client's session, or nil.
func (s *Server) client(id wire.ClientID) *Session {
	if c := s.near[id%numNear]; c != nil && c.id == id && c.state == connected {
		return c
	}
	return s.farClient(id)
}

// numNear is the number of sessions that are found by their id alone.
const numNear = 256

// farClient is client for one that is not near; it is from then on.
func (s *Server) farClient(id wire.ClientID) *Session {
	c := s.byID[id]
	if c == nil || c.state != connected {
		return nil
	}
	s.near[id%numNear] = c
	return c
}

// forget takes a session out of those that are found by their id.
func (s *Server) forget(c *Session) {
	delete(s.byID, c.id)
	s.doors.shut(c.id)
	if near := &s.near[c.id%numNear]; *near == c {
		*near = nil
	}
}
