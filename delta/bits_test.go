package delta

// dumbBits is the model of a bit stream: one bool a bit.
type dumbBits []bool

// bytes packs the model, bit 0 of byte 0 first.
func (d dumbBits) bytes() []byte {
	b := make([]byte, (len(d)+7)/8)
	for i, bit := range d {
		if bit {
			b[i/8] |= 1 << (i % 8)
		}
	}
	return b
}

// low returns the bits low bits of v.
func low(v uint64, bits uint) uint64 {
	if bits == 64 {
		return v
	}
	return v & (1<<bits - 1)
}
