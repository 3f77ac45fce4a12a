package message

import "github.com/arche-netcode/netcode/wire"

// Scratch is the memory in which one end encodes and decodes messages, one after the other. The zero value is ready. It
// belongs to one goroutine.
type Scratch struct {
	lanes       []uint32
	boxes       [1 << 8]any // *box[T], by the number of the message type
	serializers serializers
}

// box is the value that a handler is given.
type box[T any] struct {
	value T
}

// row returns n words; what they hold is left from before.
func (s *Scratch) row(n int) []uint32 {
	if cap(s.lanes) < n {
		s.lanes = make([]uint32, n)
	}
	return s.lanes[:n]
}

// borrow takes the reused value out of its place: a handler that is called while it runs gets another one, and one whose
// handler panicked is not used again.
func borrow[T any](s *Scratch, number wire.MessageType) *box[T] {
	if s != nil {
		if b, ok := s.boxes[number].(*box[T]); ok {
			s.boxes[number] = nil
			return b
		}
	}
	return &box[T]{}
}

// giveBack puts a value back into its place.
func giveBack[T any](s *Scratch, number wire.MessageType, b *box[T]) {
	if s != nil {
		s.boxes[number] = b
	}
}

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
