package netcode

import (
	"runtime/debug"

	"github.com/arche-netcode/netcode/internal/calls"
	"github.com/arche-netcode/netcode/internal/held"
	"github.com/arche-netcode/netcode/internal/link"
	"github.com/arche-netcode/netcode/internal/outbox"
	"github.com/arche-netcode/netcode/internal/registry"
	"github.com/arche-netcode/netcode/internal/report"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// endpointCore is the part that a server and a client have alike: the queues of messages that came, the messages that were
// sent, and the calls that wait for answers.
type endpointCore struct {
	server *Server // One of the two is nil.
	client *Client
	self   endpoint // The server or the client itself.
	role   peer.Role

	protocol *Protocol
	frame    *tick.Frame
	report   *report.Reporter
	stats    *Stats

	plain      [1 << 8]message.Codec // Of the types that may come here on channel 0 of Unreliable without flags.
	sizes      message.Sizes         // Of these, the size of payloads where nothing else must be checked.
	plains     []message.Simple      // Messages of these types in the packet that was judged last.
	inbound    *message.Inbound
	outbound   *message.Outbound // Nil without Config.History.
	pool       *peer.Pool
	types      message.Cache
	recipients recipientCache
	buffers    [][]byte // For messages that are encoded before their recipients are known: one for each level of nesting.
	calls      calls.Table

	tag        uint32
	running    bool      // A frame is under way.
	redelivers bool      // Redeliver runs.
	sentUpTo   tick.Tick // The tick of the newest Send.

	sections sections
	states   []any // Of extensions.

	toldTypes [1 << 8]bool // Types without a handler here, or unknown, that were reported.

	// While queue runs.
	from    *connection           // Connection of the packet,
	fault   error                 // and an error of it that shows late.
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

// endpoint is the upper part of an end: its connections, and whether messages about entities may be handled.
type endpoint interface {
	Endpoint
	exists(id wire.NetworkID) message.Existence
	ready(from wire.ClientID, id wire.NetworkID, state tick.Tick) bool

	due() tick.Tick                                // The tick that messages wait for.
	isOpen(id wire.ClientID) bool                  // An end of that id is there, and the game was not told of its end.
	linkTo(id wire.ClientID) (*connection, error)  // The connection to an end.
	closeFor(id wire.ClientID, reason *peer.Error) // Ends the connection to an end at once.
}

// setUp makes the queues. The fields that name the end are set before.
func (c *endpointCore) setUp(end endpoint, config Config) {
	others := 1
	if c.server != nil {
		others = config.Clients
	}
	c.self = end
	c.inbound = message.NewInbound(message.Config{
		Registry: &c.protocol.types.Messages, End: end, Limits: config.queues(others), History: config.History,
		Exists: end.exists, Ready: end.ready, Special: c.special, Panicked: c.panicked, Unhandled: c.unhandled,
	})
	if config.History > 0 {
		c.outbound = message.NewOutbound(config.History, config.queues(others))
	}
	c.pool = peer.NewPool(config.PacketSize)
	c.calls = calls.New(config.Calls)
	c.calls.Late, c.calls.Tell = ErrDeadline, c.tellCaller
	c.arrived = c.queueArrival
	for id := range c.sizes {
		c.sizes[id] = message.NoSize
	}
	for _, h := range c.protocol.types.Handled {
		if h.Role == registry.Alone && h.Type.Direction.Allows(c.server == nil) && (c.client != nil || !h.Type.OwnerOnly) {
			c.plain[h.Type.ID()], c.sizes[h.Type.ID()] = h.Type.Codec, h.Type.Codec.AlwaysLegal()
		}
		if h.Role == registry.Alone && h.Type.Direction.Allows(c.server != nil) && !h.Type.OwnerOnly && h.Type.Channel == 0 && config.History == 0 {
			c.types.Allow(h.Type)
		}
	}
}

// stage returns the stage of the frame that the end is in; outside of a frame it sends as in tick.Update.
func (c *endpointCore) stage() tick.Stage {
	if !c.running {
		return tick.Update
	}
	return c.inbound.Stage()
}

// beginFrame starts a frame: calls whose time is over end first.
func (c *endpointCore) beginFrame() {
	c.running = true
	c.inbound.Begin(c.frame.Now, c.frame.Clock.Tick())
	c.inbound.Due(c.self.due())
	if c.outbound != nil {
		c.outbound.Begin(c.frame.Now, c.frame.Clock.Tick())
	}
	if c.calls.Waiting > 0 {
		late, cancelled := c.calls.Expire(c.frame.Now)
		c.stats.CallsLate += late
		c.stats.CallsCancelled += cancelled
	}
}

// forgetMessages drops the queued messages of an end whose connection is over.
func (c *endpointCore) forgetMessages(l *connection) {
	if l.Source != nil {
		c.stats.OfTheGone += uint64(c.inbound.Drop(l.Source))
	}
}

// record stores a message that was sent in the history.
func (c *endpointCore) record(to wire.ClientID, p *peer.Post, body []byte) {
	if c.outbound == nil {
		return
	}
	m := localMessage(p)
	c.outbound.Record(to, &m, body)
}

// panicked ends the connection of the sender of a message whose handler panicked. The other messages are handled.
func (c *endpointCore) panicked(ctx *Context, value any) {
	c.stats.HandlerPanics++
	failed := PanicError{Name: nameAnswer, Sender: ctx.Sender, Value: value}
	if of, ok := c.protocol.types.Messages.Lookup(ctx.Type); ok {
		failed.Name, failed.Message = of.Name, true
	}
	c.reportPanic(failed)
}

// unhandled reports a type that comes although this end gave nil as its handler, once for each type.
func (c *endpointCore) unhandled(t wire.MessageType) {
	if c.toldTypes[t] {
		return
	}
	c.toldTypes[t] = true
	if of, ok := c.protocol.types.Messages.Lookup(t); ok {
		c.report.Error(&UnhandledError{Name: of.Name})
	}
}

// nameAnswer names a function of Call in errors of panics.
const nameAnswer = "function of Call"

// contained is deferred around a function of the game that is called for one connection outside of a handler. If it panics,
// that connection ends as for a handler, and the frame continues.
func (c *endpointCore) contained(name string, with wire.ClientID) {
	if value := recover(); value != nil {
		c.stats.HandlerPanics++
		c.reportPanic(PanicError{Name: name, Sender: with, Value: value})
	}
}

// Contain calls a function of the game for the systems. If it panics, OnError is given a *PanicError with that name, and the
// frame goes on. On a client the connection ends with peer.ReasonHandlerPanic, as for a handler; on a server none ends.
func (c *endpointCore) Contain(name string, f func()) { c.callGame(name, 0, f) }

// callGame is Contain for a function that is called for the connection to an end, which ends with a panic.
func (c *endpointCore) callGame(name string, with wire.ClientID, f func()) {
	defer c.contained(name, with)
	f()
}

// reportPanic logs the panic of a function of the game with its stack, tells OnError and ends the connection for which the function was
// called. It runs in the deferred function that recovered, where the stack still has the frames of the panic.
func (c *endpointCore) reportPanic(failed PanicError) {
	failed.Stack, failed.At = debug.Stack(), report.PanickedAt()
	c.report.Panicked(&failed, string(failed.Stack), "message", failed.Name, "sender", failed.Sender, "panic", failed.Value, "at", failed.At)
	if with := failed.Sender; c.self.isOpen(with) && with != c.inbound.Local().ID() {
		c.self.closeFor(with, &peer.Error{Reason: peer.ReasonHandlerPanic, Detail: c.ownerOf(&failed)})
	}
}

// ownerOf names the function that panicked, for both ends: "the server's handler of Chat".
func (c *endpointCore) ownerOf(failed *PanicError) string {
	owner := "the server's "
	if c.client != nil {
		owner = "the client's "
	}
	if failed.Message {
		owner += "handler of "
	}
	return owner + failed.Name
}

// tellCaller tells a waiter for an answer that there is none.
func (c *endpointCore) tellCaller(w calls.Waiter, of wire.ClientID, err error) {
	defer c.contained(nameAnswer, of)
	w.Fail(err)
}

// mustBeGiven refuses a function that is nil where it is given: called in a later frame, it would end connections.
func mustBeGiven(given bool, call string) {
	if !given {
		panic("netcode: " + call + ": the function is nil")
	}
}

// ReceivedIn is the messages that came or waited in a frame: 0 is the present one, 1 the one before, up to Config.History.
// It is nil for a frame that is not kept, and valid until the next BeginFrame.
func (c *endpointCore) ReceivedIn(past int) *message.Frame { return c.inbound.Past(past) }

// SentIn is the messages that were sent in a frame, as for ReceivedIn; a server's message to several is there once for each.
// Without Config.History there are none.
func (c *endpointCore) SentIn(past int) *message.Frame {
	if c.outbound == nil {
		return nil
	}
	return c.outbound.Past(past)
}

// Redeliver calls the handlers of the messages that were handled in a frame of the history once more, in the same order,
// and returns their number; calls are left out. Messages that the handlers send are sent again.
func (c *endpointCore) Redeliver(past int) int {
	c.redelivers = true
	defer func() { c.redelivers = false }()
	return c.inbound.Redeliver(past)
}

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

// Tag tells the entities of this server or client from those of any other one in the same process.
func (c *endpointCore) Tag() uint32 { return c.tag }

// endName names the type of the end in errors.
func (c *endpointCore) endName() string {
	if c.client != nil {
		return "Client"
	}
	return "Server"
}

// connection is a link and what messages of the game need beside it.
type connection struct {
	link.Link
	near   *endpointCore   // The other end, if it is in this process: no packets are sent. Without inbound for a recorded player.
	held   *held.Queue     // Messages that wait for their entity; nil for one in this process.
	older  *registry.Older // The protocol of the session, if it is that of an older build.
	handed uint64          // Sections that were handed to an end in this process.
	config *Config
	stats  *Stats
}

// newConnection makes a connection that was not started. The arguments are those of its end.
func newConnection(frame *tick.Frame, config *Config, out *outbox.Buffer, stats *Stats, counters *link.Counters) connection {
	return connection{Link: link.Link{Frame: frame, Out: out, Counters: counters}, config: config, stats: stats}
}

// start begins a fresh connection.
func (l *connection) start(address transport.Addr, conn *peer.Conn, remote wire.ClientID, pool *peer.Pool, seed peer.SkipSeed) {
	l.near, l.held, l.older = nil, nil, nil
	l.Start(l.config.link(), address, conn, remote, pool, seed)
}

// setPacketSize is SetPacketSize of an end.
func (l *connection) setPacketSize(n int) error {
	switch {
	case l.near != nil:
		return nil
	case n < MinPacketSize || n > l.config.PacketSize:
		return &PacketSizeError{Size: n, Min: MinPacketSize, Max: l.config.PacketSize}
	case !l.SetPacketSize(n):
		return ErrMessagesWait
	}
	return nil
}
