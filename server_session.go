package netcode

import (
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// maxLingering bounds the sessions that are kept only to repeat their close message.
const maxLingering = 256

// sessionState is where a session is in its life.
//
//	Hello with cookie        first packet           close, kick, silence, malformed         acknowledged, or repeated enough
//	-----------------> pending ---------> connected -----------------------------> lingering ------------------------------> gone
//	                                          |                                                                              ^
//	                                          +---------------> leaving -----------------------------------------------------+
//	                                     closed by the client             handled what it had sent
type sessionState uint8

const (
	pending   sessionState = iota // Accepted; nothing heard yet that proves that the client knows.
	connected                     // The game knows it and state flows.
	leaving                       // The client closed; what it sent before is still handled, and the game not told yet.
	lingering                     // Over; only the close message is still repeated.
	gone                          // Waits for sweep.
	numSessionStates
)

// session is one client as the server sees it.
type session struct {
	id    wire.ClientID // These two and the link's first fields are what Send looks at: they share a line of the cache.
	state sessionState
	link
	view   *snapshot.View // Nil unless connected.
	inputs inputQueue
	authority
	past         Past
	acknowledged tick.Tick // The newest tick of which a packet was acknowledged.

	nonce   uint64
	epoch   uint32
	before  uint32 // Epoch of the session that the address had before; 0: none.
	created time.Duration

	timed      time.Duration // When it was last told the server's tick.
	moving     bool          // It was sent a snapshot in the last tick.
	stateFirst bool          // Messages filled the last packet while state waited.
	starved    bool          // State waited at the end of the last tick.
	resynced   bool
	resyncAt   time.Duration
	oversize   uint64
	oversizeID wire.NetworkID
	collector  collector
	blind      int // Network ticks one behind the other in which its interest had no viewpoint.
}

// Acked implements peer.Outcome: the view learns what the client holds.
func (c *session) Acked(seq uint64, sentAt tick.Tick) {
	if c.view != nil {
		c.view.Acked(seq)
	}
	c.acknowledged = max(c.acknowledged, sentAt)
	c.acked(seq)
}

// Lost implements peer.Outcome: the view learns what has to be sent again.
func (c *session) Lost(seq uint64) {
	if c.view != nil {
		c.view.Lost(seq)
	}
	c.lost(seq)
}

// open makes a pending session for a client that has shown its address to be its own.
func (s *Server) open(address netip.AddrPort, nonce uint64, before uint32) (*session, error) {
	epoch, err := s.freshEpoch()
	if err != nil {
		return nil, err
	}
	seed, err := randomSeed(s.config.Random)
	if err != nil {
		return nil, err
	}
	in, out := checksums(epoch, s.protocol.hash)
	if s.counts[pending] >= s.config.Pending {
		s.dropOldestPending()
	}
	s.lastID++
	c := &session{id: s.lastID, nonce: nonce, epoch: epoch, before: before, created: s.frame.now}
	c.collector.server, c.collector.session = s, c
	c.link = link{frame: &s.frame, config: &s.config, out: &s.out, stats: &s.stats}
	c.start(address, peer.NewConn(s.config.conn(out, in)), c.id, s.pool, seed)
	s.counts[pending]++
	s.byAddress[address] = c
	s.byID[c.id] = c
	s.sessions = append(s.sessions, c)
	return c, nil
}

// freshEpoch is a random epoch; of the 2^32 one or two are left out, with which a checksum would start from zero.
func (s *Server) freshEpoch() (uint32, error) {
	for {
		epoch, err := random32(s.config.Random)
		if err != nil {
			return 0, err
		}
		if in, out := checksums(epoch, s.protocol.hash); in != 0 && out != 0 {
			return epoch, nil
		}
	}
}

// move changes a session's state and keeps count.
func (s *Server) move(c *session, to sessionState) {
	s.counts[c.state]--
	s.counts[to]++
	c.state = to
}

// dropOldestPending makes room among those that are connecting: an honest client says its first word within a round trip,
// so the one that has been silent longest is most likely none.
func (s *Server) dropOldestPending() {
	for _, c := range s.sessions { // in ascending order of id, and so of age
		if c.state == pending {
			s.stats.PendingDropped++
			s.end(c, &peer.Error{Reason: peer.ReasonHandshakeTimeout}, endQuiet)
			return
		}
	}
}

// admit turns a pending session into a connected client: its first packet proved that it has the epoch. Only now does it
// take a place, so that nobody can hold places with hellos alone; it says false if there is none left.
func (s *Server) admit(c *session) bool {
	if s.taken() >= s.config.Clients {
		s.stats.RefusedFull++
		s.end(c, s.full(), endTold)
		return false
	}
	s.move(c, connected)
	c.early = new(early)
	c.inputs.setUp(&s.protocol.inputs)
	s.setUpAuthority(c)
	s.connect(c)
	return true
}

// connect makes a session that of a client which the game knows.
func (s *Server) connect(c *session) {
	c.view = snapshot.NewView(s.store, s.config.snapshot())
	s.stats.Connected++
	s.events.waiting = append(s.events.waiting, event{client: c.id})
	if s.report.enabled(slog.LevelInfo) {
		s.report.log(slog.LevelInfo, "client connected", "client", c.id, "address", c.address)
	}
}

// full is why a client cannot come in when all places are taken.
func (s *Server) full() *peer.Error {
	return &peer.Error{Reason: peer.ReasonFull, Detail: fmt.Sprintf("%d of %d places are taken", s.taken(), s.config.Clients)}
}

// ending says how the other end learns that a connection is over.
type ending uint8

const (
	endQuiet   ending = iota // Not at all.
	endTold                  // By a close message that lingers.
	endFlushed               // By a close message after what was sent before is delivered.
)

// end takes a client out of the game.
func (s *Server) end(c *session, reason *peer.Error, how ending) {
	if c.state >= lingering {
		return
	}
	known := c.state == connected || c.state == leaving
	if c.state == leaving {
		how = endQuiet
	}
	if known {
		s.stats.Disconnected++
		s.events.waiting = append(s.events.waiting, event{client: c.id, reason: reason})
		if s.report.enabled(slog.LevelInfo) {
			s.report.log(slog.LevelInfo, "client disconnected", "client", c.id, "reason", reason.Error())
		}
	}
	if known && s.interest != nil {
		s.interest.Leave(c.id)
	}
	if how == endFlushed && c.state == connected && c.near == nil {
		s.releaseLast(&c.link, c)
	}
	s.forget(c)
	c.view = nil
	c.dropEarly()
	s.gone(&c.link)
	if c.near != nil && c.state == connected {
		c.near.client.unhosted(reason)
		how = endQuiet
	}
	if how == endQuiet {
		s.remove(c)
		return
	}
	s.move(c, lingering)
	full := s.counts[lingering] > maxLingering
	c.part(reason, how == endFlushed && !full)
	if full {
		s.stats.LingeringFull++
		s.remove(c)
	}
}

// remove ends a session's last trace but its place in the list, which sweep takes.
func (s *Server) remove(c *session) {
	if c.state == gone {
		return
	}
	s.forget(c)
	if s.byAddress[c.address] == c {
		delete(s.byAddress, c.address)
	}
	c.outgoing.Clear()
	addPackets(&s.ended, c.conn.Stats())
	s.move(c, gone)
}

// forgetAfter drops the calls and the interest of a client after OnDisconnect, which may have named the client to the interest
// once more.
func (s *Server) forgetAfter(client wire.ClientID, reason *peer.Error) {
	s.calls.drop(client, reason)
	if s.interest != nil {
		s.interest.Leave(client)
	}
}

// sweep takes the sessions that are gone out of the list.
func (s *Server) sweep() {
	kept := s.sessions[:0]
	for _, c := range s.sessions {
		if c.state != gone {
			kept = append(kept, c)
		}
	}
	clear(s.sessions[len(kept):])
	s.sessions = kept
	s.counts[gone] = 0
}
