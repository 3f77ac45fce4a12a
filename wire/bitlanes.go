package wire

import "encoding/binary"

// ReadFloats reads numbers of 32 bits that are the bits of finite floats: lanes of float32 fields that travel exactly. It returns false, with lanes worth
// nothing and the reader failed, if the bits end or a float is not finite.
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

// floats reads lanes of 32 bits, two at a time, if the reader has all the bytes that this takes, and returns how many. It returns false if one is not
// finite: adding one to an exponent of all ones carries into the sign's place.
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
		both := acc | word<<n // n is 64 at most, for which there is nothing to shift in
		acc = word >> (64 - n)
		carries |= both&exponents + ones
		lanes[0], lanes[1] = uint32(both), uint32(both>>32)
	}
	r.acc = acc
	return 2 * words, carries&signs == 0
}

// Numbers appends numbers, each in its width of 0 to 63 bits, as Write would one after the other. There are as many widths as numbers.
func (w *BitWriter) Numbers(numbers []uint32, widths []uint8) {
	acc, n := w.acc, w.n // here and not in w, to stay in registers
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

// Numbers reads what BitWriter.Numbers wrote with the same widths, and reports whether the bits did not end.
func (r *BitReader) Numbers(numbers []uint32, widths []uint8) bool {
	acc, n := r.acc, r.n // here and not in r, to stay in registers
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
