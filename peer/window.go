package peer

import "math/bits"

// window knows which numbers of a reliable channel are through: everything below base, and of the ReliableWindow numbers
// from there on those whose bit is set.
//
//	bit n%64 of word n/64 of the circle <=> number n, for base <= n < base+ReliableWindow
type window struct {
	base uint64 // the oldest number that is not through
	bits [ReliableWindow / 64]uint64
}

// has reports whether number n, below base+ReliableWindow, is through.
func (w *window) has(n uint64) bool {
	return n < w.base || w.bits[n/64%(ReliableWindow/64)]>>(n%64)&1 != 0
}

// set notes that number n, from base on and below base+ReliableWindow, is through, and moves base over all that are.
func (w *window) set(n uint64) {
	w.bits[n/64%(ReliableWindow/64)] |= 1 << (n % 64)
	for {
		word, at := &w.bits[w.base/64%(ReliableWindow/64)], w.base%64
		run := uint64(bits.TrailingZeros64(^(*word >> at))) // 64-at at most: what is shifted in is zero
		if run == 0 {
			return
		}
		*word &^= (1<<run - 1) << at
		w.base += run
		if at+run < 64 {
			return
		}
	}
}
