package wire

import (
	"math"
	"unicode/utf8"
)

// MaxDepth is how many values may lie within each other. Deeper is ErrTooDeep, on both ends.
const MaxDepth = 64

// Serializable is a type that travels: its one method reads, writes and measures it, by handing its fields
// to the serializer in an order that is the same for all three:
//
//	func (m *Move) Serialize(s *wire.Serializer) {
//		s.Nested(&m.Position)
//		s.Bool(&m.SyncVelocity)
//		if m.SyncVelocity {
//			s.Nested(&m.Velocity)
//		}
//	}
//
// It has the receiver *T, and it must write at least one byte to be an element of SerializeEach. A struct
// that embeds a Serializable type has that type's method and sends nothing else: name such a field instead.
type Serializable interface {
	// Serialize reads, writes or measures the value, as the serializer says.
	Serialize(s *Serializer)
}

// direction is what a serializer does with the values that it is handed.
type direction uint8

const (
	measuring direction = iota
	reading
	writing
)

// Serializer reads, writes or measures values, by the same calls. Each call takes a pointer: reading sets
// the value, writing and measuring leave it alone.
//
// Its error is sticky. After the first, nothing is written, and every read of a number gives zero, of a
// bool false, of a string or slice an empty one, so that loops over what was read come to their end.
// What lies in a value that could not be read whole must not be used.
//
// Read, Write and Measure do it for a whole value, and are the ones to use; a Serializer is made for many
// of them, one after the other, and then allocates nothing. The zero value measures.
type Serializer struct {
	reader    Reader
	writer    Writer
	direction direction
	debug     bool // packing is off
	depth     int
	size      int   // measuring: bytes so far
	err       error // measuring
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

// Read reads v from the whole of b: bytes that are left over are ErrTrailing. The strings and byte slices
// of v are copies. v should be zero: what its Serialize skips, such as the fields behind a false condition,
// stays as it is. Slices with capacity are reused, so who keeps one that was read before copies it.
func (s *Serializer) Read(b []byte, v Serializable) error {
	s.start(NewReadingSerializer(b))
	s.Nested(v)
	if s.reader.err == nil && !s.reader.Done() {
		s.reader.err = ErrTrailing
	}
	return s.reader.err
}

// Write writes v into buf and returns how many bytes it took. A value of exactly len(buf) bytes fits.
func (s *Serializer) Write(buf []byte, v Serializable) (n int, err error) {
	s.start(NewWritingSerializer(buf))
	s.Nested(v)
	if s.writer.err != nil {
		return 0, s.writer.err
	}
	return s.writer.Position(), nil
}

// Measure returns how many bytes Write would take for v.
func (s *Serializer) Measure(v Serializable) (n int, err error) {
	s.start(NewMeasuringSerializer())
	s.Nested(v)
	if s.err != nil {
		return 0, s.err
	}
	return s.size, nil
}

// DebugText is what a protocol's description says where the packing of its serializers is off.
const DebugText = "serializers{unpacked}"

// start makes s a fresh serializer, of the same encoding.
func (s *Serializer) start(fresh Serializer) {
	fresh.debug = s.debug
	*s = fresh
}

// Debug turns packing off, also for what is read, written and measured later: packed integers travel in
// their fixed form, so that a message can be read in a dump of bytes, and shown by ViewValue where its
// fields are those of a type. Counts, strings and everything else stay as they are.
//
// Nothing on the wire says so. Both ends must do it, and a protocol that does must have DebugText in what
// its hash is made of, as Plan.Describe has its own word for rows.
func (s *Serializer) Debug() { s.debug = true }

// Debugging reports whether packing is off.
func (s *Serializer) Debugging() bool { return s.debug }

// IsReading reports whether values are set.
func (s *Serializer) IsReading() bool { return s.direction == reading }

// IsWriting reports whether values are written.
func (s *Serializer) IsWriting() bool { return s.direction == writing }

// IsMeasuring reports whether the bytes of values are counted.
func (s *Serializer) IsMeasuring() bool { return s.direction == measuring }

// Position returns how many bytes were read, written or counted.
func (s *Serializer) Position() int {
	switch s.direction {
	case reading:
		return s.reader.Position()
	case writing:
		return s.writer.Position()
	}
	return s.size
}

// Remaining returns how many bytes are left to read, or to be written; none after an error. Measuring has
// no end.
func (s *Serializer) Remaining() int {
	switch s.direction {
	case reading:
		return s.reader.Remaining()
	case writing:
		if s.writer.err != nil {
			return 0
		}
		return len(s.writer.buf) - s.writer.off
	}
	return math.MaxInt
}

// Raw returns the bytes at the position, for debuggers and logs: those not read yet or, writing, those
// written so far. Measuring has none. ViewValue shows them as a type.
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

// Done reports whether nothing was wrong and, reading, whether everything was read.
func (s *Serializer) Done() bool {
	return s.Err() == nil && (s.direction != reading || s.reader.Done())
}

// Fail makes err the serializer's error unless it has one: for a Serialize that finds a value it cannot
// accept. A nil err panics.
func (s *Serializer) Fail(err error) {
	if err == nil {
		panic("wire: fail without an error")
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

// Nested hands s to v, one level deeper. Values within values go through here, not by calling their
// Serialize, so that no bytes from outside and no circle of pointers can nest without end. After an error
// it does nothing.
func (s *Serializer) Nested(v Serializable) {
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

// Count serializes how many elements follow, each of which takes at least size bytes, or one where size is
// less than that. Reading, it is safe to allocate what *n then says: see Reader.Count.
func (s *Serializer) Count(n *int, limit, size int) { s.count(n, limit, size, addressOf(n)) }

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

// checkLength fails with a *LengthError if n is more than limit, or less than none. at is the address of the value, see LengthError.Find.
func (s *Serializer) checkLength(n, limit int, at uintptr) bool {
	if n >= 0 && n <= limit {
		return true
	}
	s.Fail(&LengthError{Length: n, Limit: limit, at: at})
	return false
}

// measureCount counts the bytes of a count, that of the value at an address.
func (s *Serializer) measureCount(n, limit int, at uintptr) {
	if s.checkLength(n, limit, at) {
		s.size += VarintSize(uint64(n))
	}
}

// Bytes serializes a byte slice of at most limit bytes. Reading copies it, into *v where there is room.
func (s *Serializer) Bytes(v *[]byte, limit int) {
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

// String serializes a string of at most limit bytes. What is not UTF-8 is ErrMalformed.
func (s *Serializer) String(v *string, limit int) {
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

// measureString counts the bytes of the string at an address.
func (s *Serializer) measureString(v string, limit int, at uintptr) {
	s.measureCount(len(v), limit, at)
	if s.err == nil && !utf8.ValidString(v) {
		s.err = ErrMalformed
	}
	s.size += len(v)
}
