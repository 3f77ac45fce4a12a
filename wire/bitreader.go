package wire

import (
	"encoding/binary"
	"math/bits"
)

// BitReader reads what a BitWriter wrote. Its error is sticky: a read past the end fails the reader, and
// from then on every read returns zero and nothing remains. It is a value; a copy is a mark.
type BitReader struct {
	buf    []byte // bytes not yet in acc
	acc    uint64 // bits next to be read, from bit 0; zero above n
	n      uint   // how many, 0..64
	failed bool
}

// NewBitReader returns a reader of buf, which must not change while it is read.
func NewBitReader(buf []byte) BitReader { return BitReader{buf: buf} }

// Read returns the next bits bits, 0 to 64, the first of them in bit 0.
func (r *BitReader) Read(bits uint) uint64 {
	if bits > r.n {
		return r.refill(bits)
	}
	v := r.acc & (1<<bits - 1)
	r.acc >>= bits
	r.n -= bits
	return v
}

// refill is Read where the accumulator holds too little.
func (r *BitReader) refill(bits uint) uint64 {
	var word uint64
	have := uint(64)
	if len(r.buf) >= 8 {
		word = binary.LittleEndian.Uint64(r.buf)
		r.buf = r.buf[8:]
	} else {
		have = uint(len(r.buf)) * 8
		for i, b := range r.buf {
			word |= uint64(b) << (8 * i)
		}
		r.buf = nil
	}
	take := bits - r.n
	if take > have || bits > 64 {
		r.Fail()
		return 0
	}
	v := (r.acc | word<<r.n) & (1<<bits - 1)
	r.acc = word >> take
	r.n = have - take
	return v
}

// Fail makes every later read return zero.
func (r *BitReader) Fail() { *r = BitReader{failed: true} }

// Bool returns the next bit.
func (r *BitReader) Bool() bool { return r.Read(1) != 0 }

// Var returns the next number written by BitWriter.Var. Codes of numbers above 64 bits fail the reader.
func (r *BitReader) Var() uint64 {
	b := uint(bits.TrailingZeros64(r.acc))
	size := 2*b + varOrder + 1
	if size > r.n { // or no one in the accumulator, which makes b 64
		return r.slowVar()
	}
	payload := r.acc >> (b + 1) & (1<<(b+varOrder) - 1)
	r.acc >>= size
	r.n -= size
	return (1<<(b+varOrder) | payload) - 1<<varOrder
}

// slowVar is Var where the accumulator does not hold the whole code.
func (r *BitReader) slowVar() uint64 {
	b := r.zeros()
	payload := r.Read(b + varOrder)
	switch {
	case r.failed:
		return 0
	case b < varTop:
		return (1<<(b+varOrder) | payload) - 1<<varOrder
	case payload >= 1<<varOrder:
		r.Fail()
		return 0
	}
	return payload - 1<<varOrder
}

// zeros reads a run of zeros and the one that ends it, and returns its length; a run above varTop fails.
func (r *BitReader) zeros() uint {
	if r.acc != 0 { // the one is at hand
		b := uint(bits.TrailingZeros64(r.acc))
		r.Read(b + 1)
		if b > varTop {
			r.Fail()
		}
		return b
	}
	b := r.n
	r.Read(r.n)
	for !r.Bool() {
		if b++; b > varTop || r.failed {
			r.Fail()
			return 0
		}
	}
	if b > varTop {
		r.Fail()
	}
	return b
}

// Align reads zeros up to the next byte of the whole, as BitWriter.Align wrote them. Anything else fails the reader.
func (r *BitReader) Align() bool {
	if r.Read(r.n&7) != 0 {
		r.Fail()
	}
	return !r.failed
}

// Skip reads whole bytes and drops them. Bits that do not fill a byte must not be left in front of them: see Align.
func (r *BitReader) Skip(bytes int) {
	if have := int(r.n / 8); bytes > have {
		if bytes -= have; bytes > len(r.buf) {
			r.Fail()
			return
		}
		r.acc, r.n, r.buf = 0, 0, r.buf[bytes:]
		return
	}
	r.Read(uint(8 * bytes))
}

// State returns what is left to read: bytes, and before them n bits of an accumulator.
func (r *BitReader) State() (buf []byte, acc uint64, n uint) { return r.buf, r.acc, r.n }

// SetState puts the reader where State found it. The accumulator has n bits, 64 at most, and zeros above.
func (r *BitReader) SetState(buf []byte, acc uint64, n uint) { r.buf, r.acc, r.n = buf, acc, n }

// Failed reports whether a read went past the end or met an illegal code.
func (r *BitReader) Failed() bool { return r.failed }

// Remaining returns how many bits are left.
func (r *BitReader) Remaining() int { return int(r.n) + len(r.buf)*8 }

// Done reports whether all was read: nothing failed and only the padding of the last byte is left, less
// than 8 bits and all of them zero.
func (r *BitReader) Done() bool { return !r.failed && r.Remaining() < 8 && r.acc == 0 }

// Padded reports whether all was read: nothing failed and only zeros are left, however many.
func (r *BitReader) Padded() bool {
	if r.failed || r.acc != 0 {
		return false
	}
	for _, b := range r.buf {
		if b != 0 {
			return false
		}
	}
	return true
}

// Peek returns the bits that come next without reading them: at least the bits asked for, 56 at most, or all that are left and zeros behind them.
func (r *BitReader) Peek(bits uint) uint64 {
	if r.n < bits {
		r.fill()
	}
	return r.acc
}

// Drop reads bits that Peek returned, and reports whether there were so many; if not, it reads none.
func (r *BitReader) Drop(bits uint) bool {
	if bits > r.n {
		return false
	}
	r.acc >>= bits & 63
	r.n -= bits
	return true
}

// fill brings at least 56 bits into the accumulator, or all that are left.
func (r *BitReader) fill() {
	if len(r.buf) >= 8 && r.n < 56 {
		take := (63 - r.n) >> 3 // whole bytes that fit, 1..7
		r.acc |= binary.LittleEndian.Uint64(r.buf) << r.n
		r.n += take * 8
		r.acc &= 1<<r.n - 1
		r.buf = r.buf[take:]
		return
	}
	for len(r.buf) > 0 && r.n <= 56 {
		r.acc |= uint64(r.buf[0]) << r.n
		r.n += 8
		r.buf = r.buf[1:]
	}
}
