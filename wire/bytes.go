package wire

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
)

// Writer writes whole bytes into a slice: fixed-width little-endian integers, varints, byte strings. It never writes
// beyond the slice. Its error is sticky: after the first value that does not fit, or exceeds its limit, nothing is
// written. It is a value: a copy is a mark.
type Writer struct {
	buf []byte
	off int // offset of the next value
	end int // bytes written; more than off after a Seek back
	err error
}

// NewWriter returns a writer into buf.
func NewWriter(buf []byte) Writer { return Writer{buf: buf} }

// take returns the next n bytes to write, nil after an error.
func (w *Writer) take(n int) []byte {
	if w.err != nil {
		return nil
	}
	if n > len(w.buf)-w.off {
		w.err = ErrOverflow
		return nil
	}
	b := w.buf[w.off : w.off+n]
	w.off += n
	w.end = max(w.end, w.off)
	return b
}

// Next appends n bytes and returns them for the caller to fill; nil after an error.
func (w *Writer) Next(n int) []byte { return w.take(n) }

// Fail sets the writer's error, if it has none yet. A nil error changes nothing.
func (w *Writer) Fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// Uint8 appends one byte.
func (w *Writer) Uint8(v uint8) {
	if b := w.take(1); b != nil {
		b[0] = v
	}
}

// Uint16 appends 2 bytes.
func (w *Writer) Uint16(v uint16) {
	if b := w.take(2); b != nil {
		binary.LittleEndian.PutUint16(b, v)
	}
}

// Uint32 appends 4 bytes.
func (w *Writer) Uint32(v uint32) {
	if b := w.take(4); b != nil {
		binary.LittleEndian.PutUint32(b, v)
	}
}

// little appends the low bytes of v.
func (w *Writer) little(v uint64, size int) {
	for i, b := 0, w.take(size); i < len(b); i++ {
		b[i] = byte(v >> (8 * i))
	}
}

// Uint64 appends 8 bytes.
func (w *Writer) Uint64(v uint64) {
	if b := w.take(8); b != nil {
		binary.LittleEndian.PutUint64(b, v)
	}
}

// Int8 appends one byte, two's complement.
func (w *Writer) Int8(v int8) { w.Uint8(uint8(v)) }

// Int16 appends 2 bytes, two's complement.
func (w *Writer) Int16(v int16) { w.Uint16(uint16(v)) }

// Int32 appends 4 bytes, two's complement.
func (w *Writer) Int32(v int32) { w.Uint32(uint32(v)) }

// Int64 appends 8 bytes, two's complement.
func (w *Writer) Int64(v int64) { w.Uint64(uint64(v)) }

// Float32 appends 4 bytes, IEEE 754. Any value is sent, also NaN: the receiver must check it.
func (w *Writer) Float32(v float32) { w.Uint32(math.Float32bits(v)) }

// Float64 appends 8 bytes, IEEE 754. Any value is sent, also NaN: the receiver must check it.
func (w *Writer) Float64(v float64) { w.Uint64(math.Float64bits(v)) }

// Bool appends one byte, 0 or 1.
func (w *Writer) Bool(v bool) {
	if v {
		w.Uint8(1)
		return
	}
	w.Uint8(0)
}

// Varint appends v in 1 to 9 bytes; see AppendVarint.
func (w *Writer) Varint(v uint64) {
	var form [MaxVarint]byte
	b := AppendVarint(form[:0], v)
	copy(w.take(len(b)), b)
}

// Zigzag appends v as the varint of its zigzag form.
func (w *Writer) Zigzag(v int64) { w.Varint(Zigzag64(v)) }

// Bytes appends the length of v as a varint and then v. More than limit bytes is ErrTooLong.
func (w *Writer) Bytes(v []byte, limit int) {
	if w.err == nil && len(v) > limit {
		w.err = ErrTooLong
	}
	w.Varint(uint64(len(v)))
	copy(w.take(len(v)), v)
}

// String appends the length of v in bytes as a varint and then v. More than limit bytes is ErrTooLong; invalid UTF-8 is
// ErrMalformed, because a reader would refuse it.
func (w *Writer) String(v string, limit int) {
	if w.err == nil && len(v) > limit {
		w.err = ErrTooLong
	}
	if w.err == nil && !utf8.ValidString(v) {
		w.err = ErrMalformed
	}
	w.Varint(uint64(len(v)))
	copy(w.take(len(v)), v)
}

// Reserve appends n zero bytes, to be overwritten later with Seek, and returns their offset.
func (w *Writer) Reserve(n int) (offset int) {
	offset = w.off
	clear(w.take(n))
	return offset
}

// Position returns the offset of the next value.
func (w *Writer) Position() int { return w.off }

// Seek moves to an offset within the written bytes, or to their end. Any other offset panics: bytes that were never
// written must not be sent.
func (w *Writer) Seek(offset int) {
	if offset < 0 || offset > w.end {
		panic("wire: seek past what was written")
	}
	w.off = offset
}

// Written returns all written bytes, up to the furthest offset.
func (w *Writer) Written() []byte { return w.buf[:w.end] }

// Err returns the first error: nil, ErrOverflow, ErrTooLong, ErrMalformed or ErrNotFinite.
func (w *Writer) Err() error { return w.err }

// Reader reads the bytes of a Writer. Its error is sticky: after the first, every read returns zero and nothing moves,
// so that a parser needs only one check at its end, with Done. It is a value: a copy is a mark.
type Reader struct {
	buf []byte
	off int
	err error
}

// NewReader returns a reader of buf, which must not change while it is read.
func NewReader(buf []byte) Reader { return Reader{buf: buf} }

// take returns the next n bytes, nil after an error or if there are fewer.
func (r *Reader) take(n int) []byte {
	if r.err != nil {
		return nil
	}
	if n > len(r.buf)-r.off {
		r.err = ErrTruncated
		return nil
	}
	b := r.buf[r.off : r.off+n : r.off+n] // an append by the caller cannot overwrite later bytes
	r.off += n
	return b
}

// Next reads n bytes and returns them, a part of the reader's buffer; nil after an error.
func (r *Reader) Next(n int) []byte { return r.take(n) }

// Fail sets the reader's error, if it has none yet. A nil error changes nothing.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Uint8 reads one byte.
func (r *Reader) Uint8() uint8 {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

// Uint16 reads 2 bytes.
func (r *Reader) Uint16() uint16 {
	if b := r.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// Uint32 reads 4 bytes.
func (r *Reader) Uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// little reads a number of so many bytes.
func (r *Reader) little(size int) (v uint64) {
	for i, b := range r.take(size) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

// Uint64 reads 8 bytes.
func (r *Reader) Uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Int8 reads one byte, two's complement.
func (r *Reader) Int8() int8 { return int8(r.Uint8()) }

// Int16 reads 2 bytes, two's complement.
func (r *Reader) Int16() int16 { return int16(r.Uint16()) }

// Int32 reads 4 bytes, two's complement.
func (r *Reader) Int32() int32 { return int32(r.Uint32()) }

// Int64 reads 8 bytes, two's complement.
func (r *Reader) Int64() int64 { return int64(r.Uint64()) }

// Float32 reads 4 bytes, IEEE 754. It may be NaN or infinite: the caller must check it.
func (r *Reader) Float32() float32 { return math.Float32frombits(r.Uint32()) }

// Float64 reads 8 bytes, IEEE 754. It may be NaN or infinite: the caller must check it.
func (r *Reader) Float64() float64 { return math.Float64frombits(r.Uint64()) }

// Bool reads one byte; a value other than 0 and 1 is ErrMalformed.
func (r *Reader) Bool() bool {
	v := r.Uint8()
	if v > 1 {
		r.err = ErrMalformed
	}
	return v == 1
}

// Varint reads 1 to 9 bytes; see ReadVarint.
func (r *Reader) Varint() uint64 {
	if r.err != nil {
		return 0
	}
	v, n, err := ReadVarint(r.buf[r.off:])
	r.off += n
	r.err = err
	return v
}

// Zigzag reads a varint in zigzag form.
func (r *Reader) Zigzag() int64 { return Unzigzag64(r.Varint()) }

// Bytes reads a length and that many bytes. The result refers to the reader's buffer: copy it to keep it. A length
// above limit is ErrTooLong. It never allocates.
func (r *Reader) Bytes(limit int) []byte {
	n := r.Varint()
	if r.err == nil && n > uint64(max(limit, 0)) {
		r.err = ErrTooLong
	}
	if r.err == nil && n > uint64(len(r.buf)-r.off) {
		r.err = ErrTruncated
	}
	if r.err != nil {
		return nil
	}
	return r.take(int(n))
}

// String reads a length and that many bytes as a new string. A length above limit is ErrTooLong, invalid UTF-8 is
// ErrMalformed. It allocates at most the bytes that exist.
func (r *Reader) String(limit int) string {
	b := r.Bytes(limit)
	if !utf8.Valid(b) {
		r.err = ErrMalformed
		return ""
	}
	return string(b)
}

// Position returns the offset of the next value.
func (r *Reader) Position() int { return r.off }

// Seek moves to an offset within the buffer; one outside is ErrTruncated.
func (r *Reader) Seek(offset int) {
	if r.err == nil && (offset < 0 || offset > len(r.buf)) {
		r.err = ErrTruncated
	}
	if r.err == nil {
		r.off = offset
	}
}

// Remaining returns the number of unread bytes; 0 after an error.
func (r *Reader) Remaining() int {
	if r.err != nil {
		return 0
	}
	return len(r.buf) - r.off
}

// Err returns the first error: nil, ErrTruncated, ErrMalformed or ErrTooLong.
func (r *Reader) Err() error { return r.err }

// Done reports whether everything was read without an error.
func (r *Reader) Done() bool { return r.err == nil && r.off == len(r.buf) }
