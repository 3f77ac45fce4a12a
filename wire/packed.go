package wire

import (
	"math"
	"math/bits"
)

// Packed integers are varints, of the zigzag form where they have a sign: small magnitudes take one byte,
// the largest one more than the fixed form. Of each width only its own numbers are legal: a reader of 16
// bits takes 65535 and calls 65536 malformed.

// Packable is every integer type that has a packed form, with every type made from one. An int or uint
// travels whatever its size here; where it is smaller, numbers that do not fit are malformed.
type Packable interface {
	~int16 | ~int32 | ~int64 | ~int | ~uint16 | ~uint32 | ~uint64 | ~uint
}

// VarintSize returns how many bytes AppendVarint appends for v, 1 to 9.
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

// PackedUint16 appends v in 1 to 3 bytes.
func (w *Writer) PackedUint16(v uint16) { w.Varint(uint64(v)) }

// PackedUint32 appends v in 1 to 5 bytes.
func (w *Writer) PackedUint32(v uint32) { w.Varint(uint64(v)) }

// PackedUint64 appends v in 1 to 9 bytes.
func (w *Writer) PackedUint64(v uint64) { w.Varint(v) }

// PackedInt16 appends v in 1 to 3 bytes.
func (w *Writer) PackedInt16(v int16) { w.Zigzag(int64(v)) }

// PackedInt32 appends v in 1 to 5 bytes.
func (w *Writer) PackedInt32(v int32) { w.Zigzag(int64(v)) }

// PackedInt64 appends v in 1 to 9 bytes.
func (w *Writer) PackedInt64(v int64) { w.Zigzag(v) }

// narrow reads a varint of at most limit; more is ErrMalformed.
func (r *Reader) narrow(limit uint64) uint64 {
	v := r.Varint()
	if v > limit {
		r.err = ErrMalformed
		return 0
	}
	return v
}

// PackedUint16 reads 1 to 3 bytes.
func (r *Reader) PackedUint16() uint16 { return uint16(r.narrow(math.MaxUint16)) }

// PackedUint32 reads 1 to 5 bytes.
func (r *Reader) PackedUint32() uint32 { return uint32(r.narrow(math.MaxUint32)) }

// PackedUint64 reads 1 to 9 bytes.
func (r *Reader) PackedUint64() uint64 { return r.Varint() }

// PackedInt16 reads 1 to 3 bytes.
func (r *Reader) PackedInt16() int16 { return int16(Unzigzag64(r.narrow(math.MaxUint16))) }

// PackedInt32 reads 1 to 5 bytes.
func (r *Reader) PackedInt32() int32 { return int32(Unzigzag64(r.narrow(math.MaxUint32))) }

// PackedInt64 reads 1 to 9 bytes.
func (r *Reader) PackedInt64() int64 { return r.Zigzag() }

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

// unpacked is the inverse of packed; ok is false for numbers that no T has.
func unpacked[T Packable](u uint64) (v T, ok bool) {
	if hasSign[T]() {
		wide := Unzigzag64(u)
		return T(wide), int64(T(wide)) == wide
	}
	return T(u), uint64(T(u)) == u
}

// WritePacked appends v in its packed form.
func WritePacked[T Packable](w *Writer, v T) { w.Varint(packed(v)) }

// ReadPacked reads a packed T; a number that no T has is ErrMalformed.
func ReadPacked[T Packable](r *Reader) T {
	v, ok := unpacked[T](r.Varint())
	if !ok {
		r.err = ErrMalformed
		return 0
	}
	return v
}

// WritePackedSlice appends the count of v and then each in its packed form. More than limit is ErrTooLong.
func WritePackedSlice[T Packable](w *Writer, v []T, limit int) {
	w.Count(len(v), limit)
	for _, one := range v {
		w.Varint(packed(one))
	}
}

// ReadPackedSlice reads what WritePackedSlice wrote into dst, from its start, and returns it. It grows dst
// only when it must, and only once it knows that the bytes for that many are there; nil is a good dst.
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
