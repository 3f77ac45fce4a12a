package replica

import "github.com/arche-netcode/netcode/tick"

// Records is the records that were decoded of one tick, in the order in which they came. It is valid until the next payload is read.
type Records struct {
	replica *Replica
	block   *tickBlock
}

// Records returns the records of a tick. There are none of a tick that has left the history.
func (r *Replica) Records(t tick.Tick) Records {
	b := r.history.empty
	if t > r.history.horizon {
		if b = r.history.block(t); b.tick != t {
			b = r.history.empty
		}
	}
	return Records{replica: r, block: b}
}

// Len returns the number of records. It only grows while a tick is kept, and those that there are stay in their places.
func (s Records) Len() int { return len(s.block.versions) }

// Range returns the records from the i-th on that are of entities with consecutive indexes, the same generation and the same rows, and
// whose lanes follow each other: see Replica.Lanes and Replica.Place. There is one at least.
func (s Records) Range(i int) EntityRange {
	v := &s.block.versions[i]
	mask, generation, width := v.mask, v.generation, int32(s.replica.layouts.of(v.mask).lanes)
	count, index, first := 1, v.index, v.first
	for rest := s.block.versions[i+1:]; count <= len(rest); count++ {
		v := &rest[count-1]
		index, first = index+1, first+width
		if v.index != index || v.first != first || v.mask != mask || v.generation != generation {
			break
		}
	}
	v = &s.block.versions[i]
	return EntityRange{Index: v.index, Generation: generation, Mask: mask, Tick: s.block.tick, First: v.first, Width: width, Count: uint32(count)}
}

// LastRead returns the tick of the payload that was decoded last, tick.None before any.
func (r *Replica) LastRead() tick.Tick { return r.lastRead }
