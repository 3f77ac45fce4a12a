package wire

import (
	"hash/crc32"
	"math/bits"
)

// Tail is the end of several packets: its own checksum is known, so that those of the packets need not be made from its bytes
// again. The zero value is no tail.
type Tail struct {
	sum  uint32
	size int
	over *TailSize
}

// TailSize takes a checksum over so many bytes, whatever these are. The zero value is for none.
type TailSize struct {
	size  int
	table [4][256]uint32
}

// Size is for how many bytes Prepare was called.
func (s *TailSize) Size() int { return s.size }

// Prepare makes s good for tails of a size.
func (s *TailSize) Prepare(size int) {
	s.size = size
	power, square := uint32(1)<<31, uint32(1)<<30 // 1, and x, with the highest power in bit 0
	for n := uint(8 * size); n > 0; n >>= 1 {
		if n&1 != 0 {
			power = crcProduct(power, square)
		}
		square = crcProduct(square, square)
	}
	for bit := 31; bit >= 0; bit-- { // the lower the bit, the higher the power of x that it stands for
		s.table[bit/8][1<<(bit%8)] = power
		power = power>>1 ^ -(power&1)&crc32.IEEE
	}
	for k := range s.table {
		t := &s.table[k]
		for b := range t {
			if low := b & -b; low != b {
				t[b] = t[low] ^ t[b^low]
			}
		}
	}
}

// crcProduct is the product of two polynomials modulo that of CRC-32.
func crcProduct(a, b uint32) (p uint32) {
	for ; a != 0; a &^= 1 << 31 >> bits.LeadingZeros32(a) {
		v := b
		for range bits.LeadingZeros32(a) {
			v = v>>1 ^ -(v&1)&crc32.IEEE
		}
		p ^= v
	}
	return p
}

// Tail is the tail that b is; Prepare was called for as many bytes.
func (s *TailSize) Tail(b []byte) Tail {
	return Tail{sum: crc32.ChecksumIEEE(b), size: len(b), over: s}
}

// SumTail is Sum of a packet's bytes of which the last ones are a tail.
func (c Checksum) SumTail(b []byte, t Tail) uint32 {
	if t.size == 0 || t.over.size != t.size || t.size > len(b) {
		return c.Sum(b)
	}
	sum, over := c.Sum(b[:len(b)-t.size]), &t.over.table
	return over[0][byte(sum)] ^ over[1][byte(sum>>8)] ^ over[2][byte(sum>>16)] ^ over[3][byte(sum>>24)] ^ t.sum
}
