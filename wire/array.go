package wire

import (
	"encoding/binary"
	"math/bits"
	"reflect"
	"unicode/utf8"
)

// Two shapes of many values of one type: an array has a length that both ends know, and its elements
// follow each other without anything between; a slice is its count as a varint and then an array.

// Integer is every integer type, with every type made from one, such as enumerations. An int or uint
// travels as 8 bytes on every platform; one that the reader's platform cannot hold is malformed.
type Integer interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~int | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uint
}

// Fixed is every type that travels in a fixed number of bytes: booleans, integers, floats, and every type
// made from one.
type Fixed interface {
	~bool | Integer | ~float32 | ~float64
}

// isBool reports whether T is a boolean type.
func isBool[T Fixed]() bool { return sizeOf[T]() == 1 && reflect.TypeFor[T]().Kind() == reflect.Bool }

// wireSize returns the bytes that a T takes on the wire: those it takes in memory, but 8 for int and uint.
func wireSize[T Fixed]() int {
	if bits.UintSize == 32 {
		switch reflect.TypeFor[T]().Kind() {
		case reflect.Int, reflect.Uint:
			return 8
		}
	}
	return sizeOf[T]()
}

// littleEndian reports whether this machine keeps numbers in memory as they are on the wire.
func littleEndian() bool {
	return binary.NativeEndian.Uint16([]byte{1, 0}) == 1
}

// WriteArray appends the elements of v, and nothing that tells how many they are.
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

// ReadArray reads as many elements as v has into it. When it fails, v is all zeros.
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

// WriteSlice appends the count of v and then its elements. More than limit is ErrTooLong.
func WriteSlice[T Fixed](w *Writer, v []T, limit int) {
	w.Count(len(v), limit)
	WriteArray(w, v)
}

// ReadSlice reads what WriteSlice wrote into dst, from its start, and returns it; nil is a good dst. It
// grows dst only when it must, and only once it knows that the bytes for that many are there. When it
// fails, what it returns is empty.
func ReadSlice[T Fixed](r *Reader, dst []T, limit int) []T {
	dst = sized(dst, r.Count(limit, wireSize[T]()))
	ReadArray(r, dst)
	if r.err != nil {
		return dst[:0]
	}
	return dst
}

// sized returns a slice of n elements, in dst where it has room for them.
func sized[T any](dst []T, n int) []T {
	if n > cap(dst) {
		return make([]T, n)
	}
	return dst[:n]
}

// Count appends how many elements follow. More than limit, or less than none, is ErrTooLong.
func (w *Writer) Count(n, limit int) {
	if w.err == nil && (n < 0 || n > limit) {
		w.err = ErrTooLong
	}
	w.Varint(uint64(n))
}

// Count reads how many elements follow, each of which takes at least size bytes, or one where size is less
// than that. More than limit is ErrTooLong, more than the bytes that are left could hold is ErrTruncated:
// it is safe to allocate what Count returns.
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

// Rest returns the bytes that are not read yet, nil after an error.
func (r *Reader) Rest() []byte {
	if r.err != nil {
		return nil
	}
	return r.buf[r.off:len(r.buf):len(r.buf)]
}

// Rune appends 4 bytes. What is no Unicode character, such as half a surrogate pair, is ErrMalformed,
// because no reader would take it.
func (w *Writer) Rune(v rune) {
	if w.err == nil && !utf8.ValidRune(v) {
		w.err = ErrMalformed
	}
	w.Int32(v)
}

// Rune reads 4 bytes. What is no Unicode character is ErrMalformed.
func (r *Reader) Rune() rune {
	v := r.Int32()
	if !utf8.ValidRune(v) {
		r.err = ErrMalformed
		return 0
	}
	return v
}

// Runes appends the count of v and then each. More than limit is ErrTooLong; see Rune for the others.
func (w *Writer) Runes(v []rune, limit int) {
	w.Count(len(v), limit)
	for _, one := range v {
		w.Rune(one)
	}
}

// Runes reads what Writer.Runes wrote into dst, as ReadSlice does.
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

// Strings appends the count of v and then each string. More than limit strings, or one of more than each
// bytes, is ErrTooLong.
func (w *Writer) Strings(v []string, limit, each int) {
	w.Count(len(v), limit)
	for _, one := range v {
		w.String(one, each)
	}
}

// Strings reads what Writer.Strings wrote into dst, from its start, and returns it; nil is a good dst. It
// grows dst with the strings that are really there, whatever the count says.
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

// ByteSlices appends the count of v and then each as Bytes does. More than limit, or one of more than each
// bytes, is ErrTooLong.
func (w *Writer) ByteSlices(v [][]byte, limit, each int) {
	w.Count(len(v), limit)
	for _, one := range v {
		w.Bytes(one, each)
	}
}

// ByteSlices reads what Writer.ByteSlices wrote into dst, as Strings does. Each stays part of the reader's
// buffer, as with Bytes.
func (r *Reader) ByteSlices(dst [][]byte, limit, each int) [][]byte {
	dst = dst[:0]
	for range r.Count(limit, 1) {
		one := r.Bytes(each)
		if r.err != nil {
			return dst[:0]
		}
		dst = append(dst, one)
	}
	return dst
}
