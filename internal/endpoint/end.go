package endpoint

import (
	"runtime/debug"
	"strings"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/calls"
	"github.com/arche-netcode/netcode/internal/door"
	"github.com/arche-netcode/netcode/internal/held"
	"github.com/arche-netcode/netcode/internal/link"
	"github.com/arche-netcode/netcode/internal/outbox"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/report"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// End is the message part of a server or a client: the queues of received messages, the history of messages, the calls that wait for
// answers, and the features' parts of packets. The owner fills the first fields, up to Store, and calls Open.
type End struct {
	Role   peer.Role        // The owner is a server or a client.
	Types  *Types           // Frozen.
	Frame  *tick.Frame      // The frame of the owner.
	Report *report.Reporter // The errors of the owner.
	Out    *outbox.Buffer   // The packets of the owner for Drain.
	Config Config           // A client's changes when it connects.
	Store  *snapshot.Store  // The state that this end sends; nil if it sends none.

	Counters Counters         // Counts for all links of this end.
	Inbound  *message.Inbound // The queues of received messages.
	Handled  *message.History // Nil without Config.History and Handled hooks.
	Sent     *message.History // Nil without Config.History.
	Sections Sections         // The features' parts of packets.
	Hooks    Hooks            // The features' functions about messages.

	owner    Owner
	pool     *peer.Pool // Of the packet size of Config.
	calls    calls.Table
	buffers  [][]byte  // Buffers for messages that are encoded before their recipients are known: one for each level of nesting.
	running  bool      // A frame is under way.
	sentUpTo tick.Tick // The tick of the newest EndFrame.
	lists    uint64    // The number of messages to lists of clients.

	toldTypes [1 << 8]bool // Reported types that are unknown or have no handler here.

	row         []uint32                     // Scratch: a message with entity references, as sent by the game.
	body        []byte                       // Scratch: the same message as a client gets it.
	posted      extend.Posted                // Scratch for hooks.
	eachHandled func(r *message.Record) bool // Nil without Handled hooks.

	// While Take runs.
	from    *Link                 // The link of the packet that is being queued.
	fault   error                 // An error of that packet that appears during queueing.
	arrived func(a *peer.Arrival) // queueArrival; made once, so that a packet allocates nothing.
}

// Config has the settings of an End.
type Config struct {
	Link    link.Config    // For each link.
	Held    held.Limits    // Bounds of messages that are held back, for each link.
	Queues  message.Limits // Bounds of received messages; DeferredTime counts for those that are held back too.
	History int            // Past frames whose messages are kept.
	Calls   int            // The most calls that wait for answers.
}

// Owner is the server or the client that an End belongs to.
type Owner interface {
	// Exists returns whether the entity of a message exists here, may still come, or never will.
	Exists(id wire.NetworkID) message.Existence
	// Ready reports whether the state of an entity, as of a tick of the end that sent it, is in the world. It is true for an entity
	// that gets no such state.
	Ready(from wire.ClientID, id wire.NetworkID, state tick.Tick) bool
	// Sees reports whether an entity is alive and may be named to the other end of a link: a client may see it, or the server shows it.
	Sees(l *Link, id wire.NetworkID) bool
	// Due returns the tick that received messages wait for.
	Due() tick.Tick
	// IsOpen reports whether the game knows an end of this id, and does not know of its close.
	IsOpen(id wire.ClientID) bool
	// LinkTo returns the link to a connected end.
	LinkTo(id wire.ClientID) (*Link, error)
	// LinkAt returns one of the links in their order, nil for one that is not connected. ok is false behind the last.
	LinkAt(i int) (l *Link, ok bool)
	// CloseFor ends the connection to an end at once.
	CloseFor(id wire.ClientID, reason *errs.CloseError)
}

// Hooks has the functions of features about messages. Those about own state are of clients.
type Hooks struct {
	Posted  []func(*extend.Posted)                      // See extend.ServerHooks.
	Handled []func(wire.ClientID, *extend.Posted)       // See extend.ServerHooks.
	Lost    []func(wire.ClientID, *extend.Posted, bool) // See extend.ServerHooks.Undelivered.
	ActsAt  []func() tick.Tick                          // See extend.ClientHooks.
	Owns    []func(wire.NetworkID) wire.NetworkID       // See extend.ClientHooks.
}

// Counters counts events of an End, as in netcode.Stats.
type Counters struct {
	Links link.Counters // Those of the links.

	Malformed      uint64 // Connections ended because a packet with a right checksum was not legal.
	OutboxFull     uint64 // Unreliable messages without room.
	BackPressure   uint64 // Reliable messages without room.
	Recalled       uint64 // Messages taken back before they left.
	DelayedDropped uint64 // Messages held back and then dropped.
	TooLarge       uint64 // Messages larger than what can travel.
	QueueOverflows uint64 // Connections ended because a reliable message could not be kept.
	CallsFull      uint64 // Questions refused because too many were open.
	CallsLate      uint64 // Calls that ended with ErrDeadline.
	CallsCancelled uint64 // Calls whose context was done first.
	LateAnswers    uint64 // Answers without a call.
	NotOwner       uint64 // Messages about an entity that does not belong to their sender.
	NotVisible     uint64 // Messages about an entity that their sender may not see.
	UnknownTypes   uint64 // Messages of a type that this end lacks.
	LeftOut        uint64 // Messages of a type that the other end's older build lacks.
	HandlerPanics  uint64 // Functions of the game that panicked.
	OfTheGone      uint64 // Messages whose sender's connection ended before their stage.
}

// Refused counts a connection that ended because of a packet of the other end.
func (c *Counters) Refused(reason *errs.CloseError) {
	if reason.Reason == errs.ReasonQueueOverflow {
		c.QueueOverflows++
		return
	}
	c.Malformed++
}

// Of returns the End of a server, a client, or a type that embeds one; nil for any other value.
func Of(end message.Endpoint) *End {
	if behind, ok := door.Of(end).(interface{ Core() *End }); ok {
		return behind.Core()
	}
	return nil
}

// Open makes the queues. end is the owner as handlers find it.
func (e *End) Open(owner Owner, end message.Endpoint) {
	e.owner = owner
	e.Inbound = message.NewInbound(message.Config{
		Registry: &e.Types.Messages, End: end, Limits: e.Config.Queues,
		Exists: owner.Exists, Ready: owner.Ready, Special: e.special, Panicked: e.panicked, Unhandled: e.unhandled,
	})
	if e.Config.History > 0 {
		e.Sent = message.NewHistory(e.Config.History, e.Config.Queues.Bytes)
		e.keepHandled()
	}
	e.pool = peer.NewPool(e.Config.Link.PacketSize)
	e.calls = calls.New(e.Config.Calls)
	e.calls.Late, e.calls.Tell = errs.ErrDeadline, e.tellCaller
	e.arrived = e.queueArrival
}

// Agree sets the settings of a new connection of a client.
func (e *End) Agree(config Config) {
	if config.Link.PacketSize != e.Config.Link.PacketSize {
		e.pool = peer.NewPool(config.Link.PacketSize)
	}
	e.Config, e.sentUpTo = config, tick.None
}

// atServer reports whether the owner is a server.
func (e *End) atServer() bool { return e.Role == peer.RoleServer }

// keepHandled makes the history of handled messages, if there is none.
func (e *End) keepHandled() {
	if e.Handled == nil {
		e.Handled = message.NewHistory(e.Config.History, e.Config.Queues.Bytes)
		e.Inbound.Keep(e.Handled)
	}
}

// stage returns the present stage of the frame. Outside of a frame it returns tick.Update.
func (e *End) stage() tick.Stage {
	if !e.running {
		return tick.Update
	}
	return e.Inbound.Stage()
}

// BeginFrame starts a frame. Overdue calls end first.
func (e *End) BeginFrame() {
	e.running = true
	e.Inbound.Begin(e.Frame.Now, e.Frame.Clock.Tick())
	e.Inbound.Due(e.owner.Due())
	e.Sent.Begin()
	if e.calls.Waiting > 0 {
		late, cancelled := e.calls.Expire(e.Frame.Now)
		e.Counters.CallsLate += late
		e.Counters.CallsCancelled += cancelled
	}
}

// EndFrame ends a frame, whose packets are built. It calls the AfterSend hooks of features.
func (e *End) EndFrame(hooks []func()) {
	e.sentUpTo = e.Frame.Clock.Tick()
	if e.eachHandled != nil {
		e.Handled.Past(0).Each(e.eachHandled)
	}
	for _, f := range hooks {
		f()
	}
	e.running = false
}

// record stores a sent message in the history.
func (e *End) record(to wire.ClientID, p *peer.Post, body []byte) {
	if e.Sent != nil {
		e.Sent.Add(message.Record{Peer: to, Message: localMessage(p), Tick: e.Frame.Clock.Tick(), Received: e.Frame.Now, Payload: body})
	}
}

// panicked ends the connection of the sender of a message whose handler panicked. The other messages are handled.
func (e *End) panicked(ctx *message.Context, value any) {
	failed := errs.PanicError{Name: nameAnswer, Sender: ctx.Sender, Value: value}
	if of, ok := e.Types.Messages.Lookup(ctx.Type); ok {
		failed.Name, failed.Message = of.Name, true
	}
	e.reportPanic(failed)
}

// unhandled reports a received type whose handler here is nil, once for each type.
func (e *End) unhandled(t wire.MessageType) {
	if e.toldTypes[t] {
		return
	}
	e.toldTypes[t] = true
	if of, ok := e.Types.Messages.Lookup(t); ok {
		e.Report.Error(&errs.UnhandledError{Name: of.Name})
	}
}

// nameAnswer names a function of Call in errors of panics.
const nameAnswer = "function of Call"

// CallGame calls a function of the game for the connection to an end. If it panics, that connection ends as for a handler, OnError is
// given a *PanicError with that name, and the frame goes on.
func (e *End) CallGame(name string, with wire.ClientID, f func()) {
	defer func() {
		if value := recover(); value != nil {
			e.PanickedIn(name, with, value)
		}
	}()
	f()
}

// PanickedIn counts and reports the panic of a function of the game, in the deferred function that recovered.
func (e *End) PanickedIn(name string, with wire.ClientID, value any) {
	e.reportPanic(errs.PanicError{Name: name, Sender: with, Value: value})
}

// reportPanic logs the panic of a function of the game with its stack, calls OnError, and ends the connection that the
// function was called for. It must run in the deferred function that recovered, where the stack still has the frames of
// the panic.
func (e *End) reportPanic(failed errs.PanicError) {
	e.Counters.HandlerPanics++
	failed.Stack, failed.At = debug.Stack(), report.PanickedAt()
	e.Report.Panicked(&failed, string(failed.Stack), "message", failed.Name, "sender", failed.Sender, "panic", failed.Value, "at", failed.At)
	if with := failed.Sender; e.owner.IsOpen(with) && with != e.Inbound.Local().ID() {
		e.owner.CloseFor(with, &errs.CloseError{Reason: errs.ReasonHandlerPanic, Detail: e.ownerOf(&failed)})
	}
}

// ownerOf returns a name of the function that panicked, with its end: "the server's handler of Chat".
func (e *End) ownerOf(failed *errs.PanicError) string {
	owner := "the " + strings.ToLower(e.Name()) + "'s "
	if failed.Message {
		owner += "handler of "
	}
	return owner + failed.Name
}

// Name returns "Server" or "Client", for errors.
func (e *End) Name() string {
	if e.atServer() {
		return "Server"
	}
	return "Client"
}
