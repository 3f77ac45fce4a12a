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

// VarBits returns what BitWriter.Var writes of a number, and how many bits that are: if they are more
// than 64, they are worth nothing.
func VarBits(v uint64) (word uint64, n uint) {
	if v += 1 << varOrder; v < 1<<varOrder {
		return 0, 2*varTop + varOrder + 1 // one of the four largest
	}
	b := uint(bits.Len64(v)) - varOrder - 1
	return (v&(1<<(b+varOrder)-1))<<1<<b | 1<<b, 2*b + varOrder + 1
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
