package message

import "github.com/arche-netcode/netcode/wire"

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
