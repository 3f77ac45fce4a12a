package extend

import (
	"time"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/door"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Server is a server as a feature sees it. netcode.ServerOf returns it as game code sees it.
type Server interface {
	message.Endpoint

	// Extend adds a feature to this server alone, for one that sends nothing of its own. Opened is called for the sessions that
	// there are. Hooks that the frame has passed are called from the next frame on. It panics on a Section, which belongs to the
	// protocol.
	Extend(h ServerHooks)
	// Session returns the session of a client that is connected, or has closed and whose messages are still handled; else nil.
	Session(client wire.ClientID) Session
	// Time is the server's clock: the tick that has begun, and the part of it that had passed when this frame began. While a
	// datagram is read it is the moment at which that came.
	Time() tick.Time
	// MayConcern reports whether a message of a client may name an entity: it is alive and the client may see it. A message about
	// any other entity never waits for it. Stats.NotVisible counts refusals.
	MayConcern(client wire.ClientID, entity wire.NetworkID) bool
	// PutRow gives an entity of Spawn a component by its lanes, and reports whether the entity is one of Spawn. The next capture has
	// it, whatever the rates of components: Every, Once and components.Rate are those of Put.
	PutRow(id wire.NetworkID, row int, lanes []uint32) bool
	// RemoveRow takes a component from an entity of Spawn, as PutRow gives it.
	RemoveRow(id wire.NetworkID, row int) bool
	// Post sends a message whose body is encoded, by the rules of netcode.Send. names, if it is not nil, returns the entity to put in
	// the place of each that fields of the body name. It keeps nothing of m. The errors are ErrPosted, ErrMisuse for a NotBefore too
	// far ahead, and those of Send for several clients.
	Post(m *Posted, names func(wire.NetworkID) wire.NetworkID) error
	// AddRecordedPlayer makes the session of a recorded player, for an extension that plays a recorded game once more: the game knows
	// a client with this id, and OnConnect is called. Nothing is sent to it. The extension gives its messages to Session.Say and ends
	// it by Session.EndRecorded. The error wraps ErrHost.
	AddRecordedPlayer(id wire.ClientID) (Session, error)
	// ClientsFrom has the ids of new clients begin at id. Extensions that play recorded players call it, so that no client takes
	// itself for one of them.
	ClientsFrom(id wire.ClientID)
	// Records returns the features' parts of recordings.
	Records() []*ServerRecord
	// Contained is deferred around a function of the game, as Contain does. If that panics, OnError is given a *PanicError with that
	// name, and the frame goes on.
	Contained(name string)
}

// Client is a client as a feature sees it. netcode.ClientOf returns it as game code sees it.
type Client interface {
	message.Endpoint

	// Extend adds a feature to this client alone, as Server.Extend.
	Extend(h ClientHooks)
	// TellSlip tells the clocks that the server gave up ticks after a stall: from a tick on, ticks began later by that many ticks than
	// those before had shown. low is the 16 low bits of the tick. What was measured before still counts, moved by as much. Time jumps
	// back if the slip is longer than 50 ms: its ticks repeat with newer inputs. Present stands still for as long.
	TellSlip(low uint16, ticks uint16)
	// AdjustTime tells the clock of Time how early the client's input for a tick came to the server: before the tick began there,
	// or after it if early is below 0. low is the 16 low bits of the tick. The clock runs just far enough ahead that inputs come in time.
	AdjustTime(low uint16, early tick.Span)
	// SendState lets the client send state. Call it in ClientSide.Client of an extension with Upstream.
	SendState()
	// Upstream is the store of the state that this client sends: features capture into it in CaptureOwn, or earlier in a frame in
	// which TickDue. It is nil where no extension calls SendState, and for the player of a host.
	Upstream() *snapshot.Store
	// Waiting returns the bytes of messages that wait to be sent to the server.
	Waiting() int
	// End ends the connection at once and tells the server the reason.
	End(reason *errs.CloseError)
	// SharedRows returns the components that the server's build has too, see Session.SharedRows.
	SharedRows() snapshot.Mask
	// Newest is the Replica that decodes the packets. It is Client.Replica, unless an extension holds state back.
	Newest() *replica.Replica
	// ShowState reads into Client.Replica a payload that ClientHooks.HoldState was given. Those of the ticks before it must have been
	// shown before, as far as they came.
	ShowState(payload []byte)
	// ShownUpTo tells that Client.Replica has what came of the ticks up to one: whatever is known of these ticks holds for it too.
	// complete tells that nothing is missing as of that tick.
	ShownUpTo(t tick.Tick, complete bool)
	// CompleteTick returns the newest complete tick, as an extension that holds state back tells it: Client.Replica lacks nothing of
	// that tick. held is false where no extension holds state back.
	CompleteTick() (t tick.Tick, held bool)
	// Suspend makes the systems leave the client's world as it is, or not any more: while Client.Replica has a part of the state of a tick.
	Suspend(on bool)
	// Contained is that of Server; a panic also ends the connection.
	Contained(name string)
}

// Session is one connection of one client, at the server: from its acceptance to its end. A type of package netcode implements it.
type Session interface {
	// ID returns the client's id.
	ID() wire.ClientID
	// Server is the server of the session.
	Server() Server
	// Local reports whether the client runs in this process, as the player of a host: no packets are sent to it.
	Local() bool
	// Connected reports whether the client is connected. It is false while messages of a client that has closed are still handled.
	Connected() bool
	// Waiting returns the bytes of messages that wait to be sent to the client.
	Waiting() int
	// Unconfirmed returns the number of reliable messages to the client that it has not acknowledged.
	Unconfirmed() int
	// Protocol returns the hash of the protocol that the session speaks: that of the client's build, see Protocol.Support.
	Protocol() uint64
	// LocalType returns the number that this end's build has for a message type in packets of the session.
	LocalType(t wire.MessageType) wire.MessageType
	// Plain reports whether the client is one of the plain profile, see Protocol.Plain.
	Plain() bool
	// SharedRows returns the components that the client's build has too. An extension that sends rows to the client numbers them by
	// their place among these.
	SharedRows() snapshot.Mask
	// PacketSize returns the size of the largest packet to the client, in bytes.
	PacketSize() int
	// SaveBudget lets so much of the rate be saved up, if that is more than two ticks: for an extension that holds state back.
	SaveBudget(d time.Duration)
	// View returns the client's visible entities and acknowledged state, as of the newest capture. It is nil once the session is over.
	View() *snapshot.View
	// Upstream is the state that the client sent: features set its Guard in Opened, and take in what has changed. It is nil where no
	// extension sets Extension.Upstream, and for the player of a host.
	Upstream() *replica.Replica
	// Presented returns the moment that the client showed its player when it made its input for a tick. The client reports it: by
	// the Presented hook of an extension, such as package input, or else by the newest tick that it acknowledged. It may be any
	// time. It returns false if that is not known.
	Presented(at tick.Tick) (tick.Time, bool)
	// EndedByGame reports, in ServerHooks.Closed, whether the game ended the session: by Kick, Close or a handler that panicked.
	EndedByGame() bool
	// End ends the connection at once and tells the client the reason.
	End(reason *errs.CloseError)
	// Recorded reports whether the session was made by Server.AddRecordedPlayer.
	Recorded() bool
	// Say gives the server a message of a recorded player, which its handlers get in the message's stage of this frame: Type, Stage,
	// Channel, Entity and Body count. It keeps nothing of m. The errors are ErrPosted, for what no client may send, and those of
	// message.Inbound.PushLocal.
	Say(m *Posted) error
	// EndRecorded ends the session of a recorded player; any other stays. orderly is that of a client that has closed: its messages
	// are handled first.
	EndRecorded(orderly bool)
	// String names the client, its address and whether it is connected.
	String() string
}

// Contain calls a function of the game for a server or a client. If it panics, OnError is given a *PanicError with that name, and the
// frame goes on; on a client the connection ends. f does not escape.
func Contain(end interface{ Contained(name string) }, name string, f func()) {
	defer end.Contained(name)
	f()
}

// OfServer returns a server, or one that a type embeds, with the calls for features; nil for another end.
func OfServer(server message.Endpoint) Server {
	s, _ := door.Of(server).(Server)
	return s
}

// OfClient returns a client, or one that a type embeds, with the calls for features; nil for another end.
func OfClient(client message.Endpoint) Client {
	c, _ := door.Of(client).(Client)
	return c
}
