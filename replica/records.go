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
	e := EntityRange{Index: v.index, Generation: v.generation, Mask: v.mask, Tick: s.block.tick, First: v.first, Count: 1}
	e.Width = int32(s.replica.layouts.of(v.mask).lanes)
	index, first := v.index, v.first
	rest := s.block.versions[i+1:]
	for k := range rest {
		v := &rest[k]
		index, first = index+1, first+e.Width
		if v.index != index || v.first != first || v.mask != e.Mask || v.generation != e.Generation {
			break
		}
		e.Count++
	}
	return e
}

// LastRead returns the tick of the payload that was decoded last, tick.None before any.
func (r *Replica) LastRead() tick.Tick { return r.lastRead }
