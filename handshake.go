package netcode

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/admission"
	"github.com/arche-netcode/netcode/internal/events"
	"github.com/arche-netcode/netcode/internal/handshake"
	"github.com/arche-netcode/netcode/internal/held"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/internal/report"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// Package internal/handshake implements the handshake: a Door at the server, an Attempt and a Resume at the client. This
// file connects it with the game and with sessions.

// Approval is a client that asks for a place, for the function of Server.OnApprove. Its address is proved. Nothing else that
// the client sends is: check the payload. Accept or Refuse decides, in the function or in a later frame. Until then the decision is
// pending: the client takes no place and asks again. A decision is pending for Config.HandshakeTimeout of the server at most.
// Then the client is refused. An Approval belongs to the goroutine of its server.
type Approval struct {
	Address transport.Addr // Where the client is.
	Payload []byte         // From Client.ConnectWith, at most MaxPayload bytes; hostile. It is a copy.
	Host    bool           // The player of a host, see Host: it has no address, and Payload is that of the own process.
	// User and Data are proved by the transport, as by a connect token of package transport/secure. Both are empty where it proves nothing.
	User string
	Data []byte // Not to be changed.

	server   *Server
	decision *admission.Decision
}

// OnApprove sets the function that decides who gets a place: Unity calls this connection approval. It is called once for each
// attempt of a client, in the server's frame. The client has proved its address then, and has no place yet. Call Approval.Accept or
// Approval.Refuse in it, or later for a decision that needs a backend. Without a function, and with nil, every client that finds a
// place is accepted, without an identity. If the function panics, the client is refused with errs.ReasonHandlerPanic. It is also
// called for the player of a host: Approval.Host is true.
func (s *Server) OnApprove(f func(a *Approval)) { s.onApprove = f }

// SetProver makes the server's socket the source of Approval.User and Approval.Data. NewServer of package systems calls it with its
// socket. A socket that is no transport.Prover proves nothing.
func (s serverInside) SetProver(socket any) { s.prover, _ = socket.(transport.Prover) }

// Accept gives the client a place, if there is one when its next Join comes: at once or within 100 ms. identity names the player, as
// by its account, so that it is known when it comes back. It has at most MaxIdentity bytes. A client that is accepted with it is that
// player: take it from User, or from a payload that proves it. A client with an empty one cannot come back as a player. Of two clients with
// one identity the second replaces the first, see Config.RefuseSecond. Accept returns false without any effect if the approval is
// decided, or its time is over. With a longer identity it refuses the client and tells OnError.
func (a *Approval) Accept(identity string) bool {
	if !a.Open() {
		return false
	}
	if len(identity) > wire.MaxIdentity {
		a.decision.Refuse(&errs.CloseError{Reason: errs.ReasonNotApproved, Detail: "the server gave an identity that is too long"})
		a.server.Report(fmt.Errorf("netcode: Approval.Accept: the identity has %d bytes: it may have %d, use a hash of it", len(identity), wire.MaxIdentity))
		return false
	}
	a.decision.Accept(identity, a.server.frame.After(time.Second))
	return true
}

// Refuse refuses the client. Its Client.Err has errs.ReasonNotApproved, and text as the detail: one printable line of at most
// 480 bytes. Refuse returns false without any effect if the approval is decided, or its time is over.
func (a *Approval) Refuse(text string) bool {
	if !a.Open() {
		return false
	}
	a.decision.Refuse(&errs.CloseError{Reason: errs.ReasonNotApproved, Detail: text})
	return true
}

// Open reports whether the approval still waits for its decision. Ask before long work.
func (a *Approval) Open() bool { return a.decision.IsOpen(a.server.frame.Now) }

// doorSessions is a server as its Door sees it. It implements handshake.Sessions.
type doorSessions Server

// forDoor returns a session as the Door sees it: none for a client in this process.
func (c *session) forDoor() handshake.Session {
	if c == nil || c.link.Loopback != nil {
		return handshake.Session{}
	}
	s := c.joined
	s.Address = c.link.Address
	switch c.state {
	case connected:
		s.Phase = handshake.Connected
	case leaving:
		s.Phase = handshake.Leaving
	}
	return s
}

// At implements handshake.Sessions, as the following methods do.
func (s *doorSessions) At(address transport.Addr) handshake.Session {
	return s.byAddress[address.Peer()].forDoor()
}

// Of returns the session of a client.
func (s *doorSessions) Of(client wire.ClientID) handshake.Session { return s.byID[client].forDoor() }

// Local returns the phase of the session of a client in this process.
func (s *doorSessions) Local(client wire.ClientID) handshake.Phase {
	c := s.byID[client]
	switch {
	case c == nil || c.link.Loopback == nil:
		return handshake.Nobody
	case c.state == leaving:
		return handshake.Leaving
	}
	return handshake.Connected
}

// Taken returns the number of places in use.
func (s *doorSessions) Taken() int { return (*Server)(s).taken() }

// Shut reports whether new clients are refused.
func (s *doorSessions) Shut() bool { return s.closing || s.shut }

// Proved returns the user that the transport proves at an address.
func (s *doorSessions) Proved(address transport.Addr) (user string) {
	user, _ = (*Server)(s).provedAt(address)
	return user
}

// provedAt returns the user at an address and further data of the proof. Both are empty where the transport proves nothing.
func (s *Server) provedAt(address transport.Addr) (user string, data []byte) {
	if s.prover == nil {
		return "", nil
	}
	user, data, ok := s.prover.Proved(address)
	if !ok {
		return "", nil
	}
	return user, data
}

// Proved returns the user and the data that the transport proves for a connected client, as by its connect token. The data must not
// be changed. ok is false without proof: for another client, on an unencrypted socket, and for the player of a host.
func (s *Server) Proved(client ClientID) (user string, data []byte, ok bool) {
	c := s.byID[client]
	if s.prover == nil || c == nil || c.link.Loopback != nil {
		return "", nil, false
	}
	return s.prover.Proved(c.link.Address)
}

// Asks reports whether the game has a function of OnApprove.
func (s *doorSessions) Asks() bool { return s.onApprove != nil }

// Ask calls the function of OnApprove.
func (s *doorSessions) Ask(d *admission.Decision, payload []byte) {
	a := &Approval{Address: d.Address, Payload: bytes.Clone(payload), server: (*Server)(s), decision: d}
	if a.Host = !d.Address.IsValid(); !a.Host {
		a.User, a.Data = (*Server)(s).provedAt(d.Address)
	}
	defer func() {
		if value := recover(); value != nil {
			s.core.PanickedIn(nameOnApprove, 0, value)
			d.Refuse(&errs.CloseError{Reason: errs.ReasonHandlerPanic, Detail: "the server's " + nameOnApprove})
		}
	}()
	s.onApprove(a)
}

// nameOnApprove names OnApprove in errors of panics.
const nameOnApprove = "OnApprove"

// Open begins a session.
func (s *doorSessions) Open(joined handshake.Session, seed peer.SkipSeed) {
	(*Server)(s).open(joined, seed)
}

// Replace ends the session of an address. The session of a client that is leaving may continue, since it needs no
// address.
func (s *doorSessions) Replace(address transport.Addr) {
	c := s.byAddress[address.Peer()]
	switch {
	case c == nil || c.state == leaving:
	case c.state == lingering:
		(*Server)(s).remove(c)
	default:
		s.stats.Replaced++
		(*Server)(s).end(c, &errs.CloseError{Reason: errs.ReasonReplaced, Detail: "from the same address"}, closeQuiet)
	}
}

// End ends a session in favour of another one, which takes its place: a player has only one.
func (s *doorSessions) End(client wire.ClientID, reason *errs.CloseError) {
	(*Server)(s).end(s.byID[client], reason, closeTold)
	s.events.Fire() // OnDisconnect is called before the new session exists.
}

// Silent returns the session that is silent for longest, of those at some addresses.
func (s *doorSessions) Silent(d time.Duration, user string, at func(transport.Addr) bool) (found handshake.Session) {
	since := s.frame.Now - d
	for _, c := range s.sessions {
		if c.state == connected && c.link.Loopback == nil && c.joined.User == user && c.link.ReceivedAt < since && at(c.link.Address) {
			since, found = c.link.ReceivedAt, c.forDoor()
		}
	}
	return found
}

// Resumed accepts a Resume. The client gets a packet with the next tick.
func (s *doorSessions) Resumed(client wire.ClientID, number uint32) {
	c := s.byID[client]
	c.joined.Resumed, c.link.ReceivedAt, c.confirmed = number, s.frame.Now, true
	c.sending.toldTickAt = s.frame.Now - s.config.Pulse - s.config.KeepAlive
}

// Move moves a session to another address. A session that had this address stays without an address until its own client
// resumes: two clients may swap addresses.
func (s *doorSessions) Move(client wire.ClientID, to transport.Addr) {
	c := s.byID[client]
	from := c.link.Address
	if s.byAddress[from.Peer()] == c {
		delete(s.byAddress, from.Peer())
		for _, other := range s.sessions {
			if other != c && other.link.Address.Peer() == from.Peer() && other.state != gone {
				s.byAddress[from.Peer()] = other
			}
		}
	}
	s.homes.Leave(&c.link.Link)
	s.byAddress[to.Peer()] = c
	c.link.Address = to
	c.link.Conn.NewPath()
	s.stats.Migrated++
	s.homes.Join(&c.link.Link)
	s.events.Add(events.Event{Client: c.id, From: from, To: to})
	if s.report.Enabled(report.Info) {
		s.report.Log(report.Info, "client goes on at another address", "client", c.id, "from", from, "to", to)
	}
}

// Left queues the event of a client that has left for good.
func (s *doorSessions) Left(client wire.ClientID) {
	s.events.Add(events.Event{Client: client, Left: true})
}

// Refused reports a client that was refused for another version or protocol to OnError.
func (s *doorSessions) Refused(from transport.Addr, difference string) {
	s.report.Tell(&errs.ProtocolError{Address: from, Difference: difference})
}

// OnLeave adds a function that is called once for each client that has left for good. For a client without an identity, or
// without Config.Keep, that is right after OnDisconnect. A player with an identity whose connection was lost is away for
// Config.Keep first. Meanwhile it keeps its client id, and so its entities, its rights to write and its place in interest policies. It has
// left for good when it did not come back in that time, or closed in order without Config.KeepClosed. A kick and a server that closes end the time at once. For a
// player that comes back OnConnect is called with the same id, and Returned is true. No other player ever has that id. OnLeave panics on nil.
func (s *Server) OnLeave(f func(client ClientID)) {
	mustBeGiven(f != nil, "Server.OnLeave")
	s.events.Left = append(s.events.Left, f)
}

// Identity returns the identity that Approval.Accept gave a client. It is there while the client is connected or away, in OnDisconnect
// and in OnLeave. It is empty for any other client.
func (s *Server) Identity(client ClientID) string {
	if p := s.door.Players.Of(client); p != nil {
		return p.Identity
	}
	return ""
}

// Returned reports whether a connected client is a player that was connected before, under the same id.
func (s *Server) Returned(client ClientID) bool {
	c := s.client(client)
	return c != nil && c.joined.Returned
}

// Away yields the players that are away and may come back, in the order in which they went. The body of the loop may Kick them.
func (s *Server) Away(yield func(ClientID) bool) {
	for _, p := range slices.Clone(s.door.Players.Away) {
		if !p.Connected && !p.Left && !yield(p.ID) {
			return
		}
	}
}

// forgetLeft removes a client after OnDisconnect and OnLeave, whose functions may have passed it to the interest once
// more.
func (s *Server) forgetLeft(client wire.ClientID) {
	s.door.Players.Forget(client)
	s.leaveInterest(client)
}

// leaveInterest removes a client from the interest, unless its player may return.
func (s *Server) leaveInterest(client wire.ClientID) {
	if p := s.door.Players.Of(client); s.interest != nil && (p == nil || p.Left) {
		s.interest.Leave(client)
	}
}

// receiveHandshake handles the server's answer to a Hello, a Join or a Resume. A repeated Welcome has no effect.
func (c *Client) receiveHandshake(kind peer.Kind, packet []byte) {
	var answer handshake.Answer
	switch {
	case c.state == Connected && kind == peer.KindWelcome:
		if _, err := c.attempt.ParseWelcome(packet); err == nil {
			return
		}
	case c.state == Connected && c.host == nil:
		answer = c.resume.Take(kind, packet, c.frame.Now)
	case c.state == Connecting:
		answer = c.attempt.Take(kind, packet, c.frame.Now)
	}
	answer.Count(&c.stats.HandshakeStats)
	switch answer.Effect {
	case handshake.Refused:
		reason := &errs.CloseError{Reason: answer.Refuse.Reason, Detail: answer.Refuse.Detail}
		if reason.Reason == errs.ReasonWrongProtocol {
			reason.Detail = c.protocol.types.Canon.Explain(reason.Detail)
		}
		c.end(reason)
	case handshake.Malformed:
		c.core.Counters.Malformed++
		c.end(&errs.CloseError{Reason: errs.ReasonMalformed, Detail: answer.Err.Error()})
	case handshake.Welcomed:
		c.enter(c.attempt.Accept(), answer.Welcome)
	case handshake.Reset:
		c.takeReset(&answer.Reset)
	}
}

// enter begins the session that the server made.
func (c *Client) enter(accept peer.Accept, welcome peer.Welcome) {
	c.agreed = c.config
	c.agreed.TickRate, c.agreed.Window, c.agreed.PacketSize = int(accept.Rate), int(accept.Window), int(accept.PacketSize)
	c.state, c.id, c.resume = Connected, welcome.Client, handshake.NewResume(welcome.Client, c.attempt.Nonce, welcome.Token)
	c.stats.TicksSlipped += c.frame.Clock.Slipped()
	c.frame.Clock = tick.NewClock(c.agreed.TickRate, c.agreed.CatchUp)
	c.frame.Clock.Advance(c.frame.Now)
	c.frame.Clock.Set(welcome.Tick)
	c.frame.Due = true
	before := max(welcome.Tick-1, tick.None) // The first snapshot may be of the tick of Welcome.
	o := c.protocol.types.OlderOf(c.attempt.Protocol().Hash)
	c.replica = replica.New(c.protocol.types.Schema, o.State(c.agreed.snapshot()), before)
	out, in := c.attempt.Checksums()
	c.core.Agree(c.agreed.end(1))
	c.link.Start(c.attempt.Server, peer.NewConn(o.Conn(c.agreed.conn(out, in))), 0, c.attempt.Seed)
	c.link.Held, c.link.Older, c.link.State = new(held.Queue), o, c.replica
	c.core.Inbound.SetLocal(c.id)
	c.applied, c.back = false, c.newHeldState()
	c.time.Restart(c.agreed.TickRate, c.agreed.CatchUp, c.agreed.Pulse, welcome.Tick, c.frame.Now-c.attempt.JoinedAt())
	if c.sender != nil {
		c.sender.openUpstream(o.State(c.agreed.snapshot()))
	}
	for _, f := range c.hooks.opened {
		f()
	}
	c.link.SentAt = c.frame.Now - c.agreed.KeepAlive // The server repeats Welcome until a packet arrives.
	c.stats.Connected++
	c.events.Add(events.Event{Client: c.id})
	if c.report.Enabled(report.Info) {
		c.report.Log(report.Info, "connected", "server", c.link.Address, "client", c.id)
	}
}

// outbox returns the queue for datagrams of the handshake.
func (c *Client) outbox() handshake.Outbox {
	return handshake.Outbox{Buffer: &c.out, Full: &c.core.Counters.Links.OutputFull, Stats: &c.stats.HandshakeStats}
}

// ask sends the Hello or Join that is due. It ends the attempt when its time is over.
func (c *Client) ask() {
	if c.hosting.server != nil {
		c.hostOnceDecided()
		return
	}
	if over := c.attempt.Send(c.outbox(), c.frame.Now, c.config.HandshakeTimeout); over != nil {
		c.end(over)
	}
}

// quietLeast is the shortest silence after which a client resumes.
const quietLeast = 150 * time.Millisecond

// askResume sends Resume while the server is silent. It waits longer if packets are usually rare: a server at rest sends
// one each Config.Pulse.
func (c *Client) askResume() {
	quiet := max(quietLeast, 2*c.agreed.interval(), min(4*c.link.Conn.UsualGap(), 2*c.agreed.Pulse))
	silence := c.frame.Now - c.link.ReceivedAt
	if !c.resume.Due(c.frame.Now, silence, quiet) {
		return
	}
	fromClient, _ := c.attempt.Checksums()
	if err := c.resume.Send(c.outbox(), c.link.Address, fromClient, c.frame.Now, silence, c.config.Random); err != nil {
		c.Report(err)
	}
}

// takeReset ends a connection that the server does not know any more.
func (c *Client) takeReset(reset *peer.Reset) {
	if !c.resume.Believes(reset, c.frame.Now-c.link.ReceivedAt) {
		c.stats.ResetsWaited++
		return
	}
	c.stats.Resets++
	c.attempt.Rejoins = c.config.Rejoin && reset.Reason == errs.ReasonReset
	c.end(&errs.CloseError{Reason: reset.Reason})
	c.events.Fire() // OnDisconnect may connect, or call Close to prevent that.
	if c.attempt.Rejoins && c.state == Disconnected {
		if err := c.ConnectWith(c.attempt.Server, c.attempt.Payload); err != nil {
			c.Report(err)
		}
	}
}

// String tells the address and the user, and the size of the payload.
func (a *Approval) String() string {
	text := fmt.Sprintf("a client at %v with a payload of %d bytes", a.Address, len(a.Payload))
	if a.User != "" {
		text += fmt.Sprintf(", user %q", a.User)
	}
	return text
}
