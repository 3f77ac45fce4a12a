package errs

import (
	"errors"
	"fmt"

	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// Errors of the calls of a server or a client. The reason of the end of a connection is a *CloseError instead, passed to
// OnDisconnect and returned by Client.Err.
var (
	// ErrNotConnected says that there is no such client, or that this client is not connected.
	ErrNotConnected = errors.New("netcode: not connected")
	// ErrNotRegistered says that the message type was not given to Handle, or the question not to Answer, before the protocol was frozen.
	// Send and Call wrap it with the type's name: ask with errors.Is.
	ErrNotRegistered = errors.New("netcode: message type not registered")
	// ErrMisuse says that the call is wrong in itself, and would be each time: an argument is nil or out of its range, the options or the way of the
	// message are not those of its registration, or this end cannot do that. It is wrapped with what is wrong.
	ErrMisuse = errors.New("netcode: wrong call")
	// ErrLeftOut says that the other end is of an older build (Protocol.Support) that does not have the question.
	ErrLeftOut = errors.New("netcode: the build of the other end does not have this question")
	// ErrNotVisible says that there is no such entity, or that the recipient may not see it. An entity that is new has its id from ID of
	// the server's systems at once.
	ErrNotVisible = errors.New("netcode: no such entity, or not to be seen by the recipient")
	// ErrQueueFull says that Config.OutboxBytes of unreliable messages wait for that peer already; the message is dropped.
	ErrQueueFull = errors.New("netcode: too many messages wait to be sent")
	// ErrBackPressure says that Config.ReliableBytes of reliable messages wait for that peer or are not acknowledged yet;
	// nothing was sent. Try again in a later frame.
	ErrBackPressure = errors.New("netcode: too many reliable messages wait to be delivered")
	// ErrMessagesWait says that a packet size cannot change now, because messages wait that were cut for packets of the old size.
	ErrMessagesWait = errors.New("netcode: messages wait or are not acknowledged: set the packet size in OnConnect")
	// ErrTooManyCalls says that Config.Calls questions wait for their answers already.
	ErrTooManyCalls = errors.New("netcode: too many calls are open")
	// ErrDeadline is given to the function of a Call whose answer did not come in time.
	ErrDeadline = errors.New("netcode: no answer in time")

	// ErrNotSpawned says that an entity is not one that Spawn named, or that it was despawned.
	ErrNotSpawned = errors.New("netcode: not an entity of Server.Spawn")
	// ErrNoComponent says that the component type was not given to Replicate before the protocol was frozen.
	ErrNoComponent = errors.New("netcode: component type not registered")

	// ErrHost says that a client cannot play at a server in its process. Host and systems.NewHost wrap it with the cause: the client is connected
	// or connecting, the two were not made with the same *Protocol, or the server is full or closing.
	ErrHost = errors.New("netcode: the client cannot play at this server")
	// ErrPosted says that Server.Post was given no message of the game that the server may send: another type, a question, or a body that is not legal.
	ErrPosted = errors.New("netcode: no message that the server can send: give Server.Post one that ServerHooks.Posted was given, of the same protocol")
)

// TooLargeError says that a message is too large: at most a packet, or 80 pieces for a reliable one. It is not sent.
type TooLargeError struct {
	Name string // Wire name of the message type.
	Size int    // Bytes that it may have.
	Max  int    // Bytes that a message of its mode of delivery can have.
}

// Error implements error.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("netcode: a message %s may have %d bytes, %d can travel: send larger data with package transfer", e.Name, e.Size, e.Max)
}

// UnhandledError says that a message came, or was sent to oneself, and its handler is nil at this end. It is dropped, and so are all others of
// its type. Stats.Messages.Unhandled counts them; OnError is told once for each type.
type UnhandledError struct {
	Name string // Wire name of the message type.
}

// Error implements error.
func (e *UnhandledError) Error() string {
	return fmt.Sprintf("netcode: a message %s came and was dropped, as will be all of them: this end gave nil as its handler", e.Name)
}

// ProtocolError says that a server refused a client whose protocol, or version of netcode, is another. OnError is told once for each
// difference, and of 16 at most; each refusal is counted in Stats().RefusedProtocol, and logged as a warning, once a second at most.
type ProtocolError struct {
	Address    transport.Addr // Of the first client that was refused for it.
	Difference string         // The first difference, as far as the server can tell.
}

// Error implements error.
func (e *ProtocolError) Error() string {
	return fmt.Sprintf("netcode: the client at %s was refused, and so will be all like it: %s", e.Address, e.Difference)
}

// PlainError says that a server would listen in clear on an address that the internet may reach.
type PlainError struct {
	Address transport.Addr // The address that the socket is bound to.
}

// Error implements error.
func (e *PlainError) Error() string {
	return fmt.Sprintf("netcode: the server would listen on %s in clear, where anyone on the path can read and change its packets: "+
		"wrap the socket as in secure.Listen(socket, secure.Config{Key: key, Admit: secure.Tokens(\"HOST:PORT\")}) of transport/secure, "+
		"or listen on 127.0.0.1 or a private address, or set Config.Plain", e.Address)
}

// OversizeError says that an entity's rows do not fit into one packet, so that a client cannot be shown it.
type OversizeError struct {
	Entity wire.NetworkID // The one that is too large.
	Client wire.ClientID  // The client that is not shown it.
	Max    int            // Bytes that a packet takes.
}

// Error implements error.
func (e *OversizeError) Error() string {
	return fmt.Sprintf("netcode: entity %s does not fit into a packet to client %d, which takes %d bytes: it has too many or too large components",
		e.Entity, e.Client, e.Max)
}

// ViewpointError says that a client has had no viewpoint in its interest.Grid for Ticks network ticks: it sees no entity that has a
// position. OnError is told once for each client.
type ViewpointError struct {
	Client wire.ClientID // The client that sees nothing.
	Ticks  int           // For how many network ticks.
}

// Error implements error.
func (e *ViewpointError) Error() string {
	return fmt.Sprintf("netcode: client %d has had no viewpoint for %d network ticks and sees nothing that has a position: say Follow or Look of its interest.Grid; an entity that it follows needs a position itself", e.Client, e.Ticks)
}

// GroupError says that a group has so many members or components that, whole, it does not fit into one packet. Its
// entities are sent one by one until it does.
type GroupError struct {
	Group   uint32 // Its components.Group.ID.
	Members int    // How many entities there are in it.
	Max     int    // Bytes that a packet takes.
}

// Error implements error.
func (e *GroupError) Error() string {
	return fmt.Sprintf("netcode: group %d of %d entities does not fit into a packet of %d bytes: its entities are sent one by one", e.Group, e.Members, e.Max)
}

// CallError is an answer that is an error: its text is what the other end's function returned.
type CallError struct {
	Text string // One printable line from the other end; may be empty.
}

// Error implements error.
func (e *CallError) Error() string { return "netcode: the call was refused: " + e.Text }

// PanicError says that a handler panicked, or another function of the game that was called for a connection. OnError is given
// it, and the log has its stack. The connection of the sender ends with ReasonHandlerPanic; a panic on a message that this end
// sent to itself ends none.
type PanicError struct {
	Name    string        // Wire name of the message type, or of the function, such as "OnConnect", "OnChange of a collection" or "function of Call".
	Message bool          // Name is that of a message type.
	Sender  wire.ClientID // The sender of the message, or the connection for which the function was called: 0 for the server.
	Value   any           // The value given to panic.
	At      string        // Where it panicked, as "folder/file.go:line"; empty where that is not known.
	Stack   []byte        // The stack of the panic, as debug.Stack formats it.
}

// Error implements error. The stack is not part of it.
func (e *PanicError) Error() string {
	function, why := e.Name, "for "
	if e.Message {
		function, why = "the handler of "+e.Name, "on a message from "
	}
	at := ""
	if e.At != "" {
		at = " at " + e.At
	}
	return fmt.Sprintf("netcode: %s panicked%s %s%s: %v", function, at, why, nameOf(e.Sender), e.Value)
}

// Unwrap returns the value given to panic if that is an error, so that errors.Is and errors.As find it.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// nameOf returns the name of an end for errors.
func nameOf(id wire.ClientID) string {
	if id == 0 {
		return "the server"
	}
	return fmt.Sprintf("client %d", id)
}

// UnstorableError says that a field of a component or an input has a value that cannot be sent; nothing was stored.
type UnstorableError struct {
	Name   string           // Wire name of the component or input.
	Field  string           // Path within it.
	Reason wire.FaultReason // Not finite, out of range, or a rotation of length 0.
	Detail string           // Of wire.OutOfRange the value and the bounds; may be empty.
}

// Error implements error.
func (e *UnstorableError) Error() string {
	if e.Detail != "" {
		return fmt.Sprintf("netcode: field %s of %s is %s: %s", e.Field, e.Name, e.Reason, e.Detail)
	}
	return fmt.Sprintf("netcode: field %s of %s is %s", e.Field, e.Name, e.Reason)
}

// PacketSizeError says that a packet size is out of its range.
type PacketSizeError struct {
	Size     int // Bytes that were asked for.
	Min, Max int // Bytes that are possible: MinPacketSize to the Config.PacketSize of the server.
}

// Error implements error.
func (e *PacketSizeError) Error() string {
	return fmt.Sprintf("netcode: a packet size is from %d to %d bytes, not %d: Config.PacketSize of the server is the most", e.Min, e.Max, e.Size)
}

// FieldError means that a field of a message cannot be sent as it is. Nothing was encoded.
type FieldError struct {
	Name   string           // of the message type
	Field  string           // path of the field, such as "Pos.X"
	Reason wire.FaultReason // what is wrong with its value
	Detail string           // for wire.OutOfRange: the value and the bounds; may be empty
}

// Error names the field and tells what is wrong with it.
func (e *FieldError) Error() string {
	if e.Detail != "" {
		return fmt.Sprintf("message: %s.%s: %s: %s", e.Name, e.Field, e.Reason, e.Detail)
	}
	return fmt.Sprintf("message: %s.%s: %s", e.Name, e.Field, e.Reason)
}
