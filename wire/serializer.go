package wire

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// MaxDepth is the maximum nesting of values. Deeper nesting is ErrTooDeep, on both ends.
const MaxDepth = 64

// Serializable is a type with a Serialize method, which reads, writes and measures its values. The method passes its
// fields to the serializer in one order for all three:
//
//	func (m *Move) Serialize(s *wire.Serializer) {
//		s.Nested(&m.Position)
//		s.Bool(&m.SyncVelocity)
//		if m.SyncVelocity {
//			s.Nested(&m.Velocity)
//		}
//	}
//
// It has the receiver *T. An element of SerializeEach must write at least one byte. A struct that embeds a Serializable
// type inherits its method and would send nothing else: use a named field instead.
type Serializable interface {
	// Serialize reads, writes or measures the value, depending on the serializer.
	Serialize(s *Serializer)
}

// direction is the mode of a serializer: read, write or measure.
type direction uint8

const (
	measuring direction = iota
	reading
	writing
)

// Serializer reads, writes or measures values, with the same calls. Each call takes a pointer: reading sets the value;
// writing and measuring do not change it.
//
// Its error is sticky. After the first, nothing is written, and every read gives zero, false or an empty string or
// slice, so that loops over read counts end. Do not use a partly read value.
//
// Read, Write and Measure process one whole value. Reuse a Serializer for many values: it then allocates nothing. The
// zero value measures.
type Serializer struct {
	reader    Reader
	writer    Writer
	direction direction
	debug     bool // packing is off
	depth     int
	size      int    // measuring: bytes so far
	err       error  // measuring
	probe     *probe // stands in for the bytes, see Layout
}

// NewReadingSerializer returns a serializer that reads b, which must not change while it is read.
func NewReadingSerializer(b []byte) Serializer {
	return Serializer{reader: NewReader(b), direction: reading}
}

// NewWritingSerializer returns a serializer that writes into buf, and never past it.
func NewWritingSerializer(buf []byte) Serializer {
	return Serializer{writer: NewWriter(buf), direction: writing}
}

// NewMeasuringSerializer returns a serializer that counts the bytes that writing would take.
func NewMeasuringSerializer() Serializer { return Serializer{direction: measuring} }

// Read reads v from all of b; remaining bytes are ErrTrailing. The strings and byte slices of v are copies. v should be
// zero: fields that Serialize skips, such as those behind a false condition, keep their values. Slices with capacity
// are reused: copy a slice that you keep beyond the next Read into v.
func (s *Serializer) Read(b []byte, v Serializable) error {
	s.start(NewReadingSerializer(b))
	s.Nested(v)
	if s.reader.err == nil && !s.reader.Done() {
		s.reader.err = ErrTrailing
	}
	return s.reader.err
}

// Write writes v into buf and returns the number of bytes. A value of exactly len(buf) bytes fits.
func (s *Serializer) Write(buf []byte, v Serializable) (n int, err error) {
	s.start(NewWritingSerializer(buf))
	s.Nested(v)
	if s.writer.err != nil {
		return 0, s.writer.err
	}
	return s.writer.Position(), nil
}

// Measure returns the number of bytes that Write needs for v.
func (s *Serializer) Measure(v Serializable) (n int, err error) {
	s.start(NewMeasuringSerializer())
	s.Nested(v)
	if s.err != nil {
		return 0, s.err
	}
	return s.size, nil
}

// start resets s to fresh, and keeps the encoding.
func (s *Serializer) start(fresh Serializer) {
	fresh.debug = s.debug
	*s = fresh
}

// Debug turns packing off, for all later values: packed integers have their fixed form, so that a message is readable
// in a dump of bytes. Counts, strings and everything else do not change.
//
// The bytes do not tell which encoding was used. Both ends must call Debug.
func (s *Serializer) Debug() { s.debug = true }

// Debugging reports whether packing is off.
func (s *Serializer) Debugging() bool { return s.debug }

// IsReading reports whether s reads.
func (s *Serializer) IsReading() bool { return s.direction == reading }

// IsWriting reports whether s writes.
func (s *Serializer) IsWriting() bool { return s.direction == writing }

// IsMeasuring reports whether s measures.
func (s *Serializer) IsMeasuring() bool { return s.direction == measuring }

// Position returns the number of bytes read, written or measured.
func (s *Serializer) Position() int {
	if s.probe != nil {
		return len(s.probe.calls)
	}
	switch s.direction {
	case reading:
		return s.reader.Position()
	case writing:
		return s.writer.Position()
	}
	return s.size
}

// Remaining returns the number of bytes left to read or to write; 0 after an error. Measuring has no limit.
func (s *Serializer) Remaining() int {
	switch s.direction {
	case reading:
		return s.reader.Remaining() // 0 without bytes, see Layout
	case writing:
		if s.writer.err != nil {
			return 0
		}
		return len(s.writer.buf) - s.writer.off
	}
	return math.MaxInt
}

// Raw returns bytes for debuggers and logs: the unread ones or, when writing, the written ones. Measuring has none.
func (s *Serializer) Raw() []byte {
	switch s.direction {
	case reading:
		return s.reader.Rest()
	case writing:
		return s.writer.Written()
	}
	return nil
}

// Err returns the first error.
func (s *Serializer) Err() error {
	switch s.direction {
	case reading:
		return s.reader.err
	case writing:
		return s.writer.err
	}
	return s.err
}

// Done reports whether there is no error and, when reading, everything was read.
func (s *Serializer) Done() bool {
	return s.Err() == nil && (s.direction != reading || s.reader.Done())
}

// Fail sets the serializer's error, if it has none yet: for a Serialize method that finds an unacceptable value. A nil
// err panics.
func (s *Serializer) Fail(err error) {
	if err == nil {
		panic("wire: fail without an error")
	}
	if s.probe != nil {
		s.probe.failed = true // and the run goes on, so that the calls after it show
		return
	}
	at := &s.err
	switch s.direction {
	case reading:
		at = &s.reader.err
	case writing:
		at = &s.writer.err
	}
	if *at == nil {
		*at = err
	}
}

// Nested serializes v one level deeper. Use it for nested values instead of calling their Serialize: it bounds the
// depth for untrusted bytes and for cycles of pointers. After an error it does nothing.
func (s *Serializer) Nested(v Serializable) {
	if s.probe != nil {
		probeNested(s, v)
		return
	}
	switch {
	case s.Err() != nil:
	case s.depth >= MaxDepth:
		s.Fail(ErrTooDeep)
	default:
		s.depth++
		v.Serialize(s)
		s.depth--
	}
}

// Count serializes the number of elements that follow. size is the minimum size of an element in bytes; less than 1
// counts as 1. After reading, *n elements may be allocated: see Reader.Count.
func (s *Serializer) Count(n *int, limit, size int) {
	if s.probe != nil {
		*n = int(takeProbed(s, probed{kind: sliceKind(limit, ""), tries: tryCount}, addressOf(n), int64(*n)))
		return
	}
	s.count(n, limit, size, addressOf(n))
}

// count is Count for the elements of the value at an address.
func (s *Serializer) count(n *int, limit, size int, at uintptr) {
	switch s.direction {
	case reading:
		*n = s.reader.Count(limit, size)
	case writing:
		s.checkLength(*n, limit, at)
		s.writer.Count(*n, limit)
	default:
		s.measureCount(*n, limit, at)
	}
}

// checkLength fails with a *LengthError if n is above limit or negative. at is the address of the value, see
// LengthError.Find.
func (s *Serializer) checkLength(n, limit int, at uintptr) bool {
	if n >= 0 && n <= limit {
		return true
	}
	s.Fail(&LengthError{Length: n, Limit: limit, at: at})
	return false
}

// measureCount adds the size of the count of the value at an address.
func (s *Serializer) measureCount(n, limit int, at uintptr) {
	if s.checkLength(n, limit, at) {
		s.size += VarintSize(uint64(n))
	}
}

// Bytes serializes a byte slice of at most limit bytes. Reading copies it, into *v if there is room.
func (s *Serializer) Bytes(v *[]byte, limit int) {
	if s.probe != nil {
		probeSlice(s, v, limit, "u8")
		return
	}
	switch s.direction {
	case reading:
		*v = append((*v)[:0], s.reader.Bytes(limit)...)
	case writing:
		s.checkLength(len(*v), limit, addressOf(v))
		s.writer.Bytes(*v, limit)
	default:
		s.measureCount(len(*v), limit, addressOf(v))
		s.size += len(*v)
	}
}

// String serializes a string of at most limit bytes. Invalid UTF-8 is ErrMalformed.
func (s *Serializer) String(v *string, limit int) {
	if s.probe != nil {
		probeText(s, v, limit)
		return
	}
	switch s.direction {
	case reading:
		*v = s.reader.String(limit)
	case writing:
		s.checkLength(len(*v), limit, addressOf(v))
		s.writer.String(*v, limit)
	default:
		s.measureString(*v, limit, addressOf(v))
	}
}

// measureString adds the size of the string at an address.
func (s *Serializer) measureString(v string, limit int, at uintptr) {
	s.measureCount(len(v), limit, at)
	if s.err == nil && !utf8.ValidString(v) {
		s.err = ErrMalformed
	}
	s.size += len(v)
}

// Bool serializes one byte, 0 or 1; other values are ErrMalformed.
func (s *Serializer) Bool(v *bool) {
	if s.probe != nil {
		probeBool(s, v)
		return
	}
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
	if s.probe != nil {
		probeInteger(s, v, "i8")
		return
	}
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
	if s.probe != nil {
		probeInteger(s, v, "i16")
		return
	}
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
	if s.probe != nil {
		probeInteger(s, v, "i32")
		return
	}
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
	if s.probe != nil {
		probeInteger(s, v, "i64")
		return
	}
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
	if s.probe != nil {
		probeInteger(s, v, "u8")
		return
	}
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
	if s.probe != nil {
		probeInteger(s, v, "u16")
		return
	}
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
	if s.probe != nil {
		probeInteger(s, v, "u32")
		return
	}
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
	if s.probe != nil {
		probeInteger(s, v, "u64")
		return
	}
	switch s.direction {
	case reading:
		*v = s.reader.Uint64()
	case writing:
		s.writer.Uint64(*v)
	default:
		s.size += 8
	}
}

// Float32 serializes 4 bytes. Any value is sent, also NaN: the receiver must check it.
func (s *Serializer) Float32(v *float32) {
	if s.probe != nil {
		probeFloat(s, v, "f32any")
		return
	}
	switch s.direction {
	case reading:
		*v = s.reader.Float32()
	case writing:
		s.writer.Float32(*v)
	default:
		s.size += 4
	}
}

// Float64 serializes 8 bytes. Any value is sent, also NaN: the receiver must check it.
func (s *Serializer) Float64(v *float64) {
	if s.probe != nil {
		probeFloat(s, v, "f64any")
		return
	}
	switch s.direction {
	case reading:
		*v = s.reader.Float64()
	case writing:
		s.writer.Float64(*v)
	default:
		s.size += 8
	}
}

// FiniteFloat32 serializes 4 bytes. A NaN or an infinity is ErrNotFinite when written and ErrMalformed when read; a
// read never returns it.
func (s *Serializer) FiniteFloat32(v *float32) {
	if s.probe != nil {
		probeFloat(s, v, "f32")
		return
	}
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
	if s.probe != nil {
		probeFloat(s, v, "f64")
		return
	}
	if s.direction != reading && *v-*v != 0 {
		s.Fail(ErrNotFinite)
	}
	s.Float64(v)
	if s.direction == reading && *v-*v != 0 {
		*v = 0
		s.Fail(ErrMalformed)
	}
}

// Rune serializes 4 bytes. A number other than a Unicode character, such as half a surrogate pair, is ErrMalformed.
func (s *Serializer) Rune(v *rune) {
	if s.probe != nil {
		probeInteger(s, v, "rune")
		return
	}
	switch s.direction {
	case reading:
		*v = s.reader.Rune()
	case writing:
		s.writer.Rune(*v)
	default:
		s.measureRune(*v)
	}
}

// measureRune adds the size of a rune.
func (s *Serializer) measureRune(v rune) {
	if s.err == nil && !utf8.ValidRune(v) {
		s.err = ErrMalformed
	}
	s.size += 4
}

// PackedInt16 serializes 1 to 3 bytes, few for small magnitudes; 2 if packing is off.
func (s *Serializer) PackedInt16(v *int16) { SerializePacked(s, v) }

// PackedInt32 serializes 1 to 5 bytes, few for small magnitudes; 4 if packing is off.
func (s *Serializer) PackedInt32(v *int32) { SerializePacked(s, v) }

// PackedInt64 serializes 1 to 9 bytes, few for small magnitudes; 8 if packing is off.
func (s *Serializer) PackedInt64(v *int64) { SerializePacked(s, v) }

// PackedUint16 serializes 1 to 3 bytes, few for small magnitudes; 2 if packing is off.
func (s *Serializer) PackedUint16(v *uint16) { SerializePacked(s, v) }

// PackedUint32 serializes 1 to 5 bytes, few for small magnitudes; 4 if packing is off.
func (s *Serializer) PackedUint32(v *uint32) { SerializePacked(s, v) }

// PackedUint64 serializes 1 to 9 bytes, few for small magnitudes; 8 if packing is off.
func (s *Serializer) PackedUint64(v *uint64) { SerializePacked(s, v) }

// Runes serializes at most limit runes.
func (s *Serializer) Runes(v *[]rune, limit int) {
	if s.probe != nil {
		probeSlice(s, v, limit, "rune")
		return
	}
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
	if s.probe != nil {
		probeSlice(s, v, limit, "string"+strconv.Itoa(each))
		return
	}
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

// ByteSlices serializes at most limit byte slices of at most each bytes. Reading copies each, into those of *v if there
// is room.
func (s *Serializer) ByteSlices(v *[][]byte, limit, each int) {
	if s.probe != nil {
		probeSlice(s, v, limit, sliceKind(each, "u8"))
		return
	}
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
