package message

import (
	"errors"
	"fmt"
	"time"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Handle decodes a payload and calls the handler, with a value that is reused once it returns. It returns false,
// without a call, if the payload is not legal. With the context's own memory it allocates nothing once warm.
func (c *CodecOf[T]) Handle(ctx *Context, payload []byte) bool {
	s := ctx.scratch
	if s == nil {
		s = &Scratch{}
	}
	b := borrow[T](s, c.number)
	ok := c.Decode(s, payload, &b.value)
	if ok && c.handle != nil {
		c.handle(ctx, &b.value)
		if poisoning {
			poison(&b.value)
		}
	}
	b.giveBack()
	return ok
}

// Endpoint is the server or client that runs a handler.
type Endpoint interface {
	ID() wire.ClientID // 0 is the server
	Tick() tick.Tick   // newest tick
}

// Context describes the origin of a message. It is valid until the handler returns.
type Context struct {
	End       Endpoint         // the end that handles the message
	Sender    wire.ClientID    // the connection's client, never read from the payload; 0 is the server
	Local     wire.ClientID    // the receiver; equal to Sender on loopback
	Received  time.Duration    // receiver's time at arrival
	Tick      tick.Tick        // receiver's tick at arrival
	NotBefore tick.Tick        // the tick that the message had to wait for; tick.None for none
	Entity    wire.NetworkID   // the entity that the message is about; zero for none
	Call      uint16           // number of its call, if HasCall
	HasCall   bool             // it is a question or an answer
	Type      wire.MessageType // type of the message
	Stage     tick.Stage       // the stage that the sender chose, in which the handler runs
	Channel   wire.Channel     // channel, with its mode of delivery

	scratch *Scratch // memory of the end, reused by handlers; nil: allocate
}

// Delivery returns the mode in which the message was sent.
func (c *Context) Delivery() wire.Delivery { return c.Channel.Delivery() }

// Loopback reports whether the receiver sent the message itself.
func (c *Context) Loopback() bool { return c.Sender == c.Local }

// Message has the options of a message, without its payload.
type Message struct {
	NotBefore tick.Tick        // do not handle before this tick, see Inbound.Due; tick.None for none
	Entity    wire.NetworkID   // do not handle before this entity exists at the receiver; zero for none
	State     tick.Tick        // do not handle before the sender's state of Entity as of this tick has arrived; tick.None for none
	Cost      int              // credit of a reliable message; returned to its source when the message is done
	Call      uint16           // number of its call, if HasCall
	HasCall   bool             // it is a question or an answer, for Config.Special
	Type      wire.MessageType // type of the message
	Stage     tick.Stage       // stage that handles it
	Channel   wire.Channel     // channel, with its mode of delivery

	order uint64 // order number in its channel; 0 for none
}

var (
	// ErrQuota means that a source exceeded its quota of this frame; the unreliable message was dropped.
	ErrQuota = errors.New("message: quota of the sender exceeded")

	// ErrFull means that there is no room: the queue of the stage has only reliable messages, or the frame's memory is
	// used up. The message was dropped. If it was reliable the connection must end.
	ErrFull = errors.New("message: queue full")

	// ErrStage means that the stage of a message does not exist; the message was dropped.
	ErrStage = errors.New("message: no such stage")

	// ErrDeferredFull means that a reliable message of this process had to wait and found no room. Limits.PerStage and
	// Limits.Bytes bound such messages, since they use no credit.
	ErrDeferredFull = errors.New("message: too much is deferred")
)

// FieldError means that a field of a message cannot be sent as it is. Nothing was encoded. See [errs.FieldError].
type FieldError = errs.FieldError

// BoundError means that a Serialize method wrote more than its SizeUpperBound or its measured size. Nothing was
// encoded.
type BoundError struct {
	Name  string // of the message type
	Bound int    // bytes promised
}

// Error names the message type and its bound.
func (e *BoundError) Error() string {
	return fmt.Sprintf("message: %s: Serialize writes more than the %d bytes that it promised", e.Name, e.Bound)
}

// SerializeError means that the Serialize method of a message failed. Nothing was encoded.
type SerializeError struct {
	Name string // of the message type
	Err  error  // error of the serializer
}

// Error names the message type and gives the reason.
func (e *SerializeError) Error() string { return fmt.Sprintf("message: %s: %v", e.Name, e.Err) }

// Unwrap returns the error of the serializer.
func (e *SerializeError) Unwrap() error { return e.Err }
