package message

import (
	"reflect"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// Raw is the codec of a message whose payload is bytes that somebody else understands. Its Go type stands for it in a
// registry and has no values.
type Raw struct {
	name   string
	marker reflect.Type
	calls  RawCalls
}

// RawCalls are the functions that read the bytes of a Raw. Their arguments are valid until they return.
type RawCalls struct {
	Check  func(payload []byte) bool               // whether a payload is legal, without any effect
	Handle func(ctx *Context, payload []byte)      // is called with those that are
	Dump   func(dst []byte, payload []byte) []byte // appends what a payload says, for people, legal or not
}

// NewRaw returns a codec of bytes.
func NewRaw(name string, marker reflect.Type, calls RawCalls) *Raw {
	return &Raw{name: name, marker: marker, calls: calls}
}

// Name returns the wire name.
func (c *Raw) Name() string { return c.name }

// GoType returns the type that stands for it.
func (c *Raw) GoType() reflect.Type { return c.marker }

// Plan returns nil: there are no fields.
func (c *Raw) Plan() *quantize.Plan { return nil }

// Size returns -1: payloads vary.
func (c *Raw) Size() int { return -1 }

// Handled reports true.
func (c *Raw) Handled() bool { return true }

// AlwaysLegal returns NoSize: every payload has to be looked at.
func (c *Raw) AlwaysLegal() uint32 { return NoSize }

// Check reports whether a payload is legal, without effect.
func (c *Raw) Check(_ *Scratch, payload []byte) bool { return c.calls.Check(payload) }

// Handle calls the handler. It returns false, without a call, if the payload is not legal.
func (c *Raw) Handle(ctx *Context, payload []byte) bool {
	if !c.calls.Check(payload) {
		return false
	}
	c.calls.Handle(ctx, payload)
	return true
}

// Describe appends the name. What the bytes are is described elsewhere.
func (c *Raw) Describe(dst []byte) []byte { return append(append(dst, c.name...), "{raw}"...) }

// AppendValues appends what a payload says, for people.
func (c *Raw) AppendValues(dst, payload []byte) []byte { return c.calls.Dump(dst, payload) }

// Debug does nothing: there is no packing to turn off.
func (c *Raw) Debug() {}

func (c *Raw) setNumber(wire.MessageType) {}

// handleRun handles the message at the head of a queue.
func (c *Raw) handleRun(in *Inbound, ctx *Context, q *queue) {
	it := q.items[q.head]
	q.head++
	q.live--
	if in.config.History > 0 {
		in.remember(it, ctx.Stage)
	}
	in.stats.Handled++
	if !c.Handle(ctx, in.cur.payload(it)) {
		in.stats.Illegal++
	}
}
