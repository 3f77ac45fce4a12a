package wire

import (
	"encoding/binary"
	"math/bits"
	"reflect"
	"unicode/utf8"
)

// Two forms of many values of one type: an array has a length that both ends know, and its elements are adjacent; a
// slice is a count (a varint) and then an array.

// Integer is every integer type, including named ones such as enumerations. An int or uint is sent as 8 bytes on every
// platform; a number too large for the reader's platform is malformed.
type Integer interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~int | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uint
}

// Fixed is every type with a fixed size on the wire: booleans, integers, floats, and named types of these.
type Fixed interface {
	~bool | Integer | ~float32 | ~float64
}

// isBool reports whether T is a boolean type.
func isBool[T Fixed]() bool { return sizeOf[T]() == 1 && reflect.TypeFor[T]().Kind() == reflect.Bool }

// wireSize returns the size of a T on the wire: its size in memory, but 8 for int and uint.
func wireSize[T Fixed]() int {
	if bits.UintSize == 32 {
		switch reflect.TypeFor[T]().Kind() {
		case reflect.Int, reflect.Uint:
			return 8
		}
	}
	return sizeOf[T]()
}

// littleEndian reports whether this machine's byte order is that of the wire.
func littleEndian() bool {
	return binary.NativeEndian.Uint16([]byte{1, 0}) == 1
}

// WriteArray appends the elements of v, without their number.
func WriteArray[T Fixed](w *Writer, v []T) {
	size := wireSize[T]()
	if w.err == nil && len(v) > (len(w.buf)-w.off)/size {
		w.err = ErrOverflow
	}
	if w.err != nil {
		return
	}
	b := w.take(len(v) * size)
	if littleEndian() && size == sizeOf[T]() {
		copy(b, memoryOf(v))
		return
	}
	storeNumbers(b, memoryOf(v), shape{size: sizeOf[T](), wire: size, big: !littleEndian(), signed: reflect.TypeFor[T]().Kind() == reflect.Int})
}

// ReadArray reads len(v) elements into v. If it fails, v is all zeros.
func ReadArray[T Fixed](r *Reader, v []T) {
	size := wireSize[T]()
	if r.err == nil && len(v) > (len(r.buf)-r.off)/size {
		r.err = ErrTruncated
	}
	if r.err != nil {
		clear(v)
		return
	}
	b, ok := r.take(len(v)*size), true
	switch {
	case isBool[T]() && !areBools(b):
		ok = false
	case littleEndian() && size == sizeOf[T]():
		copy(memoryOf(v), b)
	default:
		ok = loadNumbers(memoryOf(v), b, shape{size: sizeOf[T](), wire: size, big: !littleEndian(), signed: reflect.TypeFor[T]().Kind() == reflect.Int})
	}
	if !ok {
		r.err = ErrMalformed
		clear(v)
	}
}

// WriteSlice appends the length of v and then its elements. A length above limit is ErrTooLong.
func WriteSlice[T Fixed](w *Writer, v []T, limit int) {
	w.Count(len(v), limit)
	WriteArray(w, v)
}

// ReadSlice reads a slice of WriteSlice into dst, from its start, and returns it; dst may be nil. It grows dst only if
// needed, and only after it has checked that the bytes exist. If it fails, the result is empty.
func ReadSlice[T Fixed](r *Reader, dst []T, limit int) []T {
	dst = sized(dst, r.Count(limit, wireSize[T]()))
	ReadArray(r, dst)
	if r.err != nil {
		return dst[:0]
	}
	return dst
}

// sized returns a slice of n elements, in dst if it has room.
func sized[T any](dst []T, n int) []T {
	if n > cap(dst) {
		return make([]T, n)
	}
	return dst[:n]
}

// Count appends the number of elements that follow. A number above limit or below 0 is ErrTooLong.
func (w *Writer) Count(n, limit int) {
	if w.err == nil && (n < 0 || n > limit) {
		w.err = ErrTooLong
	}
	w.Varint(uint64(n))
}

// Count reads the number of elements that follow. size is the minimum size of an element in bytes; less than 1 counts
// as 1. A number above limit is ErrTooLong. One that exceeds the remaining bytes is ErrTruncated, so that the caller
// may allocate the result.
func (r *Reader) Count(limit, size int) int {
	n := r.Varint()
	if r.err == nil && n > uint64(max(limit, 0)) {
		r.err = ErrTooLong
	}
	if r.err == nil && n > uint64((len(r.buf)-r.off)/max(size, 1)) {
		r.err = ErrTruncated
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

// Rest returns the unread bytes, nil after an error.
func (r *Reader) Rest() []byte {
	if r.err != nil {
		return nil
	}
	return r.buf[r.off:len(r.buf):len(r.buf)]
}

// Rune appends 4 bytes. A number other than a Unicode character, such as half a surrogate pair, is ErrMalformed,
// because a reader would refuse it.
func (w *Writer) Rune(v rune) {
	if w.err == nil && !utf8.ValidRune(v) {
		w.err = ErrMalformed
	}
	w.Int32(v)
}

// Rune reads 4 bytes. A number other than a Unicode character is ErrMalformed.
func (r *Reader) Rune() rune {
	v := r.Int32()
	if !utf8.ValidRune(v) {
		r.err = ErrMalformed
		return 0
	}
	return v
}

// Runes appends the length of v and then each rune, as Rune does. A length above limit is ErrTooLong.
func (w *Writer) Runes(v []rune, limit int) {
	w.Count(len(v), limit)
	for _, one := range v {
		w.Rune(one)
	}
}

// Runes reads a slice of Writer.Runes into dst, as ReadSlice does.
func (r *Reader) Runes(dst []rune, limit int) []rune {
	dst = sized(dst, r.Count(limit, 4))
	for i := range dst {
		dst[i] = r.Rune()
	}
	if r.err != nil {
		return dst[:0]
	}
	return dst
}

// Strings appends the length of v and then each string. More than limit strings, or a string of more than each bytes,
// is ErrTooLong.
func (w *Writer) Strings(v []string, limit, each int) {
	w.Count(len(v), limit)
	for _, one := range v {
		w.String(one, each)
	}
}

// Strings reads a slice of Writer.Strings into dst, from its start, and returns it; dst may be nil. It grows dst with
// the strings that exist, whatever the count claims.
func (r *Reader) Strings(dst []string, limit, each int) []string {
	dst = dst[:0]
	for range r.Count(limit, 1) {
		one := r.String(each)
		if r.err != nil {
			return dst[:0]
		}
		dst = append(dst, one)
	}
	return dst
}

// Packable is every integer type with a packed form, including named ones. Packed integers are varints; signed ones are
// first mapped to their zigzag form. Small magnitudes take one byte, the largest one more than the fixed form. A number
// outside the type that is read is malformed. The packed form of an int or uint does not
// depend on the platform; numbers too large for the reader's platform are malformed.
type Packable interface {
	~int16 | ~int32 | ~int64 | ~int | ~uint16 | ~uint32 | ~uint64 | ~uint
}

// VarintSize returns the length of v as a varint, 1 to 9 bytes.
func VarintSize(v uint64) int {
	switch {
	case v < varint2:
		return 1
	case v < varint3:
		return 2
	case v < varint4:
		return 3
	}
	return 1 + (bits.Len64(v)+7)/8
}

// hasSign reports whether T is a signed type.
func hasSign[T Packable | Integer]() bool {
	var zero T
	return zero-1 < zero
}

// packed returns the number whose varint is the packed form of v.
func packed[T Packable](v T) uint64 {
	if hasSign[T]() {
		return Zigzag64(int64(v))
	}
	return uint64(v)
}

// unpacked is the inverse of packed; ok is false for numbers outside T.
func unpacked[T Packable](u uint64) (v T, ok bool) {
	if hasSign[T]() {
		wide := Unzigzag64(u)
		return T(wide), int64(T(wide)) == wide
	}
	return T(u), uint64(T(u)) == u
}

// WritePacked appends v in its packed form.
func WritePacked[T Packable](w *Writer, v T) { w.Varint(packed(v)) }

// ReadPacked reads a packed T; a number outside T is ErrMalformed.
func ReadPacked[T Packable](r *Reader) T {
	v, ok := unpacked[T](r.Varint())
	if !ok {
		r.err = ErrMalformed
		return 0
	}
	return v
}

// WritePackedSlice appends the length of v and then each element in its packed form. A length above limit is
// ErrTooLong.
func WritePackedSlice[T Packable](w *Writer, v []T, limit int) {
	w.Count(len(v), limit)
	for _, one := range v {
		w.Varint(packed(one))
	}
}

// ReadPackedSlice reads a slice of WritePackedSlice into dst, from its start, and returns it; dst may be nil. It grows
// dst only if needed, and only after it has checked that the bytes exist.
func ReadPackedSlice[T Packable](r *Reader, dst []T, limit int) []T {
	n := r.Count(limit, 1)
	dst = sized(dst, n)
	for i := range dst {
		dst[i] = ReadPacked[T](r)
	}
	if r.err != nil {
		return dst[:0]
	}
	return dst
}

// shape describes how numbers are stored in memory and on the wire. It is needed on big-endian machines and those with a
// 4-byte int; elsewhere memory is sent as it is.
type shape struct {
	size   int  // bytes in memory: 1, 2, 4, 8
	wire   int  // bytes on the wire, at least size
	big    bool // big-endian in memory
	signed bool // sign-extended on the wire
}

// load returns the number at the start of b, sign-extended if signed.
func (s shape) load(b []byte) (v uint64) {
	for i := range s.size {
		at := i
		if s.big {
			at = s.size - 1 - i
		}
		v |= uint64(b[at]) << (8 * i)
	}
	if unused := 64 - 8*uint(s.size); s.signed {
		v = uint64(int64(v<<unused) >> unused)
	}
	return v
}

// store is the inverse of load.
func (s shape) store(b []byte, v uint64) {
	for i := range s.size {
		at := i
		if s.big {
			at = s.size - 1 - i
		}
		b[at] = byte(v >> (8 * i))
	}
}

// storeNumbers converts numbers from memory to dst, which has room for them.
func storeNumbers(dst, memory []byte, s shape) {
	var form [8]byte
	for ; len(memory) > 0; memory, dst = memory[s.size:], dst[s.wire:] {
		binary.LittleEndian.PutUint64(form[:], s.load(memory))
		copy(dst[:s.wire], form[:])
	}
}

// loadNumbers converts numbers from the wire to memory, which has room for them. It stops and returns false at a number
// that is too large for memory.
func loadNumbers(memory, src []byte, s shape) bool {
	for ; len(memory) > 0; memory, src = memory[s.size:], src[s.wire:] {
		var form [8]byte
		copy(form[:], src[:s.wire])
		v := binary.LittleEndian.Uint64(form[:])
		s.store(memory, v)
		if s.wire > s.size && s.load(memory) != v {
			return false
		}
	}
	return true
}

// areBools reports whether each byte is 0 or 1.
func areBools(b []byte) bool {
	for _, one := range b {
		if one > 1 {
			return false
		}
	}
	return true
}
