package snapshot

import (
	"slices"

	"github.com/arche-netcode/netcode/tick"
)

// maskOf is the rows of an entity that the client may see.
func (v *View) maskOf(index uint32) Mask {
	return v.store.rows.masks[index] & v.rowsOf(index)
}

// entity writes one record: all rows that the client may see, in the state of
// this tick (rule 1).
func (p *packetWriter) entity(index uint32) {
	p.gap(index)
	q, mask := &p.v.slots[index], p.v.maskOf(index)
	p.w.Bool(q.base != tick.None)
	if q.base == tick.None {
		p.w.Var(uint64(q.generation))
		p.w.Write(uint64(mask), uint(p.v.store.schema.Rows()))
		for ; mask != 0; mask &= mask - 1 {
			p.absolute(index, mask.next())
		}
		return
	}
	p.writeAge(uint64(p.s - q.base))
	p.writeMask(q, mask)
	for ; mask != 0; mask &= mask - 1 {
		p.row(index, q, mask.next())
	}
}

// writeAge says how far back the baseline lies.
func (p *packetWriter) writeAge(age uint64) {
	p.w.Bool(age == p.age)
	if age != p.age {
		p.w.Var(age - 1)
		p.age = age
	}
}

// writeMask says which rows are present. "As at T" may be said while the
// client is sure to hold the record of T itself, inside the window; past it,
// the client may only hold a newer one.
func (p *packetWriter) writeMask(q *slot, mask Mask) {
	same := q.mask == mask && p.inWindow(q)
	p.w.Bool(same)
	if !same {
		p.w.Write(uint64(mask), uint(p.v.store.schema.Rows()))
	}
}

// inWindow reports whether the client is sure to hold the record of T itself,
// if not all later ones.
func (p *packetWriter) inWindow(q *slot) bool { return p.s-q.base < p.v.store.cfg.Window }

// row writes one row of a record against T: as it was then, as what differs
// from it, or whole, where the client was not shown it at T or either end may
// not hold it as of T any more (rules 2, 3).
func (p *packetWriter) row(index uint32, q *slot, row int) {
	s := p.v.store
	personal := p.v.touchedAt(index) > q.base
	held := q.mask.Has(row) && (!personal || p.inWindow(q))
	named := personal && s.schema.refs.Has(row)
	if held && !named && s.sinceOf(index, row) <= q.base {
		p.same()
		return
	}
	if held && !s.schema.refs.Has(row) {
		if c := s.past.rowAt(index, row, q.base); c != nil && c.there {
			p.delta(index, row, s.past.lanesOf(c))
			return
		}
	}
	p.w.Bool(true)
	p.w.Bool(false)
	p.absolute(index, row)
}

// same says that a row is as it was at T.
func (p *packetWriter) same() {
	p.w.Bool(false)
	p.v.stats.Unchanged++
}

// delta writes what differs from a row's lanes at T.
func (p *packetWriter) delta(index uint32, row int, before []uint32) {
	now := p.v.store.rows.row(index, row)
	if slices.Equal(before, now) {
		p.same() // it went away from there and came back
		return
	}
	p.w.Bool(true)
	p.w.Bool(true)
	p.v.store.schema.plans[row].WriteNext(&p.w, before, now)
	p.v.stats.Deltas++
}

// absolute writes a row whole. Fields that name an entity which this client
// does not see name nobody.
func (p *packetWriter) absolute(index uint32, row int) {
	v, s := p.v, p.v.store
	v.stats.Rows++
	if !s.schema.refs.Has(row) {
		s.schema.plans[row].WritePacked(&p.w, s.packedRow(index, row))
		return
	}
	v.lanes = append(v.lanes[:0], s.rows.row(index, row)...)
	for _, lane := range s.schema.plans[row].Refs() {
		if id := refAt(v.lanes, lane); !v.Visible(id) || v.slots[id.Index].life > p.s {
			v.lanes[lane], v.lanes[lane+1] = 0, 0
		}
	}
	s.schema.plans[row].WriteRow(&p.w, v.lanes)
}
