package netcode

import (
	"runtime/debug"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/calls"
	"github.com/arche-netcode/netcode/internal/held"
	"github.com/arche-netcode/netcode/internal/link"
	"github.com/arche-netcode/netcode/internal/outbox"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/registry"
	"github.com/arche-netcode/netcode/internal/report"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// endpointCore is the common part of a server and a client: the queues of received messages, the history of sent
// messages, and the calls that wait for answers.
type endpointCore struct {
	server *Server // Either server or client is nil.
	client *Client
	self   endpoint // The same end, as an endpoint.
	role   peer.Role

	protocol *Protocol
	frame    *tick.Frame
	report   *report.Reporter
	stats    *Stats

	inbound *message.Inbound
	handled *message.History // Nil without Config.History and Handled hooks.
	sent    *message.History // Nil without Config.History.
	pool    *peer.Pool
	buffers [][]byte // Buffers for messages that are encoded before their recipients are known: one for each level of nesting.
	calls   calls.Table

	tag      uint32
	running  bool      // A frame is under way.
	sentUpTo tick.Tick // The tick of the newest Send.

	sections sections
	states   []any // The states of extensions.

	toldTypes [1 << 8]bool // Reported types that are unknown or have no handler here.

	// While queue runs.
	from    *connection           // The connection of the packet that is being queued.
	fault   error                 // An error of that packet that appears during queueing.
	arrived func(a *peer.Arrival) // queueArrival; made once, so that a packet allocates nothing.
}

// coreOf returns the core of an end: a server, a client, or a type that embeds one. It returns nil for any other value.
func coreOf(end Endpoint) *endpointCore {
	switch e := end.(type) {
	case *Server:
		return e.core()
	case *Client:
		return e.core()
	case interface{ core() *endpointCore }:
		return e.core()
	}
	return nil
}

// ServerOf returns the server that an end is, or embeds; nil for a client.
func ServerOf(end Endpoint) *Server {
	if c := coreOf(end); c != nil {
		return c.server
	}
	return nil
}

// ClientOf returns the client that an end is, or embeds; nil for a server.
func ClientOf(end Endpoint) *Client {
	if c := coreOf(end); c != nil {
		return c.client
	}
	return nil
}

// core returns the core of a server, nil for a nil server.
func (s *Server) core() *endpointCore {
	if s == nil {
		return nil
	}
	return &s.endpointCore
}

// core returns the core of a client, nil for a nil client.
func (c *Client) core() *endpointCore {
	if c == nil {
		return nil
	}
	return &c.endpointCore
}

// endpoint is the upper part of an end: its connections, and the checks of messages about entities.
type endpoint interface {
	Endpoint
	exists(id wire.NetworkID) message.Existence
	ready(from wire.ClientID, id wire.NetworkID, state tick.Tick) bool

	due() tick.Tick                                     // Returns the tick that messages wait for.
	isOpen(id wire.ClientID) bool                       // Reports whether the game knows an end of this id, and does not know of its close.
	linkTo(id wire.ClientID) (*connection, error)       // Returns the connection to an end.
	closeFor(id wire.ClientID, reason *errs.CloseError) // Ends the connection to an end at once.
}

// setUp makes the queues. The fields server, client and protocol must be set.
func (c *endpointCore) setUp(end endpoint, config Config) {
	others := 1
	if c.server != nil {
		others = config.Clients
	}
	c.self = end
	c.inbound = message.NewInbound(message.Config{
		Registry: &c.protocol.types.Messages, End: end, Limits: config.queues(others),
		Exists: end.exists, Ready: end.ready, Special: c.special, Panicked: c.panicked, Unhandled: c.unhandled,
	})
	if config.History > 0 {
		c.sent = message.NewHistory(config.History, config.queues(others).Bytes)
		c.keepHandled(config.History, config.queues(others))
	}
	c.pool = peer.NewPool(config.PacketSize)
	c.calls = calls.New(config.Calls)
	c.calls.Late, c.calls.Tell = errs.ErrDeadline, c.tellCaller
	c.arrived = c.queueArrival
}

// keepHandled makes the history of handled messages, if there is none.
func (c *endpointCore) keepHandled(past int, limits message.Limits) {
	if c.handled == nil {
		c.handled = message.NewHistory(past, limits.Bytes)
		c.inbound.Keep(c.handled)
	}
}

// stage returns the present stage of the frame. Outside of a frame it returns tick.Update.
func (c *endpointCore) stage() tick.Stage {
	if !c.running {
		return tick.Update
	}
	return c.inbound.Stage()
}

// beginFrame starts a frame. Overdue calls end first.
func (c *endpointCore) beginFrame() {
	c.running = true
	c.inbound.Begin(c.frame.Now, c.frame.Clock.Tick())
	c.inbound.Due(c.self.due())
	c.sent.Begin()
	if c.calls.Waiting > 0 {
		late, cancelled := c.calls.Expire(c.frame.Now)
		c.stats.CallsLate += late
		c.stats.CallsCancelled += cancelled
	}
}

// forgetMessages drops the queued messages of an end whose connection is over.
func (c *endpointCore) forgetMessages(l *connection) {
	if l.Source == nil {
		return
	}
	c.tellUnhandled(l)
	c.stats.OfTheGone += uint64(c.inbound.Drop(l.Source))
}

// record stores a sent message in the history.
func (c *endpointCore) record(to wire.ClientID, p *peer.Post, body []byte) {
	if c.sent != nil {
		c.sent.Add(message.Record{Peer: to, Message: localMessage(p), Tick: c.frame.Clock.Tick(), Received: c.frame.Now, Payload: body})
	}
}

// panicked ends the connection of the sender of a message whose handler panicked. The other messages are handled.
func (c *endpointCore) panicked(ctx *Context, value any) {
	c.stats.HandlerPanics++
	failed := errs.PanicError{Name: nameAnswer, Sender: ctx.Sender, Value: value}
	if of, ok := c.protocol.types.Messages.Lookup(ctx.Type); ok {
		failed.Name, failed.Message = of.Name, true
	}
	c.reportPanic(failed)
}

// unhandled reports a received type whose handler here is nil, once for each type.
func (c *endpointCore) unhandled(t wire.MessageType) {
	if c.toldTypes[t] {
		return
	}
	c.toldTypes[t] = true
	if of, ok := c.protocol.types.Messages.Lookup(t); ok {
		c.report.Error(&errs.UnhandledError{Name: of.Name})
	}
}

// nameAnswer names a function of Call in errors of panics.
const nameAnswer = "function of Call"

// contained is deferred around a function of the game that is called for one connection outside of a handler. If the
// function panics, the connection ends as for a handler, and the frame continues.
func (c *endpointCore) contained(name string, with wire.ClientID) {
	if value := recover(); value != nil {
		c.panickedIn(name, with, value)
	}
}

// panickedIn counts and reports the panic of a function of the game, in the deferred function that recovered.
func (c *endpointCore) panickedIn(name string, with wire.ClientID, value any) {
	c.stats.HandlerPanics++
	c.reportPanic(errs.PanicError{Name: name, Sender: with, Value: value})
}

// callGame calls a function of the game for the connection to an end. A panic ends that connection, and OnError is given a *PanicError
// with that name.
func (c *endpointCore) callGame(name string, with wire.ClientID, f func()) {
	defer c.contained(name, with)
	f()
}

// reportPanic logs the panic of a function of the game with its stack, calls OnError, and ends the connection that the
// function was called for. It must run in the deferred function that recovered, where the stack still has the frames of
// the panic.
func (c *endpointCore) reportPanic(failed errs.PanicError) {
	failed.Stack, failed.At = debug.Stack(), report.PanickedAt()
	c.report.Panicked(&failed, string(failed.Stack), "message", failed.Name, "sender", failed.Sender, "panic", failed.Value, "at", failed.At)
	if with := failed.Sender; c.self.isOpen(with) && with != c.inbound.Local().ID() {
		c.self.closeFor(with, &errs.CloseError{Reason: errs.ReasonHandlerPanic, Detail: c.ownerOf(&failed)})
	}
}

// ownerOf returns a name of the function that panicked, with its end: "the server's handler of Chat".
func (c *endpointCore) ownerOf(failed *errs.PanicError) string {
	owner := "the server's "
	if c.client != nil {
		owner = "the client's "
	}
	if failed.Message {
		owner += "handler of "
	}
	return owner + failed.Name
}

// tellCaller ends a call with an error.
func (c *endpointCore) tellCaller(w calls.Waiter, of wire.ClientID, err error) {
	defer c.contained(nameAnswer, of)
	w.Fail(err)
}

// mustBeGiven panics on a nil function early: called in a later frame, it would end connections.
func mustBeGiven(given bool, call string) {
	if !given {
		panic("netcode: " + call + ": the function is nil")
	}
}

// ReceivedIn is the messages that were handled in a frame: 0 is the present one, 1 the one before, up to Config.History. It is
// nil for a frame that is not kept, and valid until the next BeginFrame.
func (c *endpointCore) ReceivedIn(past int) *message.Frame { return c.handled.Past(past) }

// SentIn is the messages that were sent in a frame, as for ReceivedIn; a server's message to several is there once for each.
func (c *endpointCore) SentIn(past int) *message.Frame { return c.sent.Past(past) }

// OnError adds a function that is given every error that has no caller: socket faults, values that cannot be sent, entities
// that game code changed against the server, systems out of order, handlers that panic (*PanicError). It may be called many
// times in a frame. It is the last resort: a panic of its own is not contained.
func (c *endpointCore) OnError(f func(error)) {
	mustBeGiven(f != nil, c.endName()+".OnError")
	c.report.OnError = append(c.report.OnError, f)
}

// Report passes an error that has no caller to OnError and to the log.
func (c *endpointCore) Report(err error) { c.report.Error(err) }

// Protocol is the protocol that the server or client was made for.
func (c *endpointCore) Protocol() *Protocol { return c.protocol }

// endName returns "Client" or "Server", for errors.
func (c *endpointCore) endName() string {
	if c.client != nil {
		return "Client"
	}
	return "Server"
}

// connection is a link with the state that the game's messages need.
type connection struct {
	link.Link
	session  *session        // The session of this connection; nil on a client.
	loopback *endpointCore   // The other end, if it is in this process; else nil. Such a link sends no packets. A recorded player's end has no inbound.
	held     *held.Queue     // Messages that are held back; nil if the other end is in this process.
	older    *registry.Older // The protocol of the session, if it is an older build's.
	passed   uint64          // The number of the newest section passed to an end in this process.
	config   *Config
	stats    *Stats
}

// newConnection makes a connection that is not started. The arguments belong to its end; of is nil on a client.
func newConnection(of *session, frame *tick.Frame, config *Config, out *outbox.Buffer, stats *Stats, counters *link.Counters) connection {
	return connection{Link: link.Link{Frame: frame, Out: out, Counters: counters}, session: of, config: config, stats: stats}
}

// start begins a new connection.
func (l *connection) start(address transport.Addr, conn *peer.Conn, remote wire.ClientID, pool *peer.Pool, seed peer.SkipSeed) {
	l.loopback, l.held, l.older, l.passed = nil, nil, nil, 0
	l.Start(l.config.link(), address, conn, remote, pool, seed)
}

// setPacketSize implements SetPacketSize of both ends.
func (l *connection) setPacketSize(n int) error {
	switch {
	case l.loopback != nil:
		return nil
	case n < wire.MinPacketSize || n > l.config.PacketSize:
		return &errs.PacketSizeError{Size: n, Min: wire.MinPacketSize, Max: l.config.PacketSize}
	case !l.SetPacketSize(n):
		return errs.ErrMessagesWait
	}
	return nil
}
