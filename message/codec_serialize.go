package message

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// compileSerialize makes c the codec of a type with a Serialize method.
func (c *CodecOf[T]) compileSerialize() error {
	if _, err := quantize.Compile(reflect.TypeFor[struct{}](), c.name); err != nil {
		return err // the name is not one that the canonical text could hold
	}
	c.way, c.size = bySerialize, -1
	_, c.bounded = any((*T)(nil)).(Bounded)
	c.measureZero()
	return nil
}

// measureZero finds the bound of the zero value, which tells most layouts apart in the protocol's hash. A zero value that
// cannot be measured counts as nothing.
func (c *CodecOf[T]) measureZero() {
	var s Scratch
	var zero T
	c.bound, _ = c.serializeBound(&s, &zero)
}

// describeSerialize appends what two ends must agree on, as far as it can be known.
func (c *CodecOf[T]) describeSerialize(dst []byte) []byte {
	dst = append(append(append(dst, c.name...), "{serialized:"...), reflect.TypeFor[T]().Name()...)
	return append(strconv.AppendInt(append(dst, ";bound:"...), int64(c.bound), 10), '}')
}

// serializeBound asks the value for its bound, or measures it.
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

// serialize writes a value into dst and nothing past it.
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

// failed returns the error of a value that its Serialize method refused, with the field where a length was too large.
func (c *CodecOf[T]) failed(err error, value *T) error {
	var long *wire.LengthError
	if errors.As(err, &long) {
		long.Find(value)
	}
	return &SerializeError{Name: c.name, Err: err}
}

// deserialize reads a payload into *m. A Serialize method that panics over bytes from outside has refused them.
func (c *CodecOf[T]) deserialize(s *Scratch, payload []byte, m *T) (ok bool) {
	z := s.serializers.take(c.debug)
	defer func() {
		if recover() != nil {
			ok = false // z is not used again
		}
	}()
	var zero T
	*m = zero
	err := z.Read(payload, any(m).(wire.Serializable))
	s.serializers.giveBack(z)
	return err == nil
}

// checkSerialize reads a payload into a value that nobody sees.
func (c *CodecOf[T]) checkSerialize(s *Scratch, payload []byte) bool {
	b := borrow[T](s, c.number)
	ok := c.deserialize(s, payload, &b.value)
	b.giveBack()
	return ok
}

// AppendValues appends the values of a payload, for people; if it is not legal, the bytes and what is wrong.
func (c *CodecOf[T]) AppendValues(dst, payload []byte) []byte {
	var s Scratch
	if c.way != bySerialize {
		lanes := make([]uint32, c.plan.Lanes())
		r := wire.NewBitReader(payload)
		if len(payload) == c.size && c.plan.ReadRow(&r, lanes) && r.Done() {
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

// box copies a value to reused memory: a method that is called through an interface would else force every value that is
// ever sent, also of other types, to be allocated by its sender.
func (c *CodecOf[T]) box(s *Scratch, m *T) *box[T] {
	b := borrow[T](s, c.number)
	b.value = *m
	return b
}

// Scratch is the memory in which one end encodes and decodes messages, one after the other. The zero value is ready. It
// belongs to one goroutine.
type Scratch struct {
	lanes       []uint32
	boxes       [1 << 8]any // *box[T], by the number of the message type
	serializers serializers
	buffers     [][]byte // lent out by takeBytes: as many as handlers are at work within each other
}

// box is the value that a handler is given.
type box[T any] struct {
	value T
	taken bool
	next  *box[T] // for a handler of the type that is called while one runs
}

// row returns n words; what they hold is left from before.
func (s *Scratch) row(n int) []uint32 {
	if cap(s.lanes) < n {
		s.lanes = make([]uint32, n)
	}
	return s.lanes[:n]
}

// borrow takes the reused value: a handler that is called while another of its type runs gets one of its own.
func borrow[T any](s *Scratch, number wire.MessageType) *box[T] {
	b, ok := s.boxes[number].(*box[T])
	if !ok || b.taken {
		b = another(s, number, b)
	}
	b.taken = true
	return b
}

// another returns a value that is not taken; first is the one that borrow found, if any.
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

// giveBack lets a value be used again.
func (b *box[T]) giveBack() { b.taken = false }

// takeBytes takes n bytes that nobody else gets until giveBytes.
func (s *Scratch) takeBytes(n int) (b []byte) {
	if last := len(s.buffers) - 1; last >= 0 {
		b, s.buffers = s.buffers[last], s.buffers[:last]
	}
	if cap(b) < n {
		b = make([]byte, n)
	}
	return b[:n]
}

// giveBytes gives back what takeBytes took.
func (s *Scratch) giveBytes(b []byte) { s.buffers = append(s.buffers, b) }

// afterPanic forgets the values that handlers which panicked did not give back.
func (s *Scratch) afterPanic() { clear(s.boxes[:]) }

// serializers lends out serializers: Serialize methods may send messages of their own.
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
