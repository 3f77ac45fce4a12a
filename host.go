package netcode

import (
	"fmt"
	"math"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/admission"
	"github.com/arche-netcode/netcode/internal/endpoint"
	"github.com/arche-netcode/netcode/internal/events"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// canHost returns the error of Host without any effect.
func canHost(s *Server, c *Client) error {
	switch {
	case c.state != Disconnected:
		return fmt.Errorf("%w: the client is connected or connecting: call Close first", errs.ErrHost)
	case c.protocol.types.Canon.Hash != s.protocol.types.Canon.Hash:
		difference := c.protocol.types.Canon.Explain(s.protocol.types.Canon.FirstDifference(c.protocol.types.Canon.Digest))
		return fmt.Errorf("%w: the server does not have the same types: %s; give NewServer and NewClient one *Protocol", errs.ErrHost, difference)
	case c.protocol != s.protocol:
		return fmt.Errorf("%w: they were built with two protocols that are equal: give NewServer and NewClient the same one, with the handlers of both sides", errs.ErrHost)
	case s.closing:
		return fmt.Errorf("%w: the server is closing", errs.ErrHost)
	case s.taken() >= s.config.Clients:
		return fmt.Errorf("%w: the server is full: Config.Clients is %d", errs.ErrHost, s.config.Clients)
	}
	return nil
}

// Host makes a client the player at the server itself: a host. It has an id of its own like any client, and OnConnect of
// both ends tells. Game code is the same as for a client that connects: it sends to ToServer and is among ToAll, asks and
// answers, sets inputs and is rewound. Its inputs and messages are rounded and checked as those of others. A message, also an unreliable
// one, is handled in the frame in which it was sent: before Send returns if its stage is the present one of the other end, in its stage
// if that is still to come, else in the next frame.
//
// The two share one world, the server's. The client has no Replica and needs no Apply; it writes its components there, see Write.
// Collections of entities that it may see come to it in the next frame as to any client, and only the server writes them.
// systems.NewHost runs both in one loop, and HostSystems.View is the player's part of the world. For a player with a world of its own
// connect a client over package transport/memory.
//
// Both ends must be made with the same *Protocol value, which has the handlers of both sides: an equal one is refused. Call it instead of
// Connect. The client's Close, or Kick, takes the player out of the game; Server.Close too. After Close the server handles the reliable
// messages that the player had sent, as those of any client. Messages that wait for the player are dropped.
func Host(s *Server, c *Client) error { return hostWith(s, c, nil) }

// hostWith is Host with a payload for the server's OnApprove.
func hostWith(s *Server, c *Client, payload []byte) error {
	if err := canHost(s, c); err != nil {
		return err
	}
	if len(payload) > wire.MaxPayload {
		return fmt.Errorf("%w: the payload has %d bytes, at most %d", errs.ErrHost, len(payload), wire.MaxPayload)
	}
	c.err = nil
	c.hosting = hosting{s, s.door.AskLocal(payload)}
	if c.hosting.decision.State == admission.Open {
		c.state = Connecting
		return nil
	}
	if err := c.hostDecided(); err != nil {
		return fmt.Errorf("%w: %w", errs.ErrHost, err)
	}
	return nil
}

// hosting is the attempt of a client to become the player of a host.
type hosting struct {
	server   *Server
	decision *admission.Decision
}

// hostOnceDecided ends the attempt of a host's player if the game has decided.
func (c *Client) hostOnceDecided() {
	if c.hosting.decision.State == admission.Open {
		return
	}
	if err := c.hostDecided(); err != nil {
		reason, ok := err.(*errs.CloseError)
		if !ok {
			reason = &errs.CloseError{Reason: errs.ReasonNotApproved, Detail: err.Error()}
		}
		c.end(reason)
	}
}

// hostDecided makes the client the player at its server, as the game decided.
func (c *Client) hostDecided() error {
	s, decision := c.hosting.server, c.hosting.decision
	c.hosting = hosting{}
	l, err := s.steps.admit(decision, c)
	if err != nil {
		return err
	}
	c.host, c.agreed, c.state, c.id = s, s.config, Connected, l.id
	c.replica, c.back = nil, heldState{}
	c.core.Agree(c.agreed.end(1))
	c.core.Store = nil
	c.link.Start(transport.Addr{}, peer.NewConn(s.config.conn(0, 0)), 0, peer.SkipSeed{})
	c.link.Loopback = &s.core
	c.core.Inbound.SetLocal(c.id)
	c.core.Inbound.Due(clientInside{c}.Due())
	for _, f := range c.hooks.opened {
		f()
	}
	c.stats.Connected++
	c.events.Add(events.Event{Client: c.id})
	s.core.Inbound.Queue(true) // Messages wait until OnConnect of both ends was called.
	c.core.Inbound.Queue(true)
	s.events.Fire()
	c.events.Fire()
	s.core.Inbound.Queue(false)
	c.core.Inbound.Queue(false)
	return nil
}

// admitLocal makes the session of a host's player, as the game decided.
func (s *Server) admitLocal(decision *admission.Decision, player *Client) (*session, error) {
	joined, refused := s.door.AdmitLocal(decision)
	if refused != nil {
		return nil, refused
	}
	return s.openLoopback(&session{id: joined.Client, joined: joined, player: player}, &player.core), nil
}

// openLoopback makes the session of a client without packets.
func (s *Server) openLoopback(c *session, other *endpoint.End) *session {
	s.door.LastID = max(s.door.LastID, c.id)
	s.begin(c, transport.Addr{}, peer.NewConn(s.config.conn(0, 0)), peer.SkipSeed{}) // Without packets nothing is skipped.
	c.link.Loopback = other
	s.connect(c)
	c.link.View.Share()
	return c
}

// sessionAtHost returns the session of a host's player at its own server, nil for another client.
func (c *Client) sessionAtHost() *session {
	if c.host == nil {
		return nil
	}
	return c.host.client(c.id)
}

// Hosted is the server that the client plays at as its host, nil for any other client.
func (c *Client) Hosted() *Server { return c.host }

// unhost ends the game of a host's player, on a call of the client or of the server.
func (c *Client) unhost(reason *errs.CloseError) {
	s := c.host
	if s == nil {
		return
	}
	c.host = nil
	if l := s.byID[c.id]; l != nil {
		s.steps.leave(l, reason)
		s.events.Fire()
	}
	c.end(reason)
	c.events.Fire()
}

// AddRecordedPlayer makes the session of a recorded player, for an extension that plays a recorded game once more: the game knows a client with
// this id, and OnConnect is called. Nothing is sent to it. The extension gives its messages to Session.Say and ends it by Session.EndRecorded.
// The error wraps ErrHost.
func (s serverInside) AddRecordedPlayer(id ClientID) (extend.Session, error) {
	switch {
	case id == 0 || id > math.MaxInt32 || s.byID[id] != nil: // New clients get higher ids.
		return nil, fmt.Errorf("%w: %d is no id of a client, or there is one already", errs.ErrHost, id)
	case s.closing || s.taken() >= s.config.Clients:
		return nil, fmt.Errorf("%w: the server is closing or full: Config.Clients is %d", errs.ErrHost, s.config.Clients)
	}
	c := s.openLoopback(&session{id: id}, new(endpoint.End)) // An end without an inbound takes nothing.
	s.events.Fire()
	return c, nil
}

// ClientsFrom has the ids of new clients begin at id. Extensions that play recorded players call it, so that no client takes itself for one of them.
func (s serverInside) ClientsFrom(id ClientID) { s.door.LastID = max(s.door.LastID, id-1) }

// Say gives the server a message of a recorded player, which its handlers get in the message's stage of this frame: Type, Stage, Channel, Entity and
// Body count. It keeps nothing of m. The errors are ErrPosted, for what no client may send, and those of message.Inbound.PushLocal.
func (c *session) Say(m *extend.Posted) error {
	if !c.Recorded() {
		return fmt.Errorf("%w: the client is no recorded player", errs.ErrPosted)
	}
	return c.server.core.Say(&c.link, m)
}

// EndRecorded ends the session of a recorded player; any other stays. orderly is that of a client that has closed: its messages are handled first.
func (c *session) EndRecorded(orderly bool) {
	switch {
	case !c.Recorded():
	case orderly:
		c.server.startLeaving(c, &errs.CloseError{Reason: errs.ReasonClosed})
	default:
		c.server.end(c, &errs.CloseError{Reason: errs.ReasonTimeout}, closeQuiet)
	}
	c.server.events.Fire()
}
