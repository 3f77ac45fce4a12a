package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/tick"
)

// blockMemory is the memory of the blocks of a history. A large tick gives its memory back when it leaves, for the next large one,
// wherever in the ring that lies. The history thus takes what its ticks need together; otherwise each block would grow to the size of
// the largest tick.
type blockMemory struct {
	versions slabs[version]
	lanes    slabs[uint32]
	order    slabs[int32]
}

// bytes counts all of it, spare or in use.
func (m *blockMemory) bytes() int {
	return m.versions.made*versionSize + m.lanes.made*laneSize + m.order.made*laneSize
}

// leave empties a block whose tick leaves. It takes back memory of which the tick used little.
func (m *blockMemory) leave(b *tickBlock) {
	b.tick, b.ordered = tick.None, 0
	b.versions, b.lanes, b.order = m.versions.leave(b.versions), m.lanes.leave(b.lanes), m.order.leave(b.order)
}

const (
	versionSize = 48

	// leastSlab is the capacity up to which memory stays with its block.
	leastSlab = 64
	// mostSlack is how many times as much memory as it had elements a block may keep when its tick leaves.
	mostSlack = 4
	// mostClasses is by how many powers of two spare memory may be larger than a block needs. A game that slows down to a tenth
	// allocates nothing. Larger memory is left to the ticks that need it.
	mostClasses = 4
)

// slabs is memory of one kind. Capacities are powers of two.
type slabs[T any] struct {
	spare [bits.UintSize][][]T // by the logarithm of their capacity
	usual int                  // eight times as many elements as ticks had lately
	made  int                  // elements that there is memory for, spare or in use
}

// grow returns s with room for n more.
func (p *slabs[T]) grow(s []T, n int) []T {
	need := len(s) + n
	if need <= cap(s) {
		return s
	}
	if cap(s) == 0 {
		return p.take(max(need, leastSlab, p.usual/8))
	}
	larger := append(p.take(2*need), s...)
	p.give(s)
	return larger
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
	class := bits.Len(uint(cap(s) - 1))
	p.spare[class] = append(p.spare[class], s[:0])
}

// leave empties memory of a block. It takes back memory of which the tick used little.
func (p *slabs[T]) leave(s []T) []T {
	p.usual += len(s) - p.usual/8
	if cap(s) <= leastSlab || cap(s) <= mostSlack*len(s) {
		return s[:0]
	}
	p.give(s)
	return nil
}
