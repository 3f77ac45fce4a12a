package message

import (
	"errors"
	"fmt"

	"github.com/arche-netcode/netcode/wire"
)

var (
	// ErrQuota says that a source has sent more in this frame than is taken from it; the unreliable message was dropped.
	ErrQuota = errors.New("message: quota of the sender exceeded")

	// ErrFull says that a message finds no room: the queue of its stage holds only reliable ones, or the frame's memory is
	// used up. It was dropped; for a reliable one that must end the connection.
	ErrFull = errors.New("message: queue full")

	// ErrStage says that a message is meant for a stage that does not exist; it was dropped.
	ErrStage = errors.New("message: no such stage")

	// ErrIllegal says that a payload is no legal encoding of its type.
	ErrIllegal = errors.New("message: payload is not legal")

	// ErrDeferredFull says that a reliable message of an end in this process was to wait for its tick or entity and found no
	// room: there Limits.PerStage and Limits.Bytes bound what waits, and not a credit.
	ErrDeferredFull = errors.New("message: too much is deferred")
)

// FieldError says that a field of a message cannot travel as it is. Nothing was encoded.
type FieldError struct {
	Name   string           // of the message type
	Field  string           // path of the field, such as "Pos.X"
	Reason wire.FaultReason // what is wrong with its value
	Detail string           // of wire.OutOfRange the value and the bounds; may be empty
}

// Error names the field and says what is wrong with it.
func (e *FieldError) Error() string {
	if e.Detail != "" {
		return fmt.Sprintf("message: %s.%s: %s: %s", e.Name, e.Field, e.Reason, e.Detail)
	}
	return fmt.Sprintf("message: %s.%s: %s", e.Name, e.Field, e.Reason)
}

// BoundError says that the Serialize method of a message wrote more than its SizeUpperBound, or its own measure, had
// promised. Nothing was encoded.
type BoundError struct {
	Name  string // of the message type
	Bound int    // bytes promised
}

// Error names the message type and its bound.
func (e *BoundError) Error() string {
	return fmt.Sprintf("message: %s: Serialize writes more than the %d bytes that it promised", e.Name, e.Bound)
}

// SerializeError says that the Serialize method of a message failed. Nothing was encoded.
type SerializeError struct {
	Name string // of the message type
	Err  error  // what the serializer said
}

// Error names the message type and gives the reason.
func (e *SerializeError) Error() string { return fmt.Sprintf("message: %s: %v", e.Name, e.Err) }

// Unwrap returns what the serializer said.
func (e *SerializeError) Unwrap() error { return e.Err }
