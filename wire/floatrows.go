package wire

import (
	"encoding/binary"
	"math/bits"
)

// Rows that are sent whole one behind the other begin alike: who has read one of them knows the bits that the next is to
// begin with. They are read here without asking for each of those bits what it means.

// HeadBits is the longest head of a row that [ReadFloatRows] compares.
const HeadBits = 56

// ReadFloatRows reads rows of width lanes, all of them float32 fields that travel exactly, as long as each begins with the
// same bits: the low ones of head, at most HeadBits and at least one. It returns how many it read, at most as many as lanes
// has room for; what follows the last of them is not touched. The reader has failed when one is not finite, as for ReadRow.
func ReadFloatRows(r *BitReader, lanes []uint32, width int, head uint64, bits uint) (rows int) {
	if bits == 0 || bits > HeadBits || width <= 0 {
		return 0
	}
	f := floatRows{width: width, head: head, bits: bits, acc: r.acc, n: r.n}
	rows = f.read(r.buf, lanes)
	r.buf = r.buf[f.at:]
	size := int(bits) + 32*width
	left := int(f.n) + 8*len(r.buf)
	most := min(left/size, len(lanes)/width-rows)
	if most > 0 && len(r.buf) < 4*width+rowMargin && len(r.buf) <= lastRows/2 {
		// The last rows are read from a copy with zeros behind it, since whole words are read.
		var last [lastRows]byte
		real := copy(last[:], r.buf)
		f.at = 0
		if more := f.read(last[:], lanes[rows*width:(rows+most)*width]); more > 0 {
			if f.at > real { // what is at hand ends with zeros of the copy
				f.n = uint(left - more*size)
			}
			r.buf = r.buf[min(f.at, real):]
			rows += more
		}
	}
	r.acc, r.n = f.acc, f.n
	if f.carries&exponentCarries != 0 {
		r.fail()
	}
	return rows
}

// lastRows is room for the rows at the end of a payload, the second half of it zero.
const lastRows = 256

// rowMargin is more than what is read of a head and of an odd lane.
const rowMargin = 24

// floatRows is a ReadFloatRows that is under way: how far it has come in the bytes, and the n bits of acc before them. It
// has no bytes itself, so that they may lie on the stack.
type floatRows struct {
	width   int
	head    uint64
	bits    uint
	at      int
	acc     uint64
	n       uint
	carries uint64
}

// read reads as long as the end of the bytes is far.
func (f *floatRows) read(buf []byte, lanes []uint32) (rows int) {
	width, head, bits, acc, n, carries := f.width, f.head, f.bits, f.acc, f.n, f.carries // here to stay in registers
	mask, size, at, lane := uint64(1)<<bits-1, 4*width+rowMargin, 0, 0
	for len(buf)-at >= size && len(lanes)-lane >= width {
		if n < bits {
			word := binary.LittleEndian.Uint64(buf[at:])
			if (acc|word<<(n&63))&mask != head {
				break
			}
			acc, n = word>>((bits-n)&63), 64+n-bits
			at += 8
		} else {
			if acc&mask != head {
				break
			}
			acc, n = acc>>(bits&63), n-bits
		}
		row := lanes[lane : lane+width]
		rows, lane = rows+1, lane+width
		var carry uint64
		acc, carry = readLanes(buf[at:], row, acc, n)
		carries |= carry
		if at += width / 2 * 8; width%2 == 0 {
			continue
		}
		one := acc
		if n >= 32 {
			acc, n = acc>>32, n-32
		} else {
			word := binary.LittleEndian.Uint64(buf[at:])
			at += 8
			one |= word << (n & 63)
			acc, n = word>>((32-n)&63), n+32
		}
		row[width-1] = uint32(one)
		carries |= one&exponent + exponentOne
	}
	f.at, f.acc, f.n, f.carries = at, acc, n, carries
	return rows
}

// What is added to the exponents of floats goes over into the place of the sign where all bits of one are set: it is not finite.
const (
	exponent        = 0x7F80_0000
	exponentOne     = 0x0080_0000
	exponents       = exponent<<32 | exponent
	exponentOnes    = exponentOne<<32 | exponentOne
	exponentCarries = 0x8000_0000_8000_0000
)

// readLanes reads lanes two at a time, of which the first n bits, less than 64, are in acc and the others in buf, which has
// 8 bytes for each two. It returns the bits of the last 8 bytes that are left, and what tells whether all are finite. One
// product shifts a word both to its place and into the next two lanes.
func readLanes(buf []byte, row []uint32, acc uint64, n uint) (rest, carries uint64) {
	shift := uint64(1) << (n & 63)
	for len(row) >= 8 && len(buf) >= 32 {
		from, to := (*[32]byte)(buf), (*[8]uint32)(row)
		next, low := bits.Mul64(binary.LittleEndian.Uint64(from[:]), shift)
		low |= acc
		to[0], to[1] = uint32(low), uint32(low>>32)
		acc, carries = next, carries|(low&exponents+exponentOnes)
		next, low = bits.Mul64(binary.LittleEndian.Uint64(from[8:]), shift)
		low |= acc
		to[2], to[3] = uint32(low), uint32(low>>32)
		acc, carries = next, carries|(low&exponents+exponentOnes)
		next, low = bits.Mul64(binary.LittleEndian.Uint64(from[16:]), shift)
		low |= acc
		to[4], to[5] = uint32(low), uint32(low>>32)
		acc, carries = next, carries|(low&exponents+exponentOnes)
		next, low = bits.Mul64(binary.LittleEndian.Uint64(from[24:]), shift)
		low |= acc
		to[6], to[7] = uint32(low), uint32(low>>32)
		acc, carries = next, carries|(low&exponents+exponentOnes)
		buf, row = buf[32:], row[8:]
	}
	for len(row) >= 2 && len(buf) >= 8 {
		next, low := bits.Mul64(binary.LittleEndian.Uint64(buf), shift)
		low |= acc
		row[0], row[1] = uint32(low), uint32(low>>32)
		acc, carries = next, carries|(low&exponents+exponentOnes)
		buf, row = buf[8:], row[2:]
	}
	return acc, carries
}
