package wire

import "encoding/binary"

// Rows that are sent whole one behind the other, with a byte between two of them: they are read without asking for each bit
// what it means.

// RowGoesOn is the byte behind a row that says that another one follows. Where the lowest bit is not set there is none, and the
// others are of what follows.
const RowGoesOn = 1

// ReadFloatRows reads rows of width lanes, all of them float32 fields that travel exactly, from the first byte on, as long as
// there is a RowGoesOn behind one. It returns how many they are, and is false when a row is cut off or has a number that is not
// finite, when the byte behind one is illegal, and when there are more than lanes has room for. In front of the first of bytes
// there was a bit of its own that said that there is one.
func ReadFloatRows(buf []byte, lanes []uint32, width int) (rows int, ok bool) {
	size, carries := 4*width, uint64(0)
	if width <= 0 {
		return 0, false
	}
	for len(buf) >= size && len(lanes) >= width {
		from, to := buf[:size], lanes[:width]
		for len(to) >= 8 && len(from) >= 32 {
			f, t := (*[32]byte)(from), (*[8]uint32)(to)
			a, b := binary.LittleEndian.Uint64(f[:]), binary.LittleEndian.Uint64(f[8:])
			c, d := binary.LittleEndian.Uint64(f[16:]), binary.LittleEndian.Uint64(f[24:])
			t[0], t[1] = uint32(a), uint32(a>>32)
			t[2], t[3] = uint32(b), uint32(b>>32)
			t[4], t[5] = uint32(c), uint32(c>>32)
			t[6], t[7] = uint32(d), uint32(d>>32)
			carries |= (a&exponents + exponentOnes) | (b&exponents + exponentOnes) | (c&exponents + exponentOnes) | (d&exponents + exponentOnes)
			from, to = from[32:], to[8:]
		}
		for len(to) >= 2 && len(from) >= 8 {
			a := binary.LittleEndian.Uint64(from)
			to[0], to[1] = uint32(a), uint32(a>>32)
			carries |= a&exponents + exponentOnes
			from, to = from[8:], to[2:]
		}
		if len(to) > 0 && len(from) >= 4 {
			a := binary.LittleEndian.Uint32(from)
			to[0] = a
			carries |= uint64(a&exponent + exponentOne)
		}
		rows++
		if len(buf) == size || buf[size]&RowGoesOn == 0 {
			return rows, carries&exponentCarries == 0
		}
		if buf[size] != RowGoesOn {
			return rows, false
		}
		buf, lanes = buf[size+1:], lanes[width:]
	}
	return rows, false
}

// What is added to the exponents of floats goes over into the place of the sign where all bits of one are set: it is not finite.
const (
	exponent        = 0x7F80_0000
	exponentOne     = 0x0080_0000
	exponents       = exponent<<32 | exponent
	exponentOnes    = exponentOne<<32 | exponentOne
	exponentCarries = 0x8000_0000_8000_0000
)
