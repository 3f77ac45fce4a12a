package wire

import (
	"fmt"
	"reflect"
)

// Functions, not methods: methods have no type parameters.

// SerializeEnum serializes an integer of any type, such as an enumeration, in the size of its underlying type. Reading
// accepts any number of that type; use SerializeEnumWithin to check a range.
func SerializeEnum[T Integer](s *Serializer, v *T) {
	if s.probe != nil {
		probeInteger(s, v, numberKind[T]())
		return
	}
	SerializeArray(s, only(v))
}

// SerializeEnumWithin is SerializeEnum for values from low to high. Other values are ErrMalformed, and reading them
// gives low.
func SerializeEnumWithin[T Integer](s *Serializer, v *T, low, high T) {
	if s.probe != nil {
		if s.direction != reading && (*v < low || *v > high) {
			s.Fail(ErrMalformed)
		}
		probeWithin(s, v, low, high)
		return
	}
	if s.direction == reading {
		ReadArray(&s.reader, only(v))
	}
	if *v < low || *v > high {
		s.Fail(ErrMalformed)
		if s.direction == reading {
			*v = 0
		}
	}
	if s.direction != reading {
		SerializeArray(s, only(v))
	}
}

// SerializePacked serializes an integer of any type as a varint, 1 to 9 bytes; if packing is off, as SerializeEnum
// does.
func SerializePacked[T Packable](s *Serializer, v *T) {
	if s.debug {
		SerializeEnum(s, v)
		return
	}
	if s.probe != nil {
		probeInteger(s, v, numberKind[T]()+"packed")
		return
	}
	switch s.direction {
	case reading:
		*v = ReadPacked[T](&s.reader)
	case writing:
		WritePacked(&s.writer, *v)
	default:
		s.size += VarintSize(packed(*v))
	}
}

// SerializeArray serializes the elements of v; both ends know their number. Use array[:] for an array.
func SerializeArray[T Fixed](s *Serializer, v []T) {
	if s.probe != nil {
		probeWhole[T](s, fmt.Sprintf("[%d]%s", len(v), numberKind[T]()), firstOf(v), isArray)
		return
	}
	switch s.direction {
	case reading:
		ReadArray(&s.reader, v)
	case writing:
		WriteArray(&s.writer, v)
	default:
		s.size += len(v) * wireSize[T]()
	}
}

// SerializeSlice serializes at most limit elements. Reading reuses *v if there is room, and allocates only after it has
// checked that the bytes exist.
func SerializeSlice[T Fixed](s *Serializer, v *[]T, limit int) {
	if s.probe != nil {
		probeSlice(s, v, limit, numberKind[T]())
		return
	}
	switch s.direction {
	case reading:
		*v = ReadSlice(&s.reader, *v, limit)
	case writing:
		s.checkLength(len(*v), limit, addressOf(v))
		WriteSlice(&s.writer, *v, limit)
	default:
		s.measureCount(len(*v), limit, addressOf(v))
		s.size += len(*v) * wireSize[T]()
	}
}

// SerializePackedSlice serializes at most limit integers, each as a varint; if packing is off, as SerializeSlice does.
func SerializePackedSlice[T Packable](s *Serializer, v *[]T, limit int) {
	if s.debug {
		SerializeSlice(s, v, limit)
		return
	}
	if s.probe != nil {
		probeSlice(s, v, limit, numberKind[T]()+"packed")
		return
	}
	switch s.direction {
	case reading:
		*v = ReadPackedSlice(&s.reader, *v, limit)
	case writing:
		s.checkLength(len(*v), limit, addressOf(v))
		WritePackedSlice(&s.writer, *v, limit)
	default:
		s.measureCount(len(*v), limit, addressOf(v))
		for _, one := range *v {
			s.size += VarintSize(packed(one))
		}
	}
}

// SerializeValue serializes all of *v with its codec.
func SerializeValue[T any](s *Serializer, c *Value[T], v *T) {
	if s.probe != nil {
		probeWhole[T](s, "whole"+c.text, addressOf(v), func(t reflect.Type) bool { return t == reflect.TypeFor[T]() })
		return
	}
	switch s.direction {
	case reading:
		ReadValue(&s.reader, c, v)
	case writing:
		WriteValue(&s.writer, c, v)
	default:
		c.check()
		s.size += c.size
	}
}

// Pointer is a *T that is Serializable. It is inferred, never spelled.
type Pointer[T any] interface {
	*T
	Serializable
}

// SerializeEach serializes at most limit Serializable elements. An element of no bytes is ErrMalformed: its count could
// not be checked. Reading zeroes each element first, and grows *v with the elements that exist, whatever the count
// claims.
func SerializeEach[T any, P Pointer[T]](s *Serializer, v *[]T, limit int) {
	if s.probe != nil {
		probeEach[T, P](s, v, limit)
		return
	}
	n := len(*v)
	s.count(&n, limit, 1, addressOf(v))
	if s.direction == reading {
		*v = (*v)[:0]
	}
	for i := 0; i < n && s.Err() == nil; i++ {
		if s.direction == reading {
			var zero T
			*v = append(*v, zero)
		}
		before := s.Position()
		s.Nested(P(&(*v)[i]))
		if s.Err() == nil && s.Position() == before {
			s.Fail(ErrMalformed)
		}
	}
	if s.direction == reading && s.reader.err != nil {
		*v = (*v)[:0]
	}
}

// SerializeOptional serializes whether *v is nil and, if not, the value it points to. Use it for types that contain
// themselves. Reading allocates a new value.
func SerializeOptional[T any, P Pointer[T]](s *Serializer, v *P) {
	if s.probe != nil {
		probeOptional(s, v)
		return
	}
	present := *v != nil
	s.Bool(&present)
	if s.direction == reading {
		*v = nil
		if present {
			*v = P(new(T))
		}
	}
	if present {
		s.Nested(*v)
	}
}
