package message

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// Codec encodes and decodes the values of one Go type and calls its handler. It is the interface of CodecOf without the
// type parameter. After registration a Codec does not change. Any number of goroutines may use it, each with its own
// Scratch.
type Codec interface {
	// Name returns the wire name.
	Name() string
	// GoType returns the type of the values.
	GoType() reflect.Type
	// Plan returns the fields that are sent; nil for a type with a Serialize method.
	Plan() *quantize.Plan
	// Size returns the length of every payload in bytes; -1 for a type with a Serialize method, whose payloads vary.
	Size() int
	// Handled reports whether there is a handler.
	Handled() bool
	// Check reports whether a payload is legal. It has no effect.
	Check(s *Scratch, payload []byte) bool
	// Handle decodes a payload and calls the handler. It returns false, without a call, if the payload is not legal.
	Handle(ctx *Context, payload []byte) bool
	// Describe appends the name and the fields; for a type with a Serialize method the name and its layout.
	Describe(dst []byte) []byte
	// AppendValues appends the values of a payload as text; for an illegal payload its bytes and the error.
	AppendValues(dst, payload []byte) []byte
	// Debug turns packing off. Call it before the codec is used.
	Debug()

	setNumber(id wire.MessageType)
}

// Bounded is a message type whose Serialize method has a known upper bound. For other types SizeBound measures each
// value, which costs one more call of Serialize.
type Bounded interface {
	// SizeUpperBound returns at least as many bytes as Serialize will write for this value.
	SizeUpperBound() int
}

// encoding selects the encoding of a type's values.
type encoding uint8

const (
	byPlan      encoding = iota // fields, packed into bits by the plan
	byCopy                      // fields, copied from memory: the bytes are the same
	bySerialize                 // by the type's Serialize method
)

// CodecOf is the codec of T. It encodes in one of three ways: fields packed by a quantize.Plan; the same bits copied
// from memory, if every field is exact; the Serialize method of *T.
type CodecOf[T any] struct {
	name     string
	encoding encoding
	size     int            // of every payload, in bytes; -1 if bySerialize
	plan     *quantize.Plan // nil if bySerialize
	exact    exact          // set if byCopy
	layout   string         // set if bySerialize
	bounded  bool           // set if bySerialize: *T is Bounded
	debug    bool
	number   wire.MessageType // set by Freeze
	handle   func(ctx *Context, m *T)
}

// NewCodec returns the codec of T under its wire name. It uses the Serialize method if *T has one, else the fields,
// with the tags of quantize.Compile. Handle calls the handler, which may be nil. The value passed to the handler is
// valid during the call and reused afterwards. It is zeroed before decoding, unsent fields too. The error tells why T
// cannot be sent.
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

// planSize returns the payload length of a message with these fields, in bytes.
func planSize(plan *quantize.Plan) int { return (plan.Bits() + 7) / 8 }

// Name returns the wire name.
func (c *CodecOf[T]) Name() string { return c.name }

// GoType returns the type T.
func (c *CodecOf[T]) GoType() reflect.Type { return reflect.TypeFor[T]() }

// Plan returns the fields that are sent; nil for a type with a Serialize method.
func (c *CodecOf[T]) Plan() *quantize.Plan { return c.plan }

// Size returns the length of every payload in bytes, or the maximum if the length varies; -1 for a type with a
// Serialize method.
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
	if c.encoding == bySerialize {
		_ = c.findLayout() // it was found before: only the forms of integers differ
		return
	}
	c.plan.Debug()
	c.encoding, c.size = byPlan, planSize(c.plan)
}

// Describe appends the name and the fields; for a type with a Serialize method the name and its layout,
// see wire.Layout.
func (c *CodecOf[T]) Describe(dst []byte) []byte {
	if c.encoding == bySerialize {
		return c.describeSerialize(dst)
	}
	return c.plan.Describe(dst)
}

// SizeBound returns the number of bytes that Encode needs for a value. For fields it is a constant. For a Serialize
// method it is SizeUpperBound or a measured size; a failure is a *SerializeError.
func (c *CodecOf[T]) SizeBound(s *Scratch, m *T) (int, error) {
	if c.encoding != bySerialize {
		return c.size, nil
	}
	return c.serializeBound(s, m)
}

// Encode writes a value into dst and returns the number of bytes written. dst has at least the length that SizeBound
// returned. The errors are *FieldError, *BoundError and *SerializeError; after an error the contents of dst must not be
// sent.
func (c *CodecOf[T]) Encode(s *Scratch, dst []byte, m *T) (n int, err error) {
	switch c.encoding {
	case byCopy:
		if len(dst) >= c.size && c.store(dst[:c.size], m) {
			return c.size, nil
		}
	case bySerialize:
		return c.serialize(s, dst, m)
	}
	return c.encodePlan(s, dst, m)
}

// Decode zeroes *m and reads a payload into it. It returns false if the payload is not legal; *m is then undefined.
func (c *CodecOf[T]) Decode(s *Scratch, payload []byte, m *T) bool {
	switch c.encoding {
	case byCopy:
		if !c.legalCopy(payload) {
			return false
		}
		c.load(m, payload)
		return true
	case bySerialize:
		return c.deserialize(s, payload, m)
	}
	return c.decodePlan(s, payload, m)
}

// Check reports whether a payload is legal. It has no effect.
func (c *CodecOf[T]) Check(s *Scratch, payload []byte) bool {
	switch c.encoding {
	case byCopy:
		return c.legalCopy(payload)
	case bySerialize:
		return c.checkSerialize(s, payload)
	}
	if !c.fits(payload) {
		return false
	}
	r := wire.NewBitReader(payload)
	return c.plan.ReadRow(&r, s.row(c.plan.Lanes())) && r.Done()
}

// legalCopy is Check if encoding is byCopy.
func (c *CodecOf[T]) legalCopy(payload []byte) bool {
	return len(payload) == c.size && c.exact.finite(payload)
}

// fits reports whether the fields can have a payload of this length.
func (c *CodecOf[T]) fits(payload []byte) bool {
	return len(payload) == c.size || len(payload) < c.size && c.plan.Varies()
}

// encodePlan packs the fields into bits. For a value that cannot be sent it returns a *FieldError that names the field.
// A component would keep its last valid value instead; a message has none, and its caller can handle an error.
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

// outside describes a value that is out of range and the allowed range. It works on a copy, so that m does not escape.
func outside[T any](plan *quantize.Plan, m *T, fault quantize.Fault) string {
	return plan.Outside(reflect.ValueOf(*m), fault)
}

// decodePlan decodes packed bits.
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

// Raw is the codec of a message whose payload is decoded outside of this package. Its Go type only identifies it in a
// registry and has no values.
type Raw struct {
	name   string
	marker reflect.Type
	calls  RawCalls
}

// RawCalls are the functions that read the payloads of a Raw. Their arguments are valid until they return.
type RawCalls struct {
	Check  func(payload []byte) bool               // reports whether a payload is legal; has no effect
	Handle func(ctx *Context, payload []byte)      // is called with legal payloads
	Dump   func(dst []byte, payload []byte) []byte // appends the values as text; the payload may be illegal
}

// NewRaw returns the codec of a raw payload.
func NewRaw(name string, marker reflect.Type, calls RawCalls) *Raw {
	return &Raw{name: name, marker: marker, calls: calls}
}

// Name returns the wire name.
func (c *Raw) Name() string { return c.name }

// GoType returns the type that identifies this codec in a registry.
func (c *Raw) GoType() reflect.Type { return c.marker }

// Plan returns nil: there are no fields.
func (c *Raw) Plan() *quantize.Plan { return nil }

// Size returns -1: payloads vary.
func (c *Raw) Size() int { return -1 }

// Handled reports true.
func (c *Raw) Handled() bool { return true }

// Check reports whether a payload is legal. It has no effect.
func (c *Raw) Check(_ *Scratch, payload []byte) bool { return c.calls.Check(payload) }

// Handle calls the handler. It returns false, without a call, if the payload is not legal.
func (c *Raw) Handle(ctx *Context, payload []byte) bool {
	if !c.calls.Check(payload) {
		return false
	}
	c.calls.Handle(ctx, payload)
	return true
}

// Describe appends the name. The registrant describes the bytes.
func (c *Raw) Describe(dst []byte) []byte { return append(append(dst, c.name...), "{raw}"...) }

// AppendValues appends the values of a payload as text.
func (c *Raw) AppendValues(dst, payload []byte) []byte { return c.calls.Dump(dst, payload) }

// Debug does nothing: there is no packing to turn off.
func (c *Raw) Debug() {}

func (c *Raw) setNumber(wire.MessageType) {}

// exact lists the checks of a type whose payload is a copy of its memory. Floats must be finite. Signed integers are
// sent with their sign bit inverted, so that the byte order is the numeric order.
type exact struct {
	floats []floatRun
	flip   []byte // XOR of payload and memory; nil if there are no signed integers
}

// floatRun is a run of neighbouring floats of one size.
type floatRun struct {
	at, end int  // range of bytes in the payload
	wide    bool // 8-byte floats, else 4-byte
}

// finite reports whether every float of a payload, or of a value's memory, is finite. b has the size of the type.
func (e *exact) finite(b []byte) bool { return len(e.floats) == 0 || e.allFinite(b) }

func (e *exact) allFinite(b []byte) bool {
	for i := range e.floats {
		f := &e.floats[i]
		for at := f.at; at < f.end; {
			if f.wide {
				if binary.LittleEndian.Uint64(b[at:])&0x7FF0_0000_0000_0000 == 0x7FF0_0000_0000_0000 {
					return false
				}
				at += 8
				continue
			}
			if binary.LittleEndian.Uint32(b[at:])&0x7F80_0000 == 0x7F80_0000 {
				return false
			}
			at += 4
		}
	}
	return true
}

// flipSigns inverts the sign bits of signed integers: memory to payload or back.
func (e *exact) flipSigns(b []byte) {
	flip := e.flip[:len(b)]
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^binary.LittleEndian.Uint64(flip))
		b, flip = b[8:], flip[8:]
	}
	for i := range b {
		b[i] ^= flip[i]
	}
}

// compileCopy selects byCopy if a memory copy gives the same bytes as the plan. It takes a third off the time of a
// message (bench -run rpc).
func (c *CodecOf[T]) compileCopy() {
	if c.plan.Fixed() < c.plan.Lanes() {
		return // the length of a text or a list varies
	}
	t := reflect.TypeFor[T]()
	var e exact
	end, ok := e.add(t, 0, "")
	if !ok || uintptr(end) != t.Size() || end == 0 || end != c.size || !littleEndian() {
		return
	}
	// Zero floats and unsigned integers are zeros on the wire too. The non-zero bits are inverted sign bits.
	var zero T
	flip := make([]byte, c.size)
	if _, err := c.encodePlan(&Scratch{}, flip, &zero); err != nil {
		return
	}
	for _, b := range flip {
		if b != 0 {
			e.flip = flip
		}
	}
	c.encoding, c.exact = byCopy, e
}

// littleEndian reports whether this machine's byte order is that of the wire.
func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// add appends the fields of type t at offset at, in wire order, and returns the offset of the end. It returns false if
// the encoding is not a memory copy: a boolean (one bit), a field with a tag, or padding.
func (e *exact) add(t reflect.Type, at int, tag reflect.StructTag) (end int, ok bool) {
	if tag.Get("net") != "" {
		return at, false
	}
	switch t.Kind() {
	case reflect.Int8, reflect.Uint8, reflect.Int16, reflect.Uint16, reflect.Int32, reflect.Uint32, reflect.Int64, reflect.Uint64:
		return at + int(t.Size()), true
	case reflect.Float32, reflect.Float64:
		e.addFloat(at, int(t.Size()))
		return at + int(t.Size()), true
	case reflect.Array:
		end = at
		for range t.Len() {
			if end, ok = e.add(t.Elem(), end, ""); !ok {
				return end, false
			}
		}
		return end, end == at+int(t.Size())
	case reflect.Struct:
		end = at
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Name == "_" || end != at+int(f.Offset) {
				return end, false
			}
			if end, ok = e.add(f.Type, end, f.Tag); !ok {
				return end, false
			}
		}
		return end, end == at+int(t.Size())
	}
	return at, false
}

// addFloat appends a float and merges it with the previous run if they are adjacent and of one size.
func (e *exact) addFloat(at, size int) {
	if n := len(e.floats); n > 0 && e.floats[n-1].end == at && e.floats[n-1].wide == (size == 8) {
		e.floats[n-1].end += size
		return
	}
	e.floats = append(e.floats, floatRun{at: at, end: at + size, wide: size == 8})
}

// store copies a value to dst, which has its size, and reports whether all floats are finite.
func (c *CodecOf[T]) store(dst []byte, m *T) bool {
	copyOut(dst, m)
	if c.exact.flip != nil {
		c.exact.flipSigns(dst)
	}
	return c.exact.finite(dst)
}

// load copies a payload, which has the size of T, to the value.
func (c *CodecOf[T]) load(m *T, payload []byte) {
	copyIn(m, payload)
	if c.exact.flip != nil {
		flipSignsIn(m, &c.exact)
	}
}

// compileSerialize sets up the codec of a type with a Serialize method. It runs the method on zero values.
func (c *CodecOf[T]) compileSerialize() error {
	if _, err := quantize.Compile(reflect.TypeFor[struct{}](), c.name); err != nil {
		return err // the canonical text cannot contain the name
	}
	c.encoding, c.size = bySerialize, -1
	_, c.bounded = any((*T)(nil)).(Bounded)
	return c.findLayout()
}

// findLayout finds the layout of the method.
func (c *CodecOf[T]) findLayout() (err error) {
	c.layout, err = wire.Layout(func() wire.Serializable { return any(new(T)).(wire.Serializable) }, c.debug)
	return err
}

// describeSerialize appends the layout, for the protocol hash.
func (c *CodecOf[T]) describeSerialize(dst []byte) []byte {
	dst = append(append(dst, c.name...), "{serialized"...)
	if c.layout != "" {
		dst = append(append(dst, ';'), c.layout...)
	}
	return append(dst, '}')
}

// serializeBound calls SizeUpperBound if T is Bounded, else measures the value.
func (c *CodecOf[T]) serializeBound(s *Scratch, m *T) (int, error) {
	b := c.box(s, m)
	defer b.giveBack()
	if c.bounded {
		if n := any(&b.value).(Bounded).SizeUpperBound(); n >= 0 {
			return n, nil
		}
		return 0, &SerializeError{Name: c.name, Err: errNegative}
	}
	z := s.serializers.take(c.debug)
	n, err := z.Measure(any(&b.value).(wire.Serializable))
	s.serializers.giveBack(z)
	if err != nil {
		return 0, c.failed(err, &b.value)
	}
	return n, nil
}

var errNegative = errors.New("SizeUpperBound is negative")

// serialize writes a value into dst and never past its end.
func (c *CodecOf[T]) serialize(s *Scratch, dst []byte, m *T) (int, error) {
	b := c.box(s, m)
	defer b.giveBack()
	z := s.serializers.take(c.debug)
	n, err := z.Write(dst, any(&b.value).(wire.Serializable))
	s.serializers.giveBack(z)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, wire.ErrOverflow):
		return 0, &BoundError{Name: c.name, Bound: len(dst)}
	}
	return 0, c.failed(err, &b.value)
}

// failed returns the error of a value that its Serialize method refused. It names the field if a length was too large.
func (c *CodecOf[T]) failed(err error, value *T) error {
	var long *wire.LengthError
	if errors.As(err, &long) {
		long.Find(value)
	}
	return &SerializeError{Name: c.name, Err: err}
}

// deserialize reads a payload into *m. A Serialize method that panics over remote bytes counts as a refusal.
func (c *CodecOf[T]) deserialize(s *Scratch, payload []byte, m *T) (ok bool) {
	z := s.serializers.take(c.debug)
	defer func() {
		if recover() != nil {
			ok = false // z may be inconsistent and is not reused
		}
	}()
	var zero T
	*m = zero
	err := z.Read(payload, any(m).(wire.Serializable))
	s.serializers.giveBack(z)
	return err == nil
}

// checkSerialize decodes a payload into a scratch value and reports whether it is legal.
func (c *CodecOf[T]) checkSerialize(s *Scratch, payload []byte) bool {
	b := borrow[T](s, c.number)
	ok := c.deserialize(s, payload, &b.value)
	b.giveBack()
	return ok
}

// AppendValues appends the values of a payload as text; for an illegal payload its bytes and the error.
func (c *CodecOf[T]) AppendValues(dst, payload []byte) []byte {
	var s Scratch
	if c.encoding != bySerialize {
		lanes := make([]uint32, c.plan.Lanes())
		r := wire.NewBitReader(payload)
		if c.fits(payload) && c.plan.ReadRow(&r, lanes) && r.Done() {
			return c.plan.AppendValues(dst, lanes)
		}
	} else {
		var m T
		if c.deserialize(&s, payload, &m) {
			return fmt.Appendf(dst, "%+v", m)
		}
	}
	return fmt.Appendf(dst, "%x is not legal", payload)
}

// box copies a value into reused memory. A call through an interface would otherwise move every sent value, of any
// type, to the heap.
func (c *CodecOf[T]) box(s *Scratch, m *T) *box[T] {
	b := borrow[T](s, c.number)
	b.value = *m
	return b
}

// Scratch is the memory in which one end encodes and decodes one message after the other. The zero value is ready. It
// belongs to one goroutine.
type Scratch struct {
	lanes       []uint32
	boxes       [1 << 8]any // *box[T], by the number of the message type
	serializers serializers
}

// box stores the value passed to a handler.
type box[T any] struct {
	value T
	taken bool
	next  *box[T] // for a nested handler of the same type
}

// row returns a slice of n words with undefined contents.
func (s *Scratch) row(n int) []uint32 {
	if cap(s.lanes) < n {
		s.lanes = make([]uint32, n)
	}
	return s.lanes[:n]
}

// borrow returns the reused value of a type. A nested handler of the same type gets another one.
func borrow[T any](s *Scratch, number wire.MessageType) *box[T] {
	b, ok := s.boxes[number].(*box[T])
	if !ok || b.taken {
		b = another(s, number, b)
	}
	b.taken = true
	return b
}

// another returns a box that is not taken. first is the box that borrow found, nil for none.
func another[T any](s *Scratch, number wire.MessageType, first *box[T]) *box[T] {
	if first == nil {
		first = &box[T]{}
		s.boxes[number] = first
	}
	for first.taken {
		if first.next == nil {
			first.next = &box[T]{}
		}
		first = first.next
	}
	return first
}

// giveBack marks the value as free.
func (b *box[T]) giveBack() { b.taken = false }

// afterPanic drops all boxes: a handler that panicked did not return its own.
func (s *Scratch) afterPanic() { clear(s.boxes[:]) }

// serializers is a pool of serializers. A Serialize method may send messages, which needs a second one.
type serializers struct {
	kept *wire.Serializer
}

// take returns a serializer with packing on or off.
func (s *serializers) take(debug bool) *wire.Serializer {
	z := s.kept
	s.kept = nil
	if z == nil || z.Debugging() != debug {
		z = &wire.Serializer{}
		if debug {
			z.Debug()
		}
	}
	return z
}

func (s *serializers) giveBack(z *wire.Serializer) { s.kept = z }
