package wire

import "encoding/binary"

// Rows that are sent whole one behind the other begin alike: who has read one of them knows the bits that the next is to
// begin with. They are read here without asking for each of those bits what it means.

// HeadBits is the longest head of a row that [ReadFloatRows] compares.
const HeadBits = 56

// ReadFloatRows reads rows of width lanes, all of them float32 fields that travel exactly, as long as each begins with the
// same bits: the low ones of head, at most HeadBits and at least one. It returns how many it read, at most as many as lanes
// has room for; what follows the last of them is not touched. The reader has failed when one is not finite, as for ReadRow.
func ReadFloatRows(r *BitReader, lanes []uint32, width int, head uint64, bits uint) (rows int) {
	const exponents, ones = 0x7F80_0000_7F80_0000, 0x0080_0000_0080_0000
	if bits == 0 || bits > HeadBits || width <= 0 {
		return 0
	}
	buf, acc, n, carries := r.buf, r.acc, r.n, uint64(0) // here and not in r, to stay in registers
	mask, need := uint64(1)<<bits-1, 4*width+24          // bytes that no read of a row goes beyond
	for len(buf) >= need && len(lanes) >= width {
		rest, left, kept := acc>>bits, n-bits, buf
		if n < bits {
			word := binary.LittleEndian.Uint64(buf)
			buf = buf[8:]
			acc |= word << n
			rest, left = word>>(bits-n), 64-(bits-n)
		}
		if acc&mask != head {
			if n < bits { // what was shifted in is read again
				acc &= 1<<n - 1
			}
			buf = kept
			break
		}
		acc, n = rest, left
		row := lanes[:width]
		lanes = lanes[width:]
		rows++
		for len(row) >= 2 && len(buf) >= 8 {
			word := binary.LittleEndian.Uint64(buf)
			both := acc | word<<(n&63) // the head has left less than 64
			acc = word >> 1 >> (^n & 63)
			carries |= both&exponents + ones // into the sign's place, where all bits of an exponent are set
			row[0], row[1] = uint32(both), uint32(both>>32)
			row, buf = row[2:], buf[8:]
		}
		if len(row) == 0 {
			continue
		}
		one := acc
		if n >= 32 {
			acc, n = acc>>32, n-32
		} else {
			word := binary.LittleEndian.Uint64(buf)
			buf = buf[8:]
			one |= word << (n & 63)
			acc, n = word>>(32-n), n+32
		}
		row[0] = uint32(one)
		carries |= one&0x7F80_0000 + 0x0080_0000
	}
	r.buf, r.acc, r.n = buf, acc, n
	if carries&0x8000_0000_8000_0000 != 0 {
		r.fail()
	}
	return rows
}
