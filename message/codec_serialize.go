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

// AppendValues appends what a payload says, for people; if it is not legal, the bytes and what is wrong.
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
