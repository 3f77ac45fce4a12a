package wire

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
)

// Reader reads what a Writer wrote. Its error is sticky: after the first, every read returns zero and
// nothing moves, so a parser checks once at its end, with Done. It is a value; a copy is a mark.
type Reader struct {
	buf []byte
	off int
	err error
}

// NewReader returns a reader of buf, which must not change while it is read.
func NewReader(buf []byte) Reader { return Reader{buf: buf} }

// take returns the next n bytes, nil when there is an error or too few are left.
func (r *Reader) take(n int) []byte {
	if r.err != nil {
		return nil
	}
	if n > len(r.buf)-r.off {
		r.err = ErrTruncated
		return nil
	}
	b := r.buf[r.off : r.off+n : r.off+n] // so that appending to it cannot reach what follows
	r.off += n
	return b
}

// Next reads n bytes and returns them, a part of the reader's buffer; nil after an error.
func (r *Reader) Next(n int) []byte { return r.take(n) }

// Fail makes an error the reader's, if it has none yet. A nil error changes nothing.
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

// Float32 reads 4 bytes, IEEE 754. It may be NaN or infinite: the caller must judge it.
func (r *Reader) Float32() float32 { return math.Float32frombits(r.Uint32()) }

// Float64 reads 8 bytes, IEEE 754. It may be NaN or infinite: the caller must judge it.
func (r *Reader) Float64() float64 { return math.Float64frombits(r.Uint64()) }

// Bool reads one byte; other than 0 and 1 is ErrMalformed.
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

// Bytes reads a length and that many bytes, which stay part of the reader's buffer: callers that keep
// them copy them. A length above limit is ErrTooLong. It allocates nothing, whatever the length says.
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

// String reads a length and that many bytes as a string of its own. A length above limit is ErrTooLong,
// what is not UTF-8 is ErrMalformed. It allocates at most the bytes that are really there.
func (r *Reader) String(limit int) string {
	b := r.Bytes(limit)
	if !utf8.Valid(b) {
		r.err = ErrMalformed
		return ""
	}
	return string(b)
}

// Position returns where the next value is read, in bytes from the start.
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

// Remaining returns how many bytes are left; none after an error.
func (r *Reader) Remaining() int {
	if r.err != nil {
		return 0
	}
	return len(r.buf) - r.off
}

// Err returns the first error: nil, ErrTruncated, ErrMalformed or ErrTooLong.
func (r *Reader) Err() error { return r.err }

// Done reports whether everything was read and nothing was wrong.
func (r *Reader) Done() bool { return r.err == nil && r.off == len(r.buf) }
