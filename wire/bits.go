package wire

import (
	"encoding/binary"
	"math/bits"
)

// BitWriter writes numbers of any width into a byte slice, least significant bit first: the first bit is bit 0 of byte
// 0.
//
// It is a value: a copy is a mark. Assigning the copy back rewinds the writer, and later bits overwrite those written
// since. A writer never touches a byte beyond len(buf). Once it has written more than fits it is overflowed, until it
// is rewound.
type BitWriter struct {
	buf  []byte
	acc  uint64 // bits not yet in buf, from bit 0; zero above n
	n    uint   // number of bits in acc, 0..63
	next int    // offset in buf of acc
}

// NewBitWriter returns a writer into buf.
func NewBitWriter(buf []byte) BitWriter { return BitWriter{buf: buf} }

// Write appends the low bits of v, 0 to 64 of them; higher bits are ignored. More than 64 panics.
func (w *BitWriter) Write(v uint64, bits uint) {
	v &= 1<<bits - 1
	w.acc |= v << (w.n & 63)
	w.n += bits
	if w.n >= 64 {
		w.spill(v, bits)
	}
}

// spill moves the full accumulator to the buffer; v and bits are those of the last Write. If the eight bytes do not
// fit, the writer is overflowed for certain, so they may be dropped.
func (w *BitWriter) spill(v uint64, bits uint) {
	if bits > 64 {
		panic("wire: more than 64 bits at once")
	}
	if w.next >= 0 && w.next <= len(w.buf)-8 {
		binary.LittleEndian.PutUint64(w.buf[w.next:], w.acc)
	}
	w.next += 8
	w.n -= 64
	w.acc = v >> (bits - w.n)
}

// Bool appends one bit.
func (w *BitWriter) Bool(b bool) {
	var v uint64
	if b {
		v = 1
	}
	w.Write(v, 1)
}

// Align appends zeros up to the next byte boundary of the buffer.
func (w *BitWriter) Align() { w.Write(0, -w.n&7) }

// Patch replaces the byte at offset at, which was written already. On an overflowed writer it may do nothing.
func (w *BitWriter) Patch(at int, v byte) {
	if at >= w.next {
		shift := 8 * uint(at-w.next)
		w.acc = w.acc&^(0xFF<<shift) | uint64(v)<<shift
		return
	}
	if at < len(w.buf) {
		w.buf[at] = v
	}
}

// varOrder is the number of payload bits in the shortest Var code.
const varOrder = 2

// varTop is the length of the longest prefix of a Var code: that of the four largest numbers.
const varTop = 64 - varOrder

// Var appends v in an exponential Golomb code of order 2, short for small numbers:
//
//	b zeros, a one, then b+2 bits: v - 4(2^b - 1), b the largest with 4(2^b - 1) <= v
//
//	0..3      1 vv            3 bits
//	4..11     0 1 vvv         5
//	12..27    00 1 vvvv       7
//	28..59    000 1 vvvvv     9        at most 127, for the four largest
func (w *BitWriter) Var(v uint64) {
	u, b := v+1<<varOrder, uint(varTop)
	if u >= 1<<varOrder { // else v + 4 wrapped around: one of the four largest
		b = uint(bits.Len64(u)) - varOrder - 1
	}
	if 2*b+varOrder+1 <= 64 {
		w.Write((u&(1<<(b+varOrder)-1)<<1|1)<<b, 2*b+varOrder+1)
		return
	}
	w.Write(1<<b, b+1)
	w.Write(u, b+varOrder)
}

// Append appends the first count bits of src, in the order of a BitWriter. It panics if src is too short.
func (w *BitWriter) Append(src []byte, count int) {
	for ; count >= 64; count -= 64 {
		w.Write(binary.LittleEndian.Uint64(src), 64)
		src = src[8:]
	}
	for ; count >= 8; count -= 8 {
		w.Write(uint64(src[0]), 8)
		src = src[1:]
	}
	if count > 0 {
		w.Write(uint64(src[0]), uint(count))
	}
}

// Words appends the first count bits of 64-bit words, bit 0 of the first word first. It panics if there are fewer.
func (w *BitWriter) Words(words []uint64, count int) {
	whole := count >> 6
	if w.next >= 0 && 8*whole <= len(w.buf)-w.next { // else it overflows
		acc, n, to := w.acc, w.n&63, w.buf[w.next:]
		back, from := 63-n, words[:whole] // a two-step shift: by 64 if n is 0
		for ; len(from) >= 4 && len(to) >= 32; from, to = from[4:], to[32:] {
			a, b, c, d := from[0], from[1], from[2], from[3]
			binary.LittleEndian.PutUint64(to, acc|a<<(n&63))
			binary.LittleEndian.PutUint64(to[8:], a>>1>>(back&63)|b<<(n&63))
			binary.LittleEndian.PutUint64(to[16:], b>>1>>(back&63)|c<<(n&63))
			binary.LittleEndian.PutUint64(to[24:], c>>1>>(back&63)|d<<(n&63))
			acc = d >> 1 >> (back & 63)
		}
		for _, v := range from {
			binary.LittleEndian.PutUint64(to, acc|v<<(n&63))
			acc, to = v>>1>>(back&63), to[8:]
		}
		w.acc, w.next, words = acc, w.next+8*whole, words[whole:]
		count &= 63
	}
	for i := 0; count > 0; i, count = i+1, count-64 {
		w.Write(words[i], uint(min(count, 64)))
	}
}

// WordsFrom appends count bits of 64-bit words, from bit from on.
func (w *BitWriter) WordsFrom(words []uint64, from, count int) {
	words = words[from>>6:]
	if skip := from & 63; skip > 0 && count > 0 {
		some := min(64-skip, count)
		w.Write(words[0]>>skip, uint(some))
		words, count = words[1:], count-some
	}
	w.Words(words, count)
}

// Bits returns the number of bits written, including those beyond the buffer's end.
func (w *BitWriter) Bits() int { return w.next*8 + int(w.n) }

// Overflowed reports whether more was written than the buffer holds.
func (w *BitWriter) Overflowed() bool { return w.Bits() > len(w.buf)*8 }

// Finish pads the last byte with zeros, flushes the accumulator and returns the number of bytes used. Writing may
// continue at the next byte. An overflowed writer returns 0; the contents of its buffer are undefined.
func (w *BitWriter) Finish() int {
	if w.Overflowed() {
		return 0
	}
	w.Write(0, -w.n&7)
	for i, acc := w.next, w.acc; i < w.next+int(w.n/8); i++ {
		w.buf[i] = byte(acc)
		acc >>= 8
	}
	return w.next + int(w.n/8)
}

// VarBits returns the length of a Var code in bits.
func VarBits(v uint64) int {
	u := v + 1<<varOrder
	if u < 1<<varOrder { // it wrapped around: one of the four largest
		return 2*varTop + varOrder + 1
	}
	return 2*(bits.Len64(u)-varOrder-1) + varOrder + 1
}

// BitReader reads the bits of a BitWriter. Its error is sticky: after a read beyond the end every read returns zero and
// nothing remains. It is a value: a copy is a mark.
type BitReader struct {
	buf    []byte // bytes not yet in acc
	acc    uint64 // next bits, from bit 0; zero above n
	n      uint   // number of bits in acc, 0..64
	failed bool
}

// NewBitReader returns a reader of buf, which must not change while it is read.
func NewBitReader(buf []byte) BitReader { return BitReader{buf: buf} }

// Read returns the next bits, 0 to 64 of them, the first in bit 0.
func (r *BitReader) Read(bits uint) uint64 {
	if bits > r.n {
		return r.refill(bits)
	}
	v := r.acc & (1<<bits - 1)
	r.acc >>= bits
	r.n -= bits
	return v
}

// refill is Read if the accumulator has too few bits.
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

// Var returns the next number of BitWriter.Var. A number beyond 64 bits fails the reader.
func (r *BitReader) Var() uint64 {
	b := uint(bits.TrailingZeros64(r.acc))
	size := 2*b + varOrder + 1
	if size > r.n { // or the accumulator has no one bit, which makes b 64
		return r.slowVar()
	}
	payload := r.acc >> (b + 1) & (1<<(b+varOrder) - 1)
	r.acc >>= size
	r.n -= size
	return (1<<(b+varOrder) | payload) - 1<<varOrder
}

// slowVar is Var if the accumulator has only a part of the code.
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

// zeros reads a run of zeros and the one bit after it, and returns the length of the run; more than varTop fails.
func (r *BitReader) zeros() uint {
	if r.acc != 0 { // the one bit is in the accumulator
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

// Align reads the zeros of BitWriter.Align up to the next byte boundary. Other bits fail the reader.
func (r *BitReader) Align() bool {
	if r.Read(r.n&7) != 0 {
		r.Fail()
	}
	return !r.failed
}

// Skip drops whole bytes. The reader must be at a byte boundary, see Align.
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

// State returns the unread bits: n bits of an accumulator, then bytes.
func (r *BitReader) State() (buf []byte, acc uint64, n uint) { return r.buf, r.acc, r.n }

// SetState sets the state returned by State. The accumulator has n bits, at most 64, and zeros above.
func (r *BitReader) SetState(buf []byte, acc uint64, n uint) { r.buf, r.acc, r.n = buf, acc, n }

// Failed reports whether a read went beyond the end or met an illegal code.
func (r *BitReader) Failed() bool { return r.failed }

// Remaining returns the number of unread bits.
func (r *BitReader) Remaining() int { return int(r.n) + len(r.buf)*8 }

// Done reports whether everything was read without failure. Only padding of the last byte may be left: less than 8
// bits, all zero.
func (r *BitReader) Done() bool { return !r.failed && r.Remaining() < 8 && r.acc == 0 }

// Padded reports whether everything was read without failure. Any number of zeros may be left.
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

// Peek returns the next bits without reading them: at least the requested number (at most 56), or all remaining ones
// followed by zeros.
func (r *BitReader) Peek(bits uint) uint64 {
	if r.n < bits {
		r.fill()
	}
	return r.acc
}

// Drop reads bits that Peek returned. It returns false, and reads none, if there are fewer.
func (r *BitReader) Drop(bits uint) bool {
	if bits > r.n {
		return false
	}
	r.acc >>= bits & 63
	r.n -= bits
	return true
}

// fill loads at least 56 bits into the accumulator, or all remaining ones.
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

// ReadFloats reads lanes of 32 bits that are finite float32. It returns false, with a failed reader and undefined
// lanes, if the bits end or a float is not finite.
func ReadFloats(r *BitReader, lanes []uint32) bool {
	i, finite := r.floats(lanes)
	for ; i < len(lanes); i++ { // near the end
		lanes[i] = uint32(r.Read(32))
		finite = finite && isFinite(lanes[i])
	}
	if !finite {
		r.Fail()
	}
	return !r.failed
}

// floats reads lanes of 32 bits, two at a time, while the reader has enough bytes, and returns their number. It returns
// false if one is not finite: adding one to an exponent of all ones carries into the sign bit.
func (r *BitReader) floats(lanes []uint32) (i int, finite bool) {
	const (
		exponents = 0x7F80_0000_7F80_0000
		ones      = 0x0080_0000_0080_0000
		signs     = 0x8000_0000_8000_0000
	)
	words := len(lanes) / 2
	if len(r.buf) < 8*words {
		return 0, true
	}
	buf, acc, n, carries := r.buf[:8*words], r.acc, r.n, uint64(0)
	r.buf = r.buf[8*words:]
	for ; len(buf) >= 8 && len(lanes) >= 2; buf, lanes = buf[8:], lanes[2:] {
		word := binary.LittleEndian.Uint64(buf)
		both := acc | word<<n // n is at most 64; a shift by 64 gives zero
		acc = word >> (64 - n)
		carries |= both&exponents + ones
		lanes[0], lanes[1] = uint32(both), uint32(both>>32)
	}
	r.acc = acc
	return 2 * words, carries&signs == 0
}

// Numbers appends numbers, each in its width of 0 to 63 bits. widths has an entry per number.
func (w *BitWriter) Numbers(numbers []uint32, widths []uint8) {
	acc, n := w.acc, w.n // local variables stay in registers
	numbers = numbers[:len(widths)]
	for i := range widths {
		width := uint(widths[i]) & 63
		v := uint64(numbers[i]) & (1<<width - 1)
		acc |= v << (n & 63)
		if n += width; n >= 64 {
			w.acc, w.n = acc, n
			w.spill(v, width)
			acc, n = w.acc, w.n
		}
	}
	w.acc, w.n = acc, n
}

// Numbers reads numbers with these widths. It returns false if the bits end.
func (r *BitReader) Numbers(numbers []uint32, widths []uint8) bool {
	acc, n := r.acc, r.n // local variables stay in registers
	numbers = numbers[:len(widths)]
	for i := range widths {
		if width := uint(widths[i]) & 63; width <= n {
			numbers[i] = uint32(acc & (1<<width - 1))
			acc, n = acc>>width, n-width
		} else {
			r.acc, r.n = acc, n
			numbers[i] = uint32(r.refill(width))
			acc, n = r.acc, r.n
		}
	}
	r.acc, r.n = acc, n
	return !r.failed
}

// isFinite reports whether the bits of a float32 are neither infinite nor NaN.
func isFinite(bits uint32) bool { return bits&0x7F80_0000 != 0x7F80_0000 }
