package message

import (
	"errors"
	"fmt"
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Handle decodes a payload and calls the handler, with a value that is reused once it returns. It returns false, without a
// call, if the payload is not legal. The context's own memory is used where it has one, so that nothing is allocated once
// warm.
func (c *CodecOf[T]) Handle(ctx *Context, payload []byte) bool {
	s := ctx.scratch
	if s == nil {
		s = &Scratch{}
	}
	b := borrow[T](s, c.number)
	ok := false
	if c.way == byCopy { // here and not in Decode, which is too large to be inlined
		if ok = len(payload) == c.size && c.exact.finite(payload); ok {
			c.load(&b.value, payload)
		}
	} else {
		ok = c.Decode(s, payload, &b.value)
	}
	if ok && c.handle != nil {
		c.handle(ctx, &b.value)
		if poisoning {
			poison(&b.value)
		}
	}
	b.giveBack()
	return ok
}

// handleRun calls the handler for the message at the head of a queue and for all that follow it in this Drain and have the
// same context: so that a call through an interface is paid once a packet. A message that a handler pushes may move the
// queue's memory, so nothing of it is kept over a call.
func (c *CodecOf[T]) handleRun(in *Inbound, ctx *Context, q *queue) {
	handle := c.handle
	if handle == nil {
		in.pass(ctx, q)
		return
	}
	b := borrow[T](ctx.scratch, c.number)
	if uint32(q.items[q.head].size()) == c.AlwaysLegal() && c.exact.flip == nil && in.config.History == 0 && !poisoning {
		handleCopies(in, ctx, q, handle, &b.value)
	} else {
		c.handleEach(in, ctx, q, handle, &b.value)
	}
	b.giveBack()
}

// handleCopies is handleRun for a type whose payloads are its memory, and legal if they are as long as the one at the head.
func handleCopies[T any](in *Inbound, ctx *Context, q *queue, handle func(ctx *Context, m *T), value *T) {
	first, bytes := q.items[q.head], in.cur.bytes // Payloads that are queued stay as they are, wherever the frame's bytes move.
	for q.head < q.end {
		it := q.items[q.head]
		if it.what != first.what || it.origin() != first.origin() {
			return
		}
		q.head++
		q.live--
		in.stats.Handled++
		copyIn(value, bytes[it.start():])
		handle(ctx, value)
	}
}

// handleEach is handleRun for any type.
func (c *CodecOf[T]) handleEach(in *Inbound, ctx *Context, q *queue, handle func(ctx *Context, m *T), value *T) {
	first, f, stage, history := q.items[q.head], in.cur, ctx.Stage, in.config.History > 0
	copied, size, legal := c.way == byCopy, c.size, c.AlwaysLegal()
	for q.head < q.end {
		it := q.items[q.head]
		if !it.sameContext(first) {
			return
		}
		q.head++
		q.live--
		in.stats.Handled++
		if history {
			in.remember(it, stage)
		}
		start := it.start()
		payload := f.bytes[start : start+it.size()]
		switch {
		case uint32(len(payload)) == legal:
			c.load(value, payload)
		case copied && len(payload) == size && c.exact.finite(payload):
			c.load(value, payload)
		case copied || !c.Decode(ctx.scratch, payload, value):
			in.stats.Illegal++
			continue
		}
		handle(ctx, value)
		if poisoning {
			poison(value)
			poisonContext(ctx)
			return
		}
	}
}

// Endpoint is the end that a handler runs on: a server, or a client.
type Endpoint interface {
	ID() wire.ClientID // who it is; 0 is the server
	Tick() tick.Tick   // its newest tick
}

// Context tells where a message comes from and when. It is good until the handler returns; copy what is kept.
type Context struct {
	End       Endpoint         // the end that handles the message
	Sender    wire.ClientID    // who sent it, known from the connection and never from the payload; 0 is the server
	Local     wire.ClientID    // who the receiver is; equal to Sender on loopback
	Received  time.Duration    // the receiver's time when it came
	Tick      tick.Tick        // the receiver's tick when it came
	NotBefore tick.Tick        // the tick that it had to wait for; tick.None without one
	Entity    wire.NetworkID   // the entity that it speaks of; zero without one
	Call      uint16           // number of the call that it belongs to, if HasCall
	HasCall   bool             // it is a question or an answer
	Type      wire.MessageType // which type it has
	Stage     tick.Stage       // the stage that the sender chose, and in which the handler runs
	Channel   wire.Channel     // on which it travelled, with its mode of delivery

	scratch *Scratch // memory of the end that handlers reuse; nil means to allocate
}

// Delivery returns the mode in which the message was sent.
func (c *Context) Delivery() wire.Delivery { return c.Channel.Delivery() }

// Loopback reports whether the receiver sent the message itself.
func (c *Context) Loopback() bool { return c.Sender == c.Local }

// Message tells how a message goes or came, beside its payload.
type Message struct {
	NotBefore tick.Tick        // not handled before this tick, see Inbound.Due; tick.None for at once
	Entity    wire.NetworkID   // not handled before this entity exists at the receiver; zero for no entity
	State     tick.Tick        // not handled before the sender's state of Entity as of this tick is here; tick.None for at once
	Cost      int              // of a reliable message in credit; given to its source as freed once it is done with
	Call      uint16           // number of the call that it belongs to, if HasCall
	HasCall   bool             // it is a question or an answer, which goes to Config.Special
	Type      wire.MessageType // which type it has
	Stage     tick.Stage       // where it is handled
	Channel   wire.Channel     // on which it is sent

	order uint64 // its place in its channel, where that has an order; 0 for none
}

// simple reports whether the message has no option beyond its type and its stage.
func (m *Message) simple() bool {
	return m.NotBefore == tick.None && m.Entity.IsZero() && m.Cost == 0 && !m.HasCall && m.Channel == 0
}

var (
	// ErrQuota means that a source has sent more in this frame than is taken from it; the unreliable message was dropped.
	ErrQuota = errors.New("message: quota of the sender exceeded")

	// ErrFull means that a message finds no room: the queue of its stage holds only reliable ones, or the frame's memory is
	// used up. It was dropped; for a reliable one that must end the connection.
	ErrFull = errors.New("message: queue full")

	// ErrStage means that a message is meant for a stage that does not exist; it was dropped.
	ErrStage = errors.New("message: no such stage")

	// ErrIllegal means that a payload is no legal encoding of its type.
	ErrIllegal = errors.New("message: payload is not legal")

	// ErrDeferredFull means that a reliable message of an end in this process was to wait for its tick or entity and found no
	// room: there Limits.PerStage and Limits.Bytes bound what waits, and not a credit.
	ErrDeferredFull = errors.New("message: too much is deferred")
)

// FieldError means that a field of a message cannot be sent as it is. Nothing was encoded.
type FieldError struct {
	Name   string           // of the message type
	Field  string           // path of the field, such as "Pos.X"
	Reason wire.FaultReason // what is wrong with its value
	Detail string           // of wire.OutOfRange the value and the bounds; may be empty
}

// Error names the field and tells what is wrong with it.
func (e *FieldError) Error() string {
	if e.Detail != "" {
		return fmt.Sprintf("message: %s.%s: %s: %s", e.Name, e.Field, e.Reason, e.Detail)
	}
	return fmt.Sprintf("message: %s.%s: %s", e.Name, e.Field, e.Reason)
}

// BoundError means that the Serialize method of a message wrote more than its SizeUpperBound, or its own measure, had
// promised. Nothing was encoded.
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
	Err  error  // what the serializer said
}

// Error names the message type and gives the reason.
func (e *SerializeError) Error() string { return fmt.Sprintf("message: %s: %v", e.Name, e.Err) }

// Unwrap returns what the serializer said.
func (e *SerializeError) Unwrap() error { return e.Err }
