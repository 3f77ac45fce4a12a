package wire

import "encoding/binary"

// CopyFloats reads the lanes of float32 fields that travel exactly, of rows that were written one behind the other from a byte
// of their own on. It is false when one is not finite, and when the bytes are fewer than the lanes are.
func CopyFloats(lanes []uint32, buf []byte) bool {
	if len(buf) < 4*len(lanes) {
		return false
	}
	words := memoryOf(lanes)
	if copy(words, buf); !littleEndian() {
		for i := range lanes {
			lanes[i] = binary.LittleEndian.Uint32(buf[4*i:])
		}
	}
	return finiteWords(words)
}

// finiteWords reports whether all float32 of some memory are finite. They are copied before and looked at then: both loops are
// shorter alone, and what was just written is near.
func finiteWords(words []byte) bool {
	carries := uint64(0)
	for len(words) >= 32 {
		w := (*[32]byte)(words)
		a, b := binary.NativeEndian.Uint64(w[:]), binary.NativeEndian.Uint64(w[8:])
		c, d := binary.NativeEndian.Uint64(w[16:]), binary.NativeEndian.Uint64(w[24:])
		carries |= (a&exponents + exponentOnes) | (b&exponents + exponentOnes) | (c&exponents + exponentOnes) | (d&exponents + exponentOnes)
		words = words[32:]
	}
	for ; len(words) >= 4; words = words[4:] {
		carries |= uint64(binary.NativeEndian.Uint32(words)&exponent + exponentOne)
	}
	return carries&exponentCarries == 0
}

// What is added to the exponents of floats goes over into the place of the sign where all bits of one are set: it is not finite.
const (
	exponent        = 0x7F80_0000
	exponentOne     = 0x0080_0000
	exponents       = exponent<<32 | exponent
	exponentOnes    = exponentOne<<32 | exponentOne
	exponentCarries = 0x8000_0000_8000_0000
)
