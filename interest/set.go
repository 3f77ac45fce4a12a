package interest

import "math/bits"

// Set is a bitset of living entities: bit i of word w is network index 64w+i. It may be shorter than the number of entities;
// missing words are zero.
type Set []uint64

// Has reports whether the entity at index is in the set.
func (s Set) Has(index uint32) bool { return s.word(int(index>>6))&(1<<(index&63)) != 0 }

// Len returns the number of entities in the set.
func (s Set) Len() int {
	n := 0
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// All yields the indexes in the set in ascending order.
func (s Set) All(yield func(index uint32) bool) {
	for w, word := range s {
		for ; word != 0; word &= word - 1 {
			if !yield(indexOf(w, word)) {
				return
			}
		}
	}
}

// indexOf returns the index of the lowest bit of word number w, which is not zero.
func indexOf(w int, word uint64) uint32 { return uint32(w<<6 + bits.TrailingZeros64(word)) }

func (s Set) word(w int) uint64 {
	if w < len(s) {
		return s[w]
	}
	return 0
}

// equal reports whether two sets contain the same entities.
func (s Set) equal(other Set) bool {
	for w := range max(len(s), len(other)) {
		if s.word(w) != other.word(w) {
			return false
		}
	}
	return true
}

// add adds an index. The set grows if needed.
func (s *Set) add(index uint32) {
	s.grow(int(index>>6) + 1)
	(*s)[index>>6] |= 1 << (index & 63)
}

func (s Set) remove(index uint32) {
	if w := int(index >> 6); w < len(s) {
		s[w] &^= 1 << (index & 63)
	}
}

// removeAll removes the entities of other.
func (s Set) removeAll(other Set) {
	for w := range min(len(s), len(other)) {
		s[w] &^= other[w]
	}
}

// addAll adds the entities of other.
func (s *Set) addAll(other Set) {
	s.grow(len(other))
	for w, word := range other {
		(*s)[w] |= word
	}
}

// grow makes the set at least words long.
func (s *Set) grow(words int) {
	if words <= len(*s) {
		return
	}
	if words > cap(*s) {
		next := make(Set, words, max(words, 2*cap(*s)))
		copy(next, *s)
		*s = next
		return
	}
	from := len(*s)
	*s = (*s)[:words]
	clear((*s)[from:])
}

// reset empties the set and makes it words long.
func (s *Set) reset(words int) {
	*s = (*s)[:0]
	s.grow(words)
}
