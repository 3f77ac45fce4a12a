package wire

// These are functions and not methods because methods have no type parameters.

// SerializeEnum serializes an integer of any type, such as an enumeration, in the bytes of its underlying
// type. Reading gives any number of that type: use SerializeEnumWithin where others would do harm.
func SerializeEnum[T Integer](s *Serializer, v *T) { SerializeArray(s, only(v)) }

// SerializeEnumWithin is SerializeEnum for values from low to high. Others are ErrMalformed, and reading
// them gives low.
func SerializeEnumWithin[T Integer](s *Serializer, v *T, low, high T) {
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

// SerializePacked serializes an integer of any type as a varint, 1 to 9 bytes; as SerializeEnum does where
// packing is off.
func SerializePacked[T Packable](s *Serializer, v *T) {
	if s.debug {
		SerializeEnum(s, v)
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

// SerializeArray serializes the elements of v, whose number both ends know: array[:] for an array.
func SerializeArray[T Fixed](s *Serializer, v []T) {
	switch s.direction {
	case reading:
		ReadArray(&s.reader, v)
	case writing:
		WriteArray(&s.writer, v)
	default:
		s.size += len(v) * wireSize[T]()
	}
}

// SerializeSlice serializes at most limit elements. Reading reuses *v where there is room, and allocates
// only once the bytes are known to be there.
func SerializeSlice[T Fixed](s *Serializer, v *[]T, limit int) {
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

// SerializePackedSlice serializes at most limit integers, each as a varint; as SerializeSlice does where
// packing is off.
func SerializePackedSlice[T Packable](s *Serializer, v *[]T, limit int) {
	if s.debug {
		SerializeSlice(s, v, limit)
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

// SerializeValue serializes the whole of *v by its codec.
func SerializeValue[T any](s *Serializer, c *Value[T], v *T) {
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

// SerializeValues serializes at most limit values by their codec.
func SerializeValues[T any](s *Serializer, c *Value[T], v *[]T, limit int) {
	switch s.direction {
	case reading:
		*v = ReadValues(&s.reader, c, *v, limit)
	case writing:
		s.checkLength(len(*v), limit, addressOf(v))
		WriteValues(&s.writer, c, *v, limit)
	default:
		c.check()
		s.measureCount(len(*v), limit, addressOf(v))
		s.size += len(*v) * c.size
	}
}

// Pointer is a *T that is Serializable. It is inferred, never spelled.
type Pointer[T any] interface {
	*T
	Serializable
}

// SerializeEach serializes at most limit elements that serialize themselves. Each must take at least one
// byte, or it is ErrMalformed: a count that costs nothing could not be believed. Reading sets each element
// to zero first, and grows *v with the elements that are really there, whatever the count says.
func SerializeEach[T any, P Pointer[T]](s *Serializer, v *[]T, limit int) {
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

// SerializeOptional serializes whether *v is nil and, if it is not, what it points to: the way to serialize
// types that contain themselves. Reading allocates it new.
func SerializeOptional[T any, P Pointer[T]](s *Serializer, v *P) {
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

// Runes serializes at most limit runes.
func (s *Serializer) Runes(v *[]rune, limit int) {
	switch s.direction {
	case reading:
		*v = s.reader.Runes(*v, limit)
	case writing:
		s.checkLength(len(*v), limit, addressOf(v))
		s.writer.Runes(*v, limit)
	default:
		s.measureCount(len(*v), limit, addressOf(v))
		for _, one := range *v {
			s.measureRune(one)
		}
	}
}

// Strings serializes at most limit strings of at most each bytes.
func (s *Serializer) Strings(v *[]string, limit, each int) {
	switch s.direction {
	case reading:
		*v = s.reader.Strings(*v, limit, each)
	case writing:
		s.checkLength(len(*v), limit, addressOf(v))
		for i := range *v {
			s.checkLength(len((*v)[i]), each, addressOf(&(*v)[i]))
		}
		s.writer.Strings(*v, limit, each)
	default:
		s.measureCount(len(*v), limit, addressOf(v))
		for i := range *v {
			s.measureString((*v)[i], each, addressOf(&(*v)[i]))
		}
	}
}

// ByteSlices serializes at most limit byte slices of at most each bytes. Reading copies each, into those of
// *v where there is room.
func (s *Serializer) ByteSlices(v *[][]byte, limit, each int) {
	n := len(*v)
	s.count(&n, limit, 1, addressOf(v))
	if s.direction == reading {
		*v = (*v)[:0]
	}
	for i := 0; i < n && s.Err() == nil; i++ {
		if s.direction == reading && i < cap(*v) {
			*v = (*v)[:i+1]
		} else if s.direction == reading {
			*v = append(*v, nil)
		}
		s.Bytes(&(*v)[i], each)
	}
	if s.direction == reading && s.reader.err != nil {
		*v = (*v)[:0]
	}
}
