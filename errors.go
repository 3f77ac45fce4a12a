package netcode

import (
	"errors"
	"fmt"

	"github.com/arche-netcode/netcode/wire"
)

// What the calls of a server or a client answer when they cannot do what they were asked. Why a connection ended is a
// *peer.Error instead, given to OnDisconnect and by Client.Err.
var (
	// ErrNotConnected says that there is no such client, or that this client is not connected.
	ErrNotConnected = errors.New("netcode: not connected")
	// ErrNotRegistered says that the message type was not given to Handle before the protocol was frozen.
	ErrNotRegistered = errors.New("netcode: message type not registered")
	// ErrOutboxFull says that Config.OutboxBytes of messages wait for that peer already; the message is not sent.
	ErrOutboxFull = errors.New("netcode: too many messages wait to be sent")
)

// TooLargeError says that a message does not fit into a packet; it is not sent.
type TooLargeError struct {
	Name string // Wire name of the message type.
	Size int    // Bytes of its payload.
	Max  int    // Bytes that a packet of this connection can take.
}

// Error implements error.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("netcode: a message %s has %d bytes, a packet takes %d", e.Name, e.Size, e.Max)
}

// OversizeError says that an entity's rows do not fit into one packet, so that a client cannot be shown it.
type OversizeError struct {
	Entity NetworkID
	Client ClientID
	Max    int // Bytes that a packet takes.
}

// Error implements error.
func (e *OversizeError) Error() string {
	return fmt.Sprintf("netcode: entity %s does not fit into a packet to client %d, which takes %d bytes: it has too many or too large components",
		e.Entity, e.Client, e.Max)
}

// GroupError says that a group has so many members or components that, whole, it does not fit into one packet. Its
// entities are sent one by one until it does.
type GroupError struct {
	Group   uint32
	Members int
	Max     int // Bytes that a packet takes.
}

// Error implements error.
func (e *GroupError) Error() string {
	return fmt.Sprintf("netcode: group %d of %d entities does not fit into a packet of %d bytes: its entities are sent one by one", e.Group, e.Members, e.Max)
}

// UnsendableError says that a field of a message has a value that cannot travel; the message is not sent.
type UnsendableError struct {
	Name   string // Wire name of the message type.
	Field  string
	Reason wire.FaultReason
}

// Error implements error.
func (e *UnsendableError) Error() string {
	return fmt.Sprintf("netcode: field %s of a message %s is %s", e.Field, e.Name, e.Reason)
}
