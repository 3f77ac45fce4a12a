package snapshot

import (
	"math/bits"
	"slices"
)

// bitset has one bit for each network index. Sets that are combined are grown together, so their lengths are equal.
type bitset []uint64

func (b bitset) has(i uint32) bool {
	w := int(i >> 6)
	return w < len(b) && b[w]&(1<<(i&63)) != 0
}

func (b bitset) set(i uint32)   { b[i>>6] |= 1 << (i & 63) }
func (b bitset) unset(i uint32) { b[i>>6] &^= 1 << (i & 63) }

func (b bitset) clear() { clear(b) }

func (b bitset) count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

func (b bitset) any() bool {
	for _, w := range b {
		if w != 0 {
			return true
		}
	}
	return false
}

// grownTo returns b with room for n bits.
func (b bitset) grownTo(n int) bitset {
	had := len(b)
	if words := (n + 63) / 64; words > had {
		b = slices.Grow(b, words-had)[:words]
		clear(b[had:])
	}
	return b
}

// firstOf returns the lowest index of some entities of a word.
func firstOf(word uint32, of uint64) uint32 { return word<<6 + uint32(bits.TrailingZeros64(of)) }
