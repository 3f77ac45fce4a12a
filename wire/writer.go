package wire

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
)

// Writer writes whole bytes into a slice: fixed-width little-endian integers, varints, byte strings. It
// never writes past the slice; the first value that does not fit, or is longer than its caller allows,
// sets an error that stays, and nothing is written from then on. It is a value; a copy is a mark.
type Writer struct {
	buf []byte
	off int // where the next value goes
	end int // bytes written, off or more after a Seek back
	err error
}

// NewWriter returns a writer into buf.
func NewWriter(buf []byte) Writer { return Writer{buf: buf} }

// take returns the next n bytes to be written, nil when there is an error.
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

// Next appends n bytes and returns them for the caller to fill in; nil after an error.
func (w *Writer) Next(n int) []byte { return w.take(n) }

// Fail makes an error the writer's, if it has none yet. A nil error changes nothing.
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

// Float32 appends 4 bytes, IEEE 754. Any value travels, also NaN: who applies it must judge it.
func (w *Writer) Float32(v float32) { w.Uint32(math.Float32bits(v)) }

// Float64 appends 8 bytes, IEEE 754. Any value travels, also NaN: who applies it must judge it.
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

// String appends the length of v in bytes as a varint and then v. More than limit bytes is ErrTooLong;
// what is not UTF-8 is ErrMalformed, because no reader would take it.
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

// Reserve appends n zero bytes, to be filled in later by Seek, and returns where they begin.
func (w *Writer) Reserve(n int) (offset int) {
	offset = w.off
	clear(w.take(n))
	return offset
}

// Position returns where the next value goes, in bytes from the start.
func (w *Writer) Position() int { return w.off }

// Seek moves to an offset that was written before, or to the end of what was. Any other panics: bytes
// that nobody wrote must not be sent.
func (w *Writer) Seek(offset int) {
	if offset < 0 || offset > w.end {
		panic("wire: seek past what was written")
	}
	w.off = offset
}

// Written returns all bytes written, up to the furthest.
func (w *Writer) Written() []byte { return w.buf[:w.end] }

// Err returns the first error: nil, ErrOverflow, ErrTooLong, ErrMalformed or ErrNotFinite.
func (w *Writer) Err() error { return w.err }
