package wire

import "encoding/binary"

// CopyFloats reads the lanes of float32 fields that travel exactly, of rows that were written one behind the other from a byte
// of their own on. It is false when one is not finite, and when the bytes are fewer than the lanes are.
func CopyFloats(lanes []uint32, buf []byte) bool {
	if len(buf) < 4*len(lanes) {
		return false
	}
	carries, i := uint64(0), 0
	for ; i+8 <= len(lanes) && 4*i+32 <= len(buf); i += 8 {
		from, to := (*[32]byte)(buf[4*i:]), (*[8]uint32)(lanes[i:])
		a, b := binary.LittleEndian.Uint64(from[:]), binary.LittleEndian.Uint64(from[8:])
		to[0], to[1] = uint32(a), uint32(a>>32)
		to[2], to[3] = uint32(b), uint32(b>>32)
		carries |= (a&exponents + exponentOnes) | (b&exponents + exponentOnes)
		a, b = binary.LittleEndian.Uint64(from[16:]), binary.LittleEndian.Uint64(from[24:])
		to[4], to[5] = uint32(a), uint32(a>>32)
		to[6], to[7] = uint32(b), uint32(b>>32)
		carries |= (a&exponents + exponentOnes) | (b&exponents + exponentOnes)
	}
	for ; i < len(lanes); i++ {
		a := binary.LittleEndian.Uint32(buf[4*i:])
		lanes[i] = a
		carries |= uint64(a&exponent + exponentOne)
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
