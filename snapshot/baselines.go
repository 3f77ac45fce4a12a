package snapshot

import (
	"iter"
	"math"
	"slices"

	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Baselines yields the versions that a packet of the store's tick refers to, so that the server can read its own payload: see
// replica.Replica.Load. It yields nothing for another packet. Call it before the next acknowledgement, change of sight or commit. An
// entity without a record in the packet has no rows: lists only count it. The lanes are valid until the next version.
func (v *View) Baselines(sequence wire.Sequence) iter.Seq[format.Baseline] {
	return func(yield func(format.Baseline) bool) {
		p := v.sent.get(v.sent.newest - uint64(wire.Sequence(v.sent.newest)-sequence))
		if p == nil || p.tick != v.store.tick || p.n == 0 {
			return
		}
		written, first, last := make([]uint64, len(v.pages)), uint32(math.MaxUint32), uint32(0)
		for i := range p.n {
			if g := v.sent.group(p, i); !g.despawn {
				written[g.word] |= g.of
				first, last = min(first, g.word), max(last, g.word)
			}
		}
		var lanes []uint32
		for w := first; w <= last; w++ {
			g := &v.pages[w]
			for of := written[w] | g.refOf | g.nearOf; of != 0; of &= of - 1 {
				if !v.baselinesOf(firstOf(w, of), written[w]&(of&-of) != 0, &lanes, yield) {
					return
				}
			}
		}
	}
}

// baselinesOf yields the versions of an index: those of R and N, and if it has a record those of T and T'.
func (v *View) baselinesOf(index uint32, written bool, lanes *[]uint32, yield func(format.Baseline) bool) bool {
	g, bit := &v.pages[index/format.PageEntities], uint64(1)<<(index%format.PageEntities)
	a, ticks := v.ack(index), [4]tick.Tick{}
	if g.refOf&bit != 0 {
		ticks[0] = g.ref
	}
	if g.nearOf&bit != 0 {
		ticks[1] = g.near
	}
	if written && a.base != tick.None {
		ticks[2] = a.base
		if a.span > 0 {
			ticks[3] = a.base - tick.Tick(a.span)
		}
	}
	for i, t := range ticks {
		if t == tick.None || slices.Contains(ticks[i+1:], t) {
			continue
		}
		b := format.Baseline{ID: wire.NetworkID{Index: index, Generation: v.lifetimes[index].generation}, Tick: t}
		if t == a.base {
			b.Base = ticks[3]
		}
		if written {
			if b.Rows = v.maskOf(index); i >= 2 {
				b.Rows = v.shown(index, b.Rows)
			}
			*lanes = v.store.appendAsOf((*lanes)[:0], index, b.Rows, t)
			b.Lanes = *lanes
		}
		if !yield(b) {
			return false
		}
	}
	return true
}

// appendAsOf appends the lanes of some rows of an index as of tick t. A row that the history does not have is zero: no record is coded
// against it.
func (s *Store) appendAsOf(lanes []uint32, index uint32, rows Mask, t tick.Tick) []uint32 {
	for m := rows.Minus(s.schema.Tags); !m.IsZero(); m = m.Rest() {
		row := m.Lowest()
		from := len(lanes)
		lanes = append(lanes, make([]uint32, s.schema.Widths[row])...)
		copy(lanes[from:], s.rowAsOf(index, row, t))
	}
	return lanes
}

// rowAsOf returns a row as of tick t, or nil if the history does not have it. The slice is the store's own.
func (s *Store) rowAsOf(index uint32, row int, t tick.Tick) []uint32 {
	if s.rows.masks[index].Has(row) && s.sinceOf(index, row) <= t {
		return s.rows.row(index, row)
	}
	return s.past.rowAt(row, index, t)
}

// AckedRow returns a row of the newest record that the client has acknowledged of an entity, and the tick of that record. It returns
// false if there is no such row. lanes is nil if the row is older than the server's history; it is the store's own.
func (v *View) AckedRow(id wire.NetworkID, row int) (lanes []uint32, t tick.Tick, ok bool) {
	if !v.Held(id) {
		return nil, tick.None, false
	}
	if t = v.ack(id.Index).base; t == tick.None || !v.shown(id.Index, v.maskOf(id.Index)).Has(row) {
		return nil, tick.None, false
	}
	return v.store.rowAsOf(id.Index, row, t), t, true
}

// Config returns the limits of the store.
func (s *Store) Config() Config { return s.cfg }
