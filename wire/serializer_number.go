package wire

import (
	"math"
	"unicode/utf8"
)

// Bool serializes one byte, 0 or 1; another is ErrMalformed.
func (s *Serializer) Bool(v *bool) {
	switch s.direction {
	case reading:
		*v = s.reader.Bool()
	case writing:
		s.writer.Bool(*v)
	default:
		s.size += 1
	}
}

// Int8 serializes one byte, two's complement.
func (s *Serializer) Int8(v *int8) {
	switch s.direction {
	case reading:
		*v = s.reader.Int8()
	case writing:
		s.writer.Int8(*v)
	default:
		s.size += 1
	}
}

// Int16 serializes 2 bytes, two's complement.
func (s *Serializer) Int16(v *int16) {
	switch s.direction {
	case reading:
		*v = s.reader.Int16()
	case writing:
		s.writer.Int16(*v)
	default:
		s.size += 2
	}
}

// Int32 serializes 4 bytes, two's complement.
func (s *Serializer) Int32(v *int32) {
	switch s.direction {
	case reading:
		*v = s.reader.Int32()
	case writing:
		s.writer.Int32(*v)
	default:
		s.size += 4
	}
}

// Int64 serializes 8 bytes, two's complement.
func (s *Serializer) Int64(v *int64) {
	switch s.direction {
	case reading:
		*v = s.reader.Int64()
	case writing:
		s.writer.Int64(*v)
	default:
		s.size += 8
	}
}

// Uint8 serializes one byte.
func (s *Serializer) Uint8(v *uint8) {
	switch s.direction {
	case reading:
		*v = s.reader.Uint8()
	case writing:
		s.writer.Uint8(*v)
	default:
		s.size += 1
	}
}

// Uint16 serializes 2 bytes.
func (s *Serializer) Uint16(v *uint16) {
	switch s.direction {
	case reading:
		*v = s.reader.Uint16()
	case writing:
		s.writer.Uint16(*v)
	default:
		s.size += 2
	}
}

// Uint32 serializes 4 bytes.
func (s *Serializer) Uint32(v *uint32) {
	switch s.direction {
	case reading:
		*v = s.reader.Uint32()
	case writing:
		s.writer.Uint32(*v)
	default:
		s.size += 4
	}
}

// Uint64 serializes 8 bytes.
func (s *Serializer) Uint64(v *uint64) {
	switch s.direction {
	case reading:
		*v = s.reader.Uint64()
	case writing:
		s.writer.Uint64(*v)
	default:
		s.size += 8
	}
}

// Float32 serializes 4 bytes. Any value travels, also NaN: who applies it must judge it.
func (s *Serializer) Float32(v *float32) {
	switch s.direction {
	case reading:
		*v = s.reader.Float32()
	case writing:
		s.writer.Float32(*v)
	default:
		s.size += 4
	}
}

// Float64 serializes 8 bytes. Any value travels, also NaN: who applies it must judge it.
func (s *Serializer) Float64(v *float64) {
	switch s.direction {
	case reading:
		*v = s.reader.Float64()
	case writing:
		s.writer.Float64(*v)
	default:
		s.size += 8
	}
}

// FiniteFloat32 serializes 4 bytes. A NaN or an infinity is ErrNotFinite when it is to be written, and
// ErrMalformed when it is read: it can never come out of a read.
func (s *Serializer) FiniteFloat32(v *float32) {
	if s.direction != reading && !isFinite(math.Float32bits(*v)) {
		s.Fail(ErrNotFinite)
	}
	s.Float32(v)
	if s.direction == reading && !isFinite(math.Float32bits(*v)) {
		*v = 0
		s.Fail(ErrMalformed)
	}
}

// FiniteFloat64 is FiniteFloat32 for 8 bytes.
func (s *Serializer) FiniteFloat64(v *float64) {
	if s.direction != reading && *v-*v != 0 {
		s.Fail(ErrNotFinite)
	}
	s.Float64(v)
	if s.direction == reading && *v-*v != 0 {
		*v = 0
		s.Fail(ErrMalformed)
	}
}

// Rune serializes 4 bytes. What is no Unicode character, such as half a surrogate pair, is ErrMalformed.
func (s *Serializer) Rune(v *rune) {
	switch s.direction {
	case reading:
		*v = s.reader.Rune()
	case writing:
		s.writer.Rune(*v)
	default:
		s.measureRune(*v)
	}
}

// measureRune counts the bytes of a rune.
func (s *Serializer) measureRune(v rune) {
	if s.err == nil && !utf8.ValidRune(v) {
		s.err = ErrMalformed
	}
	s.size += 4
}

// PackedInt16 serializes 1 to 3 bytes, few for small magnitudes; 2 where packing is off.
func (s *Serializer) PackedInt16(v *int16) { SerializePacked(s, v) }

// PackedInt32 serializes 1 to 5 bytes, few for small magnitudes; 4 where packing is off.
func (s *Serializer) PackedInt32(v *int32) { SerializePacked(s, v) }

// PackedInt64 serializes 1 to 9 bytes, few for small magnitudes; 8 where packing is off.
func (s *Serializer) PackedInt64(v *int64) { SerializePacked(s, v) }

// PackedUint16 serializes 1 to 3 bytes, few for small magnitudes; 2 where packing is off.
func (s *Serializer) PackedUint16(v *uint16) { SerializePacked(s, v) }

// PackedUint32 serializes 1 to 5 bytes, few for small magnitudes; 4 where packing is off.
func (s *Serializer) PackedUint32(v *uint32) { SerializePacked(s, v) }

// PackedUint64 serializes 1 to 9 bytes, few for small magnitudes; 8 where packing is off.
func (s *Serializer) PackedUint64(v *uint64) { SerializePacked(s, v) }
