package netcode

import (
	"bytes"
	"fmt"
	"time"

	"github.com/arche-netcode/netcode/congestion"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/admission"
	"github.com/arche-netcode/netcode/internal/endpoint"
	"github.com/arche-netcode/netcode/internal/events"
	"github.com/arche-netcode/netcode/internal/handshake"
	"github.com/arche-netcode/netcode/internal/outbox"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/internal/report"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// State is the phase of a client's connection.
type State uint8

// The states of a client.
const (
	Disconnected State = iota // No connection; Err is the reason of the last end.
	Connecting                // Connect was called and the server has not decided.
	Connected                 // State and messages flow.
	Closing                   // Close was called and the server is being told; or the server closed, and its messages are being handled.
)

// String is the state's name.
func (s State) String() string {
	switch s {
	case Disconnected:
		return "Disconnected"
	case Connecting:
		return "Connecting"
	case Connected:
		return "Connected"
	case Closing:
		return "Closing"
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// Client is the end that connects to a Server and stores what the server lets it see. It does no I/O and reads no clock,
// and belongs to one goroutine, like Server.
//
// # Methods for games
//
//   - The connection: [Client.Connect], [Client.ConnectWith], [Client.Close], [Client.Closed], [Client.State], [Client.Err], [Client.ID], [Client.OnConnect], [Client.OnDisconnect], [Client.OnError],
//     [Client.RTT], [Client.Ping], [Client.Loss], [Client.Line], [Client.PacketSize], [Client.SetPacketSize]; [Host] and [Client.Hosted]
//   - Time: [Client.Present], [Client.PresentDelay], [Client.SetPresentDelay], [Client.ServerTime], [Client.Time], [Client.Steps], [Client.Pace], [Client.Lead], [Client.Tick], [Client.TickDue], [Client.TickRate], [Client.Interval]
//   - State: [Client.Replica]
//   - Looking closely: [Client.Stats], [Client.ReceivedIn], [Client.SentIn], [Client.Protocol], [Client.Config], [Client.String], [Client.Report]
//
// Package systems runs its frames. Features ask package extend for the rest ([extend.OfClient]).
type Client struct {
	inside
	shared
	config Config // As given, with defaults.
	agreed Config // With the values that the server requires.
	frame  tick.Frame

	link     endpoint.Link
	attempt  handshake.Attempt
	resume   handshake.Resume
	state    State
	id       wire.ClientID
	replica  *replica.Replica
	back     heldState
	hooks    clientHooks
	host     *Server      // The server of a host's player, in the same process; nil for a client with a connection.
	hosting  hosting      // The attempt to become that player; no server without one.
	sender   stateSender  // Nil: the client sends no state.
	building peer.Builder // The packet that state or sections are written to. As a field it needs no allocation.
	time     tick.Clocks
	leaving  bool // The server has closed, and its messages are still handled.
	applied  bool // The world has all state of replica.
	out      outbox.Buffer

	report report.Reporter
	events events.Queue
	stats  Stats
	ended  peer.Stats // Packet counters of ended connections.
	err    *errs.CloseError
}

// TickDue reports whether a network tick falls into this frame: then Send acknowledges packets, if nothing else does.
func (c *Client) TickDue() bool {
	if c.host != nil {
		return c.host.TickDue()
	}
	return c.frame.Due
}

// Tick is the client's own count of network ticks. It starts at the server's when the connection begins. A stall longer than Config.CatchUp
// leaves it behind. A message with NotBefore waits for the later of Tick and the tick of ServerTime.
func (c *Client) Tick() Tick {
	if c.host != nil {
		return c.host.Tick()
	}
	return c.frame.Clock.Tick()
}

// Config returns the client's configuration with defaults filled in. Once connected, it has the server's TickRate, Window and PacketSize.
func (c *Client) Config() Config { return c.agreed }

// Interval is the time between two network ticks.
func (c *Client) Interval() time.Duration { return c.agreed.interval() }

// State returns the phase of the connection.
func (c *Client) State() State { return c.state }

// Err returns the reason of the end of the last connection, or attempt; nil before that. errors.Is compares it with the errs.Reason
// values.
func (c *Client) Err() *CloseError { return c.err }

// ID returns the client's id at the server: the number that the server's OnConnect was given. It is 0 before the
// first connection and stays after the last.
func (c *Client) ID() ClientID { return c.id }

// RTT returns the smoothed round-trip time, the server's wait for its next tick included (up to 33 ms at 30
// ticks a second, on loopback too), and its smoothed mean deviation; 0 before anything is known.
func (c *Client) RTT() (smoothed, jitter time.Duration) {
	if c.link.Conn == nil {
		return 0, 0
	}
	return c.link.Conn.RTT()
}

// Ping returns the time to the server and back without the waits of both ends for their frames, as of the last second: the figure for a
// scoreboard. Use RTT for timeouts. 0 is not known yet, and the player of a host. It is exact if the socket is a transport.Timed; the time from
// the beginning of a frame until its packets leave is part of it.
func (c *Client) Ping() time.Duration {
	if c.link.Conn == nil {
		return 0
	}
	return c.link.Conn.Ping()
}

// Waiting returns the bytes of messages that wait to be sent to the server.
func (c clientInside) Waiting() int {
	if c.link.Outgoing == nil {
		return 0
	}
	return c.link.Outgoing.Waiting()
}

// Line returns the congestion control of the direction to the server: its rate, the reason, and its estimates of the line. For the
// other direction ask the server (ClientStats.Line).
func (c *Client) Line() congestion.State {
	if c.link.Conn == nil {
		return congestion.State{}
	}
	return c.link.Line()
}

// Loss returns the share of packets to the server that were lost lately, 0 to 1.
func (c *Client) Loss() float64 {
	if c.link.Conn == nil {
		return 0
	}
	return c.link.Conn.Loss()
}

// PacketSize returns the bytes of the largest packet that is known to reach the server: 512 at first, and up to Config.PacketSize of the
// server once packets need it; 0 without a connection.
func (c *Client) PacketSize() int {
	if c.link.Conn == nil {
		return 0
	}
	return c.link.Conn.PathSize()
}

// SharedRows returns the components that the server's build has too, see Session.SharedRows.
func (c clientInside) SharedRows() snapshot.Mask { return c.protocol.types.RowsWith(c.link.Older) }

// SetPacketSize bounds the packets that this client sends, in bytes: for a path that takes less than what the server allows. n is
// from MinPacketSize to Config.PacketSize of the server. It holds for this connection: call it in OnConnect. The errors are those of
// Server.SetPacketSize.
func (c *Client) SetPacketSize(n int) error {
	if c.state != Connected {
		return errs.ErrNotConnected
	}
	return c.link.SetPacketSize(n)
}

// ConnectedTo reports whether the client is connected to that server, in this process.
func (c clientInside) ConnectedTo(server Endpoint) bool {
	s := ServerOf(server)
	if c.host != nil {
		return c.host == s
	}
	session := s.client(c.id)
	return c.state == Connected && session != nil && session.joined.Nonce == c.attempt.Nonce
}

// OnConnect adds a function that is called when the server has made a session for this client and its first datagram has come. self is
// the client's ID. Both ends know then that they are connected. If it panics, the connection ends with errs.ReasonHandlerPanic, as for a
// handler. This and the other calls that add a function panic on nil, as that would only panic when the function is called.
func (c *Client) OnConnect(f func(self ClientID)) {
	mustBeGiven(f != nil, "Client.OnConnect")
	c.events.Connected = append(c.events.Connected, f)
}

// OnDisconnect adds a function that is called once when a connection or an attempt ends, with the reason: also with errs.ReasonClosed
// after Close. When the server closed in order, or kicked, it is called after the handlers of the reliable messages that the server had
// sent (Config.LeaveTimeout); State is Closing meanwhile. self is ID, which is that of an earlier connection, or 0, when an attempt
// failed. If it panics, OnError is given a *PanicError.
func (c *Client) OnDisconnect(f func(self ClientID, reason *CloseError)) {
	mustBeGiven(f != nil, "Client.OnDisconnect")
	c.events.Disconnected = append(c.events.Disconnected, f)
}

// Connect starts to connect to a server; OnConnect or OnDisconnect tells how it went. A connection or attempt that is
// under way ends with errs.ReasonReplaced. Each connection is a fresh session: a new ID, and a Replica that holds
// nothing. The error says that the address names no server, or that Config.Random failed.
func (c *Client) Connect(server transport.Addr) error { return c.ConnectWith(server, nil) }

// ConnectWith is Connect with a payload for the server's OnApprove: who the player is and what proves it, at most MaxPayload
// bytes. The payload is copied. It is sent when this client has proved its address, and anyone on the path can read it unless the transport is
// secure. The server refuses with errs.ReasonNotApproved and a text, see Err. The error also says that the payload is too long.
func (c *Client) ConnectWith(server transport.Addr, payload []byte) error {
	if len(payload) > wire.MaxPayload {
		return fmt.Errorf("netcode: ConnectWith: the payload has %d bytes, at most %d: send what proves the player, and the rest as a message after OnConnect", len(payload), wire.MaxPayload)
	}
	if !server.IsValid() {
		return fmt.Errorf("netcode: Connect(%v): not the address of a server: make it with udp.Resolve or transport.ParseAddr", server)
	}
	nonce, err := handshake.Random(c.config.Random)
	if err != nil {
		return err
	}
	seed, err := peer.NewSkipSeed(c.config.Random)
	if err != nil {
		return err
	}
	c.unhost(&errs.CloseError{Reason: errs.ReasonReplaced, Detail: "Connect was called again"})
	server.IP = transport.AddrOf(server.IP).IP
	if c.state == Connected && server != c.attempt.Server {
		c.link.StartClose(&errs.CloseError{Reason: errs.ReasonClosed}, false) // Sent once: this end forgets the connection now.
	}
	if c.state == Connecting || c.state == Connected {
		c.over(&errs.CloseError{Reason: errs.ReasonReplaced, Detail: "Connect was called again"})
	}
	if c.leaving {
		c.over(c.link.Reason)
	}
	c.drop()
	c.attempt = handshake.New(server, nonce, seed, bytes.Clone(payload), c.protocol.types.Speaks())
	c.state, c.err = Connecting, nil
	c.events.Fire()
	return nil
}

// Close ends the connection, or the attempt. OnDisconnect follows with errs.ReasonClosed. The next frames deliver the
// sent messages, for Config.FlushTimeout at most, and tell the server, until State is Disconnected. The server handles the
// reliable messages that it has accepted, also those that wait for a stage or a tick, for its Config.LeaveTimeout at most;
// then it calls its OnDisconnect. This end handles no message any more. Replica keeps the received state until the next connection.
//
// After the server closed, while its last messages are still handled (State is Closing), Close drops them: OnDisconnect follows
// with the server's reason.
func (c *Client) Close() {
	c.attempt.Rejoins = false
	switch c.state {
	case Connecting:
		c.end(&errs.CloseError{Reason: errs.ReasonClosed})
	case Connected:
		c.closeWith(&errs.CloseError{Reason: errs.ReasonClosed}, true)
	case Closing:
		if c.leaving {
			c.end(c.link.Reason)
		}
	}
	c.events.Fire()
}

// Report passes an error that has no caller to OnError and to the log. If it came during an attempt that nobody answers, the reason of
// that end has it too.
func (c *Client) Report(err error) {
	if c.state == Connecting {
		c.attempt.Fault = err
	}
	c.shared.Report(err)
}

// Closed reports whether there is no connection, no attempt and no close; then no more frames are needed.
func (c *Client) Closed() bool { return c.state == Disconnected }

// closeWith ends the connection with a close message. With flush, sent messages are delivered first.
func (c *Client) closeWith(reason *errs.CloseError, flush bool) {
	if c.host != nil {
		c.unhost(reason)
		return
	}
	if flush {
		c.core.ReleaseLast(&c.link)
	}
	c.link.DropHeld()
	c.over(reason)
	c.state = Closing
	c.link.StartClose(reason, flush)
}

// End ends the connection at once and tells the server the reason, for extensions.
func (c clientInside) End(reason *CloseError) {
	if reason.Reason == errs.ReasonTooManyEntities {
		c.stats.TooManyEntities++
	}
	c.closeWith(reason, false)
}

// end ends the connection or the attempt without a close message.
func (c *Client) end(reason *errs.CloseError) {
	c.over(reason)
	c.drop()
}

// over tells the game that the connection or the attempt is over.
func (c *Client) over(reason *errs.CloseError) {
	c.err = reason
	c.link.Forget()
	if c.state == Connected || c.leaving {
		c.stats.Disconnected++
		for _, f := range c.hooks.closed {
			f()
		}
	}
	c.events.Add(events.Event{Client: c.id, Reason: reason})
	if c.report.Enabled(report.Info) {
		c.report.Log(report.Info, "disconnected", "server", c.attempt.Server, "reason", reason.Error())
	}
}

// drop forgets the connection.
func (c *Client) drop() {
	if d := c.hosting.decision; d != nil {
		d.State, c.hosting = admission.Over, hosting{}
	}
	c.time.Stop()
	c.link.DropHeld()
	c.leaving = false
	if c.link.Conn != nil {
		c.ended.Add(c.link.Conn.Stats())
		c.link.DropOutgoing()
		c.link.Conn = nil
	}
	c.state = Disconnected
}

// startLeaving begins to handle the server's accepted reliable messages. Then the connection ends.
func (c *Client) startLeaving(reason *errs.CloseError) {
	if !isOrderly(reason) || !c.core.Inbound.MayHold(c.link.Source) {
		c.end(reason)
		return
	}
	c.state, c.leaving = Closing, true
	c.link.DropHeld()
	c.link.StartDrain(reason)
}

// finishLeaving runs a frame of a client whose server has closed.
func (c *Client) finishLeaving() {
	list := [1]*message.Source{c.link.Source}
	c.core.Inbound.CountUnhandled(list[:])
	if c.link.Drained() {
		c.end(c.link.Reason)
	}
}

// Replica returns the state that the server has shown this client in the present, or else the last, connection; nil before the
// first. Each connection starts a fresh one.
func (c *Client) Replica() *replica.Replica { return c.replica }

// String tells the id, the state and the tick.
func (c *Client) String() string {
	return fmt.Sprintf("client %d, %v, at tick %d", c.id, c.state, c.Tick())
}

// Stats is a copy of the counters.
func (c *Client) Stats() Stats {
	stats := c.stats
	stats.Packets = c.ended
	if c.link.Conn != nil {
		stats.Packets.Add(c.link.Conn.Stats())
	}
	stats.addEnd(&c.core.Counters)
	stats.Messages = c.core.Inbound.Stats()
	stats.TicksSlipped += c.frame.Clock.Slipped()
	if c.replica != nil {
		stats.HistoryBytes = uint64(c.replica.HistoryBytes())
	}
	if c.back.newest != nil {
		stats.HistoryBytes += uint64(c.back.newest.HistoryBytes())
	}
	stats.Errors, stats.LinesSkipped = c.report.Errors, c.report.Suppressed
	return stats
}
