package wire

import (
	"encoding/binary"
	"math/bits"
)

// A message whose form is known before it is read needs no reader that keeps what is left of a word and asks at each number
// whether there is enough of it. What follows looks at the bits from a place on and says how many a number has; nothing of it
// fails.

// PeekBits is how many bits Peek gives at least.
const PeekBits = 57

// Peek returns the bits of buf from one on, the first of them in bit 0. Eight bytes have to lie from the one on in which that
// is; else it panics.
func Peek(buf []byte, at uint) uint64 { return binary.LittleEndian.Uint64(buf[at/8:]) >> (at % 8) }

// PeekVar returns the number that BitWriter.Var wrote at the start of word, and how many bits it has: if they are more than
// word has, the number is worth nothing.
func PeekVar(word uint64) (v uint64, n uint) {
	b := uint(bits.TrailingZeros64(word))
	return (1<<varOrder<<(b&63) | word>>1>>(b&63)&(1<<varOrder<<(b&63)-1)) - 1<<varOrder, 2*b + varOrder + 1
}

// Peek returns the symbol whose code begins word in this context, and how many bits that has.
func (t *Table) Peek(context int, word uint64) (symbol int, n uint) {
	c := t.code(context)
	e := uint(c.fast[word&uint64(len(c.fast)-1)])
	if e == longCode {
		e = c.long(word)
	}
	return int(e & 0xFFF), e >> 12
}

// PeekFloats reads the lanes of float32 fields that travel exactly, of rows one behind the other from bit at of buf on. It is
// false when one is not finite, and when fewer than eight bytes are left behind them.
func PeekFloats(lanes []uint32, buf []byte, at uint) bool {
	buf, shift := buf[at/8:], at%8
	if len(buf) < 4*len(lanes)+8 {
		return false
	}
	carries := uint64(0)
	for ; len(lanes) >= 2 && len(buf) > 8; lanes, buf = lanes[2:], buf[8:] {
		both := binary.LittleEndian.Uint64(buf)>>(shift&63) | uint64(buf[8])<<1<<((63-shift)&63)
		carries |= both&exponents + exponentOnes
		lanes[0], lanes[1] = uint32(both), uint32(both>>32)
	}
	if len(lanes) > 0 && len(buf) >= 8 {
		lanes[0] = uint32(binary.LittleEndian.Uint64(buf) >> (shift & 63))
		carries |= uint64(lanes[0]&exponent + exponentOne)
	}
	return carries&exponentCarries == 0
}
