package replica

import (
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// Records is the list of decoded records of one tick, in the order of their arrival. It is valid until the next payload
// is read.
type Records struct {
	replica *Replica
	block   *tickBlock
}

// Records returns the records of a tick. It is empty if the tick has left the history.
func (r *Replica) Records(t tick.Tick) Records {
	b := r.history.empty
	if t > r.history.horizon {
		if b = r.history.block(t); b.tick != t {
			b = r.history.empty
		}
	}
	return Records{replica: r, block: b}
}

// Len returns the number of records. While the tick is in the history the number only grows, and records keep their
// positions.
func (s Records) Len() int { return len(s.block.versions) }

// RangeAt returns the longest range of records that begins with the i-th. It has at least one entity.
func (s Records) RangeAt(i int) EntityRange {
	v := &s.block.versions[i]
	mask, generation, width := v.mask, v.generation, s.replica.layouts.of(v.mask).lanes
	count, index, offset := 1, v.index, int(v.first)
	for rest := s.block.versions[i+1:]; count <= len(rest); count++ {
		v := &rest[count-1]
		index, offset = index+1, offset+width
		if v.index != index || int(v.first) != offset || v.mask != mask || v.generation != generation {
			break
		}
	}
	v = &s.block.versions[i]
	return EntityRange{Index: v.index, Generation: generation, Mask: mask, Count: uint32(count), Tick: s.block.tick, Width: width, offset: int(v.first)}
}

// LastRead returns the tick of the last decoded payload, or tick.None.
func (r *Replica) LastRead() tick.Tick { return r.lastRead }

// RecordAt returns the rows of the record of an index at a tick, and the tick of that record's baseline, or tick.None.
// It returns false if there is no such record.
func (r *Replica) RecordAt(index uint32, t tick.Tick) (rows format.Mask, base tick.Tick, ok bool) {
	of := r.baseline(index, t)
	if of.version == nil {
		return format.Mask{}, tick.None, false
	}
	return of.version.mask, of.version.base(t), true
}

// RowAt returns the lanes of a row of the record of tick t, or nil if the entity lacked the row. It returns false if no record of
// the entity was decoded at t, or if t is about two windows ago or more. The slice belongs to the Replica.
func (r *Replica) RowAt(index uint32, row int, t tick.Tick) ([]uint32, bool) {
	if t > r.newest || t <= r.history.horizon {
		return nil, false
	}
	base := r.baseline(index, t)
	if base.version == nil {
		return nil, false
	}
	lanes, _ := r.baseRow(&base, row)
	return lanes, true
}
