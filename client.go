package netcode

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/arche-netcode/netcode/internal/outbox"
	"github.com/arche-netcode/netcode/internal/report"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// State is where a client is in the life of its connection.
type State uint8

// The states of a client.
const (
	Disconnected State = iota // No connection; Err says why the last one ended.
	Connecting                // Connect was called and the server has not answered yes or no.
	Connected                 // State and messages flow.
	Closing                   // Close was called and the server is being told; or the server closed, and what it had sent is being handled.
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

// Client is the end that connects to a Server and holds what the server lets it see. It does no I/O and reads no clock,
// and belongs to one goroutine, like Server.
//
// A frame is BeginFrame, Receive for each datagram, the apply of Replica to the world, Dispatch for each stage, Send,
// Drain. Package systems calls these; which methods are for games is listed in the package comment.
type Client struct {
	protocol *Protocol
	config   Config // As given, with defaults.
	agreed   Config // As the server wants it.
	tag      uint32
	frame    frame

	link
	courier
	attempt    attempt
	state      State
	id         wire.ClientID
	replica    *replica.Replica
	hooks      clientHooks
	host       *Server // Whose player this is in one process; nil for a client with a connection.
	own        upstream
	time       clientTime
	leaving    bool      // The server has closed, and what it sent is still handled.
	applied    bool      // The world has what replica holds.
	redelivers bool      // Redeliver runs.
	sentUpTo   tick.Tick // The tick of the newest Send.
	out        outbox.Buffer

	report report.Reporter
	events events
	stats  Stats
	ended  peer.Stats // Packet counters of the connections that are over.
	err    *peer.Error
}

// NewClient makes a client for a protocol and freezes the protocol. It is not connected to anything yet. The error
// names the field of Config that is out of range, or says that Config.Random failed.
func NewClient(p *Protocol, config Config) (*Client, error) {
	if p == nil {
		return nil, errors.New("netcode: NewClient: the protocol is nil: make it with NewProtocol")
	}
	config = config.withDefaults()
	if err := config.check(); err != nil {
		return nil, err
	}
	tag, err := random32(config.Random)
	if err != nil {
		return nil, err
	}
	p.freeze()
	c := &Client{
		protocol: p,
		config:   config,
		agreed:   config,
		tag:      tag,
		frame:    frame{clock: tick.NewClock(config.TickRate, config.CatchUp)},
		report:   report.New(config.Logger),
	}
	c.link = link{frame: &c.frame, config: &c.agreed, out: &c.out, stats: &c.stats}
	c.courier = courier{client: c, protocol: p, frame: &c.frame, report: &c.report, stats: &c.stats}
	c.setUp(c, config)
	c.events.end = &c.courier
	c.events.over = func(_ wire.ClientID, reason *peer.Error) { c.calls.Drop(0, reason) }
	c.extend()
	return c, nil
}

// BeginFrame starts a frame. now is the time since any fixed moment. When the clock is set back, time goes on from where it was
// with the next frame, and the clocks of ServerTime, Time and Present are measured anew.
func (c *Client) BeginFrame(now time.Duration) {
	stall := c.frame.begin(now)
	c.time.begin(now)
	c.report.Now = c.frame.now
	c.heard += stall
	c.leaveEnd += stall
	if c.attempt.fresh {
		c.attempt.began, c.attempt.sayAt, c.attempt.fresh = c.frame.now, c.frame.now, false
	}
	c.attempt.began += stall
	c.beginFrame()
	call(c.hooks.beginFrame)
}

// Dispatch hands the messages that wait for a stage to their handlers, and makes it the stage that the client is in, as
// Server.Dispatch does.
func (c *Client) Dispatch(stage Stage) {
	for _, f := range c.hooks.dispatch {
		f(stage)
	}
	c.inbound.Drain(stage)
}

// Drain hands out the datagrams that wait to be sent, in order. A packet is good until the function returns.
func (c *Client) Drain(send func(to netip.AddrPort, packet []byte)) { c.out.Drain(send) }

// TickDue tells if a network tick falls into this frame: then Send acknowledges what came, if nothing else does.
func (c *Client) TickDue() bool {
	if c.host != nil {
		return c.host.TickDue()
	}
	return c.frame.due
}

// Tick is the client's own count of network ticks. It starts at the server's when the connection begins, and falls behind
// by what a stall takes beyond Config.CatchUp. A message with NotBefore waits for the later of it and of ServerTime's tick.
func (c *Client) Tick() Tick {
	if c.host != nil {
		return c.host.Tick()
	}
	return c.frame.clock.Tick()
}

// Config returns the client's configuration with defaults filled in. Once connected, it has the server's TickRate, Window and PacketSize.
func (c *Client) Config() Config { return c.agreed }

// Interval is the time between two network ticks.
func (c *Client) Interval() time.Duration { return c.agreed.interval() }

// State tells where the connection stands.
func (c *Client) State() State { return c.state }

// Err is why the last connection, or attempt, ended; nil before that. errors.Is compares it with the peer.Reason
// values.
func (c *Client) Err() *CloseError { return c.err }

// ID is who this client is to the server: the same number that the server's OnConnect was given. It is 0 before the
// first connection and stays after the last.
func (c *Client) ID() ClientID { return c.id }

// Replica is what the server has let this client see in the present, or else the last, connection; nil before the first.
// Each connection starts a fresh one.
func (c *Client) Replica() *Replica { return c.replica }

// RTT is the smoothed round-trip time, the server's wait for its next tick included, and its smoothed mean deviation; 0
// before anything is known.
func (c *Client) RTT() (smoothed, jitter time.Duration) {
	if c.conn == nil {
		return 0, 0
	}
	return c.conn.RTT()
}

// Loss is the share of packets to the server that were lost lately, 0 to 1.
func (c *Client) Loss() float64 {
	if c.conn == nil {
		return 0
	}
	return c.conn.Loss()
}

// Protocol is what the client was made for.
func (c *Client) Protocol() *Protocol { return c.protocol }

// ConnectedTo reports whether the client is connected to that very server, in this process.
func (c *Client) ConnectedTo(s *Server) bool {
	if c.host != nil {
		return c.host == s
	}
	session := s.client(c.id)
	return c.state == Connected && session != nil && session.nonce == c.attempt.nonce
}

// Tag tells the entities of this client from those of any other one in the same process.
func (c *Client) Tag() uint32 { return c.tag }

// OnConnect adds a function that is called when the server has made a session for this client and its first datagram has come, with
// the ID that the client has now: both ends know then that they are connected. If it
// panics, the connection ends with peer.ReasonHandlerPanic, as for a handler. This and the other calls that add a function panic on
// nil, as that would only panic when the function is called.
func (c *Client) OnConnect(f func(self ClientID)) {
	mustBeGiven(f != nil, "Client.OnConnect")
	c.events.connected = append(c.events.connected, f)
}

// OnDisconnect adds a function that is called once when a connection or an attempt ends, with the reason: also with
// peer.ReasonClosed after Close. When the server closed in order, or kicked, it is called after the handlers of the reliable
// messages that the server had sent (Config.LeaveTimeout); State is Closing meanwhile. self is ID, which is that of an earlier connection, or 0, when an attempt failed.
// If it panics, OnError is given a *PanicError.
func (c *Client) OnDisconnect(f func(self ClientID, reason *CloseError)) {
	mustBeGiven(f != nil, "Client.OnDisconnect")
	c.events.disconnected = append(c.events.disconnected, f)
}

// OnError adds a function that is given every error that has no caller: socket faults, entities that game code changed
// against the server, systems out of order. It may be called many times in a frame. It is the last resort: a panic of its own
// is not contained.
func (c *Client) OnError(f func(error)) {
	mustBeGiven(f != nil, "Client.OnError")
	c.report.OnError = append(c.report.OnError, f)
}

// Report passes an error that has no caller to OnError and to the log.
func (c *Client) Report(err error) { c.report.Error(err) }
