package netcode

import (
	"fmt"
	"math"

	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/peer"
)

// Seat makes the session of a recorded player, for an extension that plays a recorded game once more: the game knows a client with this id, and
// OnConnect is called. Nothing is sent to it. The extension says its messages by Session.Say and ends it by Session.Unseat.
// The error wraps ErrHost.
func (s *Server) Seat(id ClientID) (*Session, error) {
	switch {
	case id == 0 || id > math.MaxInt32 || s.byID[id] != nil: // The ids of the clients that come later are above it.
		return nil, fmt.Errorf("%w: %d is no id of a client, or there is one already", ErrHost, id)
	case s.closing || s.taken() >= s.config.Clients:
		return nil, fmt.Errorf("%w: the server is closing or full: Config.Clients is %d", ErrHost, s.config.Clients)
	}
	seed, err := peer.NewSkipSeed(s.config.Random)
	if err != nil {
		return nil, err
	}
	c := s.openNear(id, new(endpointCore), seed)
	s.events.fire()
	return c, nil
}

// ClientsFrom has the ids of new clients begin at id. Extensions that play recorded players call it, so that no client takes itself for one of them.
func (s *Server) ClientsFrom(id ClientID) { s.lastID = max(s.lastID, id-1) }

// openNear makes the session of a client without packets.
func (s *Server) openNear(id ClientID, near *endpointCore, seed peer.SkipSeed) *Session {
	s.lastID = max(s.lastID, id)
	c := &Session{id: id, state: connected, server: s}
	c.recaller.session = c
	c.link = newConnection(&s.frame, &s.config, &s.out, &s.stats, &s.counters)
	c.link.start(c.link.Address, peer.NewConn(s.config.conn(0, 0)), id, s.pool, seed)
	c.link.near = near
	s.counts[connected]++
	s.byID[id] = c
	s.sessions = append(s.sessions, c)
	s.connect(c)
	c.view.Share()
	return c
}

// Recorded reports whether the session was made by Server.Seat.
func (c *Session) Recorded() bool { return c.link.near != nil && c.link.near.inbound == nil }

// Say gives the server a message of a recorded player, which its handlers get in the message's stage of this frame: Type, Stage, Channel, Entity and
// Body count. It keeps nothing of m. The errors are ErrPosted, for what no client may send, and those of message.Inbound.PushNear.
func (c *Session) Say(m *Posted) error {
	s := c.server
	of, ok := s.protocol.messages.Lookup(m.Type)
	if !ok || !c.Recorded() || s.protocol.roles[m.Type] != alone || !of.Direction.Allows(false) || !of.Codec.Check(s.inbound.Scratch(), m.Body) {
		return fmt.Errorf("%w: %d bytes of type %d", ErrPosted, len(m.Body), m.Type)
	}
	s.inbound.Queue(true)
	defer s.inbound.Queue(false)
	return s.inbound.PushNear(c.link.Source, &message.Message{Type: m.Type, Stage: m.Stage, Channel: m.Channel, Entity: m.Entity}, m.Body)
}

// Unseat ends the session of a recorded player. orderly is that of a client that has closed: its messages are handled first.
func (c *Session) Unseat(orderly bool) {
	if orderly {
		c.server.startLeaving(c, &peer.Error{Reason: peer.ReasonClosed})
	} else {
		c.server.end(c, &peer.Error{Reason: peer.ReasonTimeout}, closeQuiet)
	}
	c.server.events.fire()
}

// EndedByGame reports, in ServerHooks.Closed, whether the game ended the session: by Kick, Close or a handler that panicked.
func (c *Session) EndedByGame() bool {
	switch c.reason.Reason {
	case peer.ReasonKicked, peer.ReasonHandlerPanic, peer.ReasonShuttingDown:
		return true
	}
	return false
}

// tellHandled gives the messages of clients that were handled in this frame to the extensions that ask. Messages of calls are left out.
func (s *Server) tellHandled() {
	if s.eachHandled != nil {
		s.inbound.Past(0).Each(s.eachHandled)
	}
}

// keepHandled makes tellHandled tell.
func (s *Server) keepHandled() {
	s.inbound.KeepHandled()
	s.eachHandled = func(r *message.Record) bool { // Made once, so that a frame allocates nothing.
		if !r.Handled || r.Peer == 0 || r.HasCall {
			return true
		}
		s.posted = Posted{Clients: s.posted.Clients[:0], Message: r.Message, Body: r.Payload}
		for _, f := range s.hooks.handled {
			f(r.Peer, &s.posted)
		}
		return true
	}
}

// ServerRecord is a feature's part of recordings (package record): bytes for each tick.
type ServerRecord struct {
	// Name is unique, and the first word of the feature's entries in the description of the protocol (Extension.Kind): a server whose entries are
	// others than those of the recording leaves the feature out.
	Name string
	// Write appends what the feature adds to the newest tick, at the end of Send. whole asks for all there is: readers begin there.
	Write func(dst []byte, whole bool) []byte
	// Read takes what Write appended, on a server that plays the recording: tick after tick from a whole one on. It returns false for what no
	// Write appended: the file may be hostile.
	Read func(body []byte, whole bool) bool
	// Apply shows what was read last, once the entities of the tick are there; nil: nothing is to be done. as returns the entity that plays a recorded one.
	Apply func(as func(recorded NetworkID) NetworkID)
	// Stop tells that the recording has ended: nothing is to be kept for Write any more; nil: nothing is kept.
	Stop func()
}

// Records returns the features' parts of recordings.
func (s *Server) Records() []*ServerRecord { return s.hooks.records }
