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

// sessionState is where a session is in its life. Before its Join there is nothing: see server_handshake.go.
//
//	Join            close, kick, silence, malformed         acknowledged, or repeated enough
//	----> connected -----------------------------> lingering ------------------------------> gone
//	          |                                                                              ^
//	          +---------------> leaving -----------------------------------------------------+
//	     closed by the client             handled what it had sent
type sessionState uint8

const (
	connected sessionState = iota // The game knows it and state flows.
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
	view   *snapshot.View // Nil once the session is over.
	inputs inputQueue
	authority
	past         Past
	acknowledged tick.Tick // The newest tick of which a packet was acknowledged.

	nonce  uint64
	epoch  uint32
	before uint32 // Epoch of the session that the address had before; 0: none.
	opened bool   // Welcome was sent in this frame, or since the last tick.
	met    bool   // A packet of the client came: it has read Welcome.

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

// open makes the session of a client that has joined, and tells it.
func (s *Server) open(address netip.AddrPort, nonce uint64, epoch, before uint32) {
	seed, err := randomSeed(s.config.Random)
	if err != nil {
		s.Report(err)
		return
	}
	in, out := checksums(epoch, s.protocol.hash)
	s.lastID++
	c := &session{id: s.lastID, state: connected, nonce: nonce, epoch: epoch, before: before}
	c.collector.server, c.collector.session = s, c
	c.link = link{frame: &s.frame, config: &s.config, out: &s.out, stats: &s.stats}
	c.start(address, peer.NewConn(s.config.conn(out, in)), c.id, s.pool, seed)
	c.early = new(early)
	c.inputs.setUp(&s.protocol.inputs)
	s.counts[connected]++
	s.byAddress[address] = c
	s.byID[c.id] = c
	s.sessions = append(s.sessions, c)
	s.take(address.Addr(), 1)
	s.setUpAuthority(c)
	s.welcome(c)
	c.opened = true
	s.connect(c)
}

// move changes a session's state and keeps count.
func (s *Server) move(c *session, to sessionState) {
	s.counts[c.state]--
	s.counts[to]++
	c.state = to
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
	if c.state == leaving {
		how = endQuiet
	}
	s.stats.Disconnected++
	s.events.waiting = append(s.events.waiting, event{client: c.id, reason: reason})
	if s.report.enabled(slog.LevelInfo) {
		s.report.log(slog.LevelInfo, "client disconnected", "client", c.id, "reason", reason.Error())
	}
	s.take(c.address.Addr(), -1)
	if c.near == nil {
		s.past.add(c.nonce, reason, s.frame.now)
	}
	if s.interest != nil {
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
