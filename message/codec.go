package message

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// Codec writes and reads the values of one Go type, and has its handler: a CodecOf without its type parameter. After registration it does not change and may be used by any number of goroutines, each with a Scratch of its
// own.
type Codec interface {
	// Name returns the wire name.
	Name() string
	// GoType returns the type of the values.
	GoType() reflect.Type
	// Plan returns the fields that are sent; nil for a type with a Serialize method.
	Plan() *quantize.Plan
	// Size returns how long every payload is, in bytes; -1 for a type with a Serialize method, whose payloads vary.
	Size() int
	// AlwaysLegal returns how long payloads are if every one of that length is legal, and else NoSize.
	AlwaysLegal() uint32
	// Handled reports whether there is a handler.
	Handled() bool
	// Check reports whether a payload is legal. It has no effect.
	Check(s *Scratch, payload []byte) bool
	// Handle decodes a payload and calls the handler. It returns false, without a call, if the payload is not legal.
	Handle(ctx *Context, payload []byte) bool
	// Describe appends name and fields, or for a type with a Serialize method its name and bound.
	Describe(dst []byte) []byte
	// AppendValues appends the values of a payload, for people; if it is not legal, the bytes and what is wrong.
	AppendValues(dst, payload []byte) []byte
	// Debug turns packing off. Call it before the codec is used.
	Debug()

	setNumber(id wire.MessageType)
	handleRun(in *Inbound, ctx *Context, q *queue)
}

// Bounded is a message type with a Serialize method that knows how long it may be. Without it a value is measured, at
// the price of one more pass over it.
type Bounded interface {
	// SizeUpperBound returns at least as many bytes as Serialize will write for this value.
	SizeUpperBound() int
}

// way is the encoding of a type's values.
type way uint8

const (
	byPlan      way = iota // fields, packed to bits
	byCopy                 // fields, whose bits are those of memory
	bySerialize            // its Serialize method
)

// CodecOf is the codec of T. It is one of three: fields packed by a quantize.Plan; the same bits, but copied from memory
// where every field is exact; or what the Serialize method of *T says.
type CodecOf[T any] struct {
	name    string
	way     way
	size    int            // of every payload; -1 bySerialize
	plan    *quantize.Plan // nil bySerialize
	exact   exact          // byCopy
	bound   int            // bySerialize: of the zero value
	bounded bool           // bySerialize: *T is Bounded
	debug   bool
	number  wire.MessageType // once the registry is frozen
	handle  func(ctx *Context, m *T)
}

// NewCodec returns the codec of T under its wire name: by its Serialize method if *T has one, else by its fields, with the
// tags of quantize.Compile. The handler is called by Handle; it may be nil. The value that it is given is good during the call
// and reused afterwards; it starts from zero, also in fields that are not sent. The error tells why T cannot be sent.
func NewCodec[T any](name string, handle func(ctx *Context, m *T)) (*CodecOf[T], error) {
	c := &CodecOf[T]{name: name, handle: handle}
	if _, ok := any((*T)(nil)).(wire.Serializable); ok {
		return c, c.compileSerialize()
	}
	plan, err := quantize.Compile(reflect.TypeFor[T](), name)
	if fields := new(quantize.NotFieldsError); errors.As(err, &fields) {
		return nil, fmt.Errorf("%w; what is not plain data, or more, travels by a method func (m *%s) Serialize(s *wire.Serializer)", err, reflect.TypeFor[T]().Name())
	}
	if err != nil {
		return nil, err
	}
	if err := plan.CheckHandles(); err != nil {
		return nil, err
	}
	if plan.Events() {
		return nil, quantize.ErrEvents
	}
	c.plan, c.size = plan, planSize(plan)
	c.compileCopy()
	return c, nil
}

// planSize returns how long the payload of a message with these fields is, in bytes.
func planSize(plan *quantize.Plan) int { return (plan.Bits() + 7) / 8 }

// Name returns the wire name.
func (c *CodecOf[T]) Name() string { return c.name }

// GoType returns the type T.
func (c *CodecOf[T]) GoType() reflect.Type { return reflect.TypeFor[T]() }

// Plan returns the fields that are sent; nil for a type with a Serialize method.
func (c *CodecOf[T]) Plan() *quantize.Plan { return c.plan }

// Size returns how long every payload is, in bytes, or with entity fields is at most; -1 for a type with a Serialize method.
func (c *CodecOf[T]) Size() int { return c.size }

// Handler returns the handler, nil if there is none.
func (c *CodecOf[T]) Handler() func(ctx *Context, m *T) { return c.handle }

// With returns the codec with another handler.
func (c *CodecOf[T]) With(handle func(ctx *Context, m *T)) *CodecOf[T] {
	other := *c
	other.handle = handle
	return &other
}

// Handled reports whether there is a handler.
func (c *CodecOf[T]) Handled() bool { return c.handle != nil }

func (c *CodecOf[T]) setNumber(id wire.MessageType) { c.number = id }

// Debug turns packing off. Call it before the codec is used.
func (c *CodecOf[T]) Debug() {
	c.debug = true
	if c.way == bySerialize {
		c.measureZero()
		return
	}
	c.plan.Debug()
	c.way, c.size = byPlan, planSize(c.plan)
}

// Describe appends name and fields, or for a type with a Serialize method its name and the bound of its zero value.
func (c *CodecOf[T]) Describe(dst []byte) []byte {
	if c.way == bySerialize {
		return c.describeSerialize(dst)
	}
	return c.plan.Describe(dst)
}

// SizeBound returns the room that Encode needs for a value, in bytes. For fields that is always the same; a Serialize
// method is asked, or measured, and what it says wrong is a *SerializeError.
func (c *CodecOf[T]) SizeBound(s *Scratch, m *T) (int, error) {
	if c.way != bySerialize {
		return c.size, nil
	}
	return c.serializeBound(s, m)
}

// Encode writes a value into dst, which has the room that SizeBound asked for, and returns how many bytes it took. The
// errors are *FieldError, *BoundError and *SerializeError; then dst holds nothing that may be sent.
func (c *CodecOf[T]) Encode(s *Scratch, dst []byte, m *T) (n int, err error) {
	switch c.way {
	case byCopy:
		if len(dst) >= c.size && c.store(dst[:c.size], m) {
			return c.size, nil
		}
	case bySerialize:
		return c.serialize(s, dst, m)
	}
	return c.encodePlan(s, dst, m)
}

// Decode reads a payload into *m, which it makes zero first. It returns false if the payload is not legal; *m is worth
// nothing then.
func (c *CodecOf[T]) Decode(s *Scratch, payload []byte, m *T) bool {
	switch c.way {
	case byCopy:
		if len(payload) != c.size || !c.exact.finite(payload) {
			return false
		}
		c.load(m, payload)
		return true
	case bySerialize:
		return c.deserialize(s, payload, m)
	}
	return c.decodePlan(s, payload, m)
}

// Check reports whether a payload is legal, without effect.
func (c *CodecOf[T]) Check(s *Scratch, payload []byte) bool {
	switch c.way {
	case byCopy:
		return len(payload) == c.size && c.exact.finite(payload)
	case bySerialize:
		return c.checkSerialize(s, payload)
	}
	if !c.fits(payload) {
		return false
	}
	r := wire.NewBitReader(payload)
	return c.plan.ReadRow(&r, s.row(c.plan.Lanes())) && r.Done()
}

// fits reports whether a payload is as long as the fields can make it: entity fields take fewer bits where they can.
func (c *CodecOf[T]) fits(payload []byte) bool {
	return len(payload) == c.size || len(payload) < c.size && len(c.plan.Refs()) > 0
}

// encodePlan writes the fields as packed bits, and says of a value that cannot be sent which field is to blame. There is no
// last good value to keep, unlike for a component, and there is a caller to tell.
func (c *CodecOf[T]) encodePlan(s *Scratch, dst []byte, m *T) (int, error) {
	if len(dst) < c.size {
		return 0, &BoundError{Name: c.name, Bound: len(dst)}
	}
	lanes := s.row(c.plan.Lanes())
	clear(lanes)
	if fault := quantise(c.plan, m, lanes); fault.Reason != wire.NoFault {
		return 0, &FieldError{Name: c.name, Field: fault.Field(), Reason: fault.Reason, Detail: outside(c.plan, m, fault)}
	}
	w := wire.NewBitWriter(dst[:c.size])
	c.plan.WriteRow(&w, lanes)
	return w.Finish(), nil
}

// outside tells what number a value has that is out of range, and which is allowed. It looks at a copy, so that m does not escape.
func outside[T any](plan *quantize.Plan, m *T, fault quantize.Fault) string {
	return plan.Outside(reflect.ValueOf(*m), fault)
}

// decodePlan is Decode for packed bits.
func (c *CodecOf[T]) decodePlan(s *Scratch, payload []byte, m *T) bool {
	if !c.fits(payload) {
		return false
	}
	r, lanes := wire.NewBitReader(payload), s.row(c.plan.Lanes())
	if !c.plan.ReadRow(&r, lanes) || !r.Done() {
		return false
	}
	var zero T
	*m = zero
	dequantise(c.plan, lanes, m)
	return true
}

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
	Dump   func(dst []byte, payload []byte) []byte // appends the values of a payload, for people, legal or not
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

// Describe appends the name. The bytes are described elsewhere.
func (c *Raw) Describe(dst []byte) []byte { return append(append(dst, c.name...), "{raw}"...) }

// AppendValues appends the values of a payload, for people.
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
