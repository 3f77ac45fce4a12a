package wire

import (
	"encoding/binary"
	"math/bits"
)

// BitWriter writes numbers of any width into a byte slice, least significant bit first: the first bit
// written is bit 0 of byte 0.
//
// It is a value. A copy is a mark, and assigning the copy back rewinds the writer to it: bits written
// since are overwritten by what follows. A writer never touches a byte past len(buf); once more was
// written than fits it is overflowed, until it is rewound.
type BitWriter struct {
	buf  []byte
	acc  uint64 // bits not yet in buf, from bit 0; zero above n
	n    uint   // how many, 0..63
	next int    // byte in buf that acc goes to
}

// NewBitWriter returns a writer into buf.
func NewBitWriter(buf []byte) BitWriter { return BitWriter{buf: buf} }

// Write appends the bits low bits of v, 0 to 64; higher bits of v are ignored. More than 64 panics.
func (w *BitWriter) Write(v uint64, bits uint) {
	v &= 1<<bits - 1
	w.acc |= v << (w.n & 63)
	w.n += bits
	if w.n >= 64 {
		w.spill(v, bits)
	}
}

// spill moves a full accumulator to the buffer; v and bits are what Write added last. When the eight
// bytes do not fit, then what was written is certainly more than the buffer holds, so nothing is lost by
// leaving them out.
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

// Align appends zeros up to the next byte of the whole.
func (w *BitWriter) Align() { w.Write(0, -w.n&7) }

// Patch writes a byte anew that was written, from the at-th byte of the whole on. On an overflowed writer it may do nothing.
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

// varTop is the longest prefix of a Var code: that of the four largest numbers.
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

// Append appends the first count bits of src, in the order in which a BitWriter wrote them. It panics
// if src is shorter.
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

// Words appends the first count bits of words of 64, the first of them in bit 0: those that a Words holds.
// It panics if they are fewer.
func (w *BitWriter) Words(words []uint64, count int) {
	whole := count >> 6
	if w.next >= 0 && 8*whole <= len(w.buf)-w.next { // else it overflows
		acc, n, to := w.acc, w.n&63, w.buf[w.next:]
		back, from := 63-n, words[:whole] // one bit before: of no bits when n is 0
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

// WordsFrom appends count bits of words of 64, from one on.
func (w *BitWriter) WordsFrom(words []uint64, from, count int) {
	words = words[from>>6:]
	if skip := from & 63; skip > 0 && count > 0 {
		some := min(64-skip, count)
		w.Write(words[0]>>skip, uint(some))
		words, count = words[1:], count-some
	}
	w.Words(words, count)
}

// Bits returns how many bits were written, also past the buffer's end.
func (w *BitWriter) Bits() int { return w.next*8 + int(w.n) }

// Overflowed reports whether more was written than the buffer holds.
func (w *BitWriter) Overflowed() bool { return w.Bits() > len(w.buf)*8 }

// Finish fills the last byte with zeros, brings everything into the buffer and returns the bytes used.
// Writing may go on, at the next byte. An overflowed writer returns 0: its buffer is worth nothing.
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

// VarBits returns the length of a Var code.
func VarBits(v uint64) int {
	u := v + 1<<varOrder
	if u < 1<<varOrder { // it wrapped around: one of the four largest
		return 2*varTop + varOrder + 1
	}
	return 2*(bits.Len64(u)-varOrder-1) + varOrder + 1
}
