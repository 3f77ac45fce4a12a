package snapshot

import "math/bits"

// blockMemory is the memory of the blocks of a history. A large tick gives its memory back when it leaves, for the next large
// one, wherever in the ring that lies. So the history takes what its ticks need together. Without that each block grew to the
// size of the largest tick.
type blockMemory struct {
	versions slabs[version]
	lanes    slabs[uint32]
	listed   slabs[listSpan]
	spans    slabs[listSpan]
	runs     slabs[run]
}

// bytes is all of it, spare or in use.
func (m *blockMemory) bytes() int {
	return m.versions.made*versionSize + m.lanes.made*laneSize + (m.listed.made+m.spans.made)*listSpanSize + m.runs.made*runSize
}

const (
	versionSize  = 56
	listSpanSize = 12
	runSize      = 88

	// leastSlab is the capacity up to which memory stays with its tick.
	leastSlab = 64
	// mostSlack is how many times as much memory as it had elements a tick may keep when it leaves.
	mostSlack = 4
	// mostClasses is by how many powers of two spare memory may be larger than a tick needs. A game that slows down to a tenth
	// allocates nothing. What is larger still is left to the ticks that need it.
	mostClasses = 4
)

// slabs is memory of one kind. Capacities are powers of two.
type slabs[T any] struct {
	spare [bits.UintSize][][]T // by the logarithm of their capacity
	usual int                  // eight times as many elements as ticks had lately
	made  int                  // elements that there is memory for, spare or in use
}

// grow returns s with room for n more, for least at first. It may be other memory: then the old one stays as it is until it is
// given back.
func (p *slabs[T]) grow(s []T, n, least int) []T {
	need := len(s) + n
	if need <= cap(s) {
		return s
	}
	if cap(s) == 0 {
		return p.take(max(need, least, p.usual/8))
	}
	return append(p.take(2*need), s...)
}

// take returns memory for n elements or more.
func (p *slabs[T]) take(n int) []T {
	class := bits.Len(uint(n - 1))
	for k := class; k <= min(class+mostClasses, bits.UintSize-1); k++ {
		if last := len(p.spare[k]) - 1; last >= 0 {
			s := p.spare[k][last]
			p.spare[k] = p.spare[k][:last]
			return s
		}
	}
	p.made += 1 << class
	return make([]T, 0, 1<<class)
}

// give takes memory back.
func (p *slabs[T]) give(s []T) {
	if cap(s) > 0 {
		class := bits.Len(uint(cap(s) - 1))
		p.spare[class] = append(p.spare[class], s[:0])
	}
}

// leave returns the memory that a block keeps when its tick leaves. Memory of which the tick used little is given back.
func (p *slabs[T]) leave(s []T) []T {
	p.usual += len(s) - p.usual/8
	if cap(s) <= leastSlab || cap(s) <= mostSlack*len(s) {
		return s
	}
	p.give(s)
	return nil
}

// same reports whether two slices begin at the same place.
func same[T any](a, b []T) bool {
	return cap(a) > 0 && cap(b) > 0 && &a[:1][0] == &b[:1][0]
}

// moved returns grown and gives the old memory back if it is another, unless it is that of the block, which is still read.
func moved[T any](p *slabs[T], old, grown, block []T) []T {
	if !same(old, grown) && !same(old, block) {
		p.give(old)
	}
	return grown
}
