package snapshot

import (
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode/wire"
)

// Rows of one component that have another value come many at a time. What is
// known of an entity lies in a dozen lines of memory that nobody has looked at
// since the tick before: taken a step at a time for all rows, such lines are
// under way at once, where one row after the other waits for each of them.

// Common is the rows that all of some entities have, none when one of them does
// not live.
func (s *Store) Common(ids []wire.NetworkID) Mask {
	all := ^Mask(0)
	for _, id := range ids {
		if int(id.Index) >= len(s.gens) || s.gens[id.Index] != id.Generation || !s.alive.has(id.Index) {
			return 0
		}
		all &= s.rows.masks[id.Index]
	}
	return all
}

// Rows is the newest lanes of a row of many entities, one behind the other. It is
// to be one that they have, as Common says.
func (s *Store) Rows(ids []wire.NetworkID, row int, lanes []uint32) {
	n, pages := int(s.schema.widths[row]), s.rows.pages[row] // which were made, since the entities have the row
	if n != 3 && n != 4 {
		for k, id := range ids {
			copy(lanes[k*n:(k+1)*n], s.rows.row(id.Index, row))
		}
		return
	}
	lanes = lanes[:len(ids)*n]
	for k, id := range ids {
		copyFew(lanes[k*n:], pages[id.Index/pageRows][int(id.Index%pageRows)*n:], n)
	}
}

// copyFew copies three or four lanes, as most rows have.
func copyFew(to, from []uint32, n int) {
	*(*[3]uint32)(to) = [3]uint32(from)
	to[n-1] = from[n-1]
}

// ReplaceRows is Replace for many entities, each of which is named once: old is
// what Rows has just given, and lanes the new values.
func (s *Store) ReplaceRows(ids []wire.NetworkID, row int, old, lanes []uint32) {
	if !s.open {
		return
	}
	n := int(s.schema.widths[row])
	for len(ids) > 0 {
		to, last := 1, ids[0].Index
		for to < len(ids) && ids[to].Index > last && ids[to].Index/stripeRows == last/stripeRows {
			last, to = ids[to].Index, to+1
		}
		s.replaceStripe(ids[:to], row, old[:to*n], lanes[:to*n])
		ids, old, lanes = ids[to:], old[to*n:], lanes[to*n:]
	}
}

// replaceStripe is ReplaceRows for entities of one stripe in ascending order.
func (s *Store) replaceStripe(ids []wire.NetworkID, row int, old, lanes []uint32) {
	n, first := int(s.schema.widths[row]), ids[0].Index&^(stripeRows-1)
	page := s.rows.pages[row][first/pageRows][int(first%pageRows)*n:]
	rows := uint64(0)
	if n == 3 || n == 4 {
		for k, id := range ids {
			was, is, in := old[k*n:(k+1)*n], lanes[k*n:(k+1)*n], id.Index%stripeRows
			differ := (was[0] ^ is[0]) | (was[1] ^ is[1]) | (was[2] ^ is[2]) | (was[n-1] ^ is[n-1])
			rows |= uint64(one(uint64(differ))) << in
			copyFew(page[int(in)*n:], is, n)
		}
	} else {
		for k, id := range ids {
			is, in := lanes[k*n:(k+1)*n], id.Index%stripeRows
			if !slices.Equal(old[k*n:(k+1)*n], is) {
				rows |= 1 << in
				copy(page[int(in)*n:], is)
			}
		}
	}
	if rows != 0 {
		s.past.noteRows(row, ids, rows, old, cap(s.rows.masks))
		s.touchRows(first/stripeRows, rows)
		s.count += bits.OnesCount64(rows)
	}
}

// noteRows is note for rows of one stripe, which were there: those of the
// entities, in ascending order, whose bit is set. Lanes are of each entity.
func (h *history) noteRows(row int, ids []wire.NetworkID, rows uint64, lanes []uint32, want int) {
	p, number := h.past(row, ids[len(ids)-1].Index, want), ids[0].Index/stripeRows
	s, n := &p.stripes[number], p.width
	p.turn(s, number, h.now)
	if rows &^= s.rows; rows == 0 {
		return
	}
	c := h.open(s, row, number, bits.OnesCount64(rows), 0)
	s.rows |= rows
	if stride := ageLanes + n; c.there == 0 && (n == 3 || n == 4) {
		c.rows, c.there = c.rows|rows, rows
		to, recent := h.value(c.lane, int(c.room)*stride), h.age(s.before)
		for k, id := range ids {
			if in := id.Index % stripeRows; rows>>in&1 != 0 {
				if to[0] = recent; s.others>>in&1 == 0 {
					to[0] = h.age(p.since[id.Index])
				}
				copyFew(to[ageLanes:], lanes[k*n:(k+1)*n], n)
				to = to[stride:]
			}
		}
		return
	}
	for k, id := range ids {
		if bit := uint64(1) << (id.Index % stripeRows); rows&bit != 0 {
			to := h.insert(c, bit, ageLanes+n)
			to[0] = h.age(p.lastOf(s, id.Index))
			copy(to[ageLanes:], lanes[k*n:(k+1)*n])
		}
	}
}

// touchRows is touch for entities of one word.
func (s *Store) touchRows(w uint32, rows uint64) {
	if s.changed[w] == 0 {
		s.words = append(s.words, w)
	}
	rows &^= s.changed[w]
	s.changed[w] |= rows
	for now, moved, before := s.tick, s.moved, s.before; rows != 0; rows &= rows - 1 {
		index := int(w)<<6 + bits.TrailingZeros64(rows)
		before[index], moved[index] = moved[index], now
	}
}
