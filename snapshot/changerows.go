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

// copyFew copies three or four lanes, as most rows have.
func copyFew(to, from []uint32, n int) {
	*(*[3]uint32)(to) = [3]uint32(from)
	to[n-1] = from[n-1]
}

// ReplaceRows is Replace for many entities that have a row, as Common says, each of which is named once: lanes are
// the new values, one entity's behind the other's.
func (s *Store) ReplaceRows(ids []wire.NetworkID, row int, lanes []uint32) {
	if !s.open {
		return
	}
	n, from := int(s.schema.widths[row]), 0
	for from < len(ids) {
		to, last := from+1, ids[from].Index
		rows := uint64(1) << (last % stripeRows)
		for to < len(ids) && ids[to].Index > last && ids[to].Index/stripeRows == last/stripeRows {
			last, to = ids[to].Index, to+1
			rows |= 1 << (last % stripeRows)
		}
		s.replaceStripe(ids[from:to], row, rows, lanes[from*n:to*n])
		from = to
	}
}

// replaceStripe is ReplaceRows for entities of one stripe in ascending order, and of are its rows.
func (s *Store) replaceStripe(ids []wire.NetworkID, row int, of uint64, lanes []uint32) {
	n, first := int(s.schema.widths[row]), ids[0].Index&^(stripeRows-1)
	page := s.rows.pages[row][first/pageRows][int(first%pageRows)*n:] // which was made, since the entities have the row
	in := int(ids[0].Index % stripeRows)
	together := int(ids[len(ids)-1].Index%stripeRows) == in+len(ids)-1 // one behind the other
	if together && len(ids) > 1 || !s.swapRows(ids, row, of, page, lanes) {
		s.replaceApart(ids, row, page, lanes, together)
	}
}

// replaceApart is replaceStripe a step at a time: which rows differ, what they were, what they are, and whose they are.
func (s *Store) replaceApart(ids []wire.NetworkID, row int, page, lanes []uint32, together bool) {
	n, first, in := int(s.schema.widths[row]), ids[0].Index&^(stripeRows-1), int(ids[0].Index%stripeRows)
	var rows uint64
	if together {
		rows = s.schema.compare[row].DifferingLanes(page[in*n:], lanes, len(ids)) << in
	} else {
		rows = differing(page, ids, lanes, n)
	}
	if rows == 0 {
		return
	}
	s.past.noteRows(row, ids, rows, page, cap(s.rows.masks))
	switch {
	case together:
		copy(page[in*n:], lanes)
	case n == 3 || n == 4:
		for k, id := range ids {
			copyFew(page[int(id.Index%stripeRows)*n:], lanes[k*n:(k+1)*n], n)
		}
	default:
		for k, id := range ids {
			copy(page[int(id.Index%stripeRows)*n:], lanes[k*n:(k+1)*n])
		}
	}
	s.touchRows(first/stripeRows, rows)
	s.count += bits.OnesCount64(rows)
}

// differing is which rows of a stripe are not what the lanes of the entities are, one bit for each.
func differing(page []uint32, ids []wire.NetworkID, lanes []uint32, n int) (rows uint64) {
	switch n {
	case 3:
		for k, id := range ids {
			a, b := (*[3]uint32)(page[id.Index%stripeRows*3:]), (*[3]uint32)(lanes[k*3:])
			rows |= uint64(one(uint64((a[0]^b[0])|(a[1]^b[1])|(a[2]^b[2])))) << (id.Index % stripeRows)
		}
	case 4:
		for k, id := range ids {
			a, b := (*[4]uint32)(page[id.Index%stripeRows*4:]), (*[4]uint32)(lanes[k*4:])
			rows |= uint64(one(uint64((a[0]^b[0])|(a[1]^b[1])|(a[2]^b[2])|(a[3]^b[3])))) << (id.Index % stripeRows)
		}
	default:
		for k, id := range ids {
			if in := int(id.Index % stripeRows); !slices.Equal(page[in*n:in*n+n], lanes[k*n:(k+1)*n]) {
				rows |= 1 << in
			}
		}
	}
	return rows
}

// noteRows is note for rows of one stripe, which were there: those of the
// entities, in ascending order, whose bit is set. The page is what all rows of the
// stripe are.
func (h *history) noteRows(row int, ids []wire.NetworkID, rows uint64, page []uint32, want int) {
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
		h.keepRows(h.value(c.lane, int(c.room)*stride), p, s, number, rows, page)
		return
	}
	for left := rows; left != 0; left &= left - 1 {
		in := bits.TrailingZeros64(left)
		to := h.insert(c, 1<<in, ageLanes+n)
		to[0] = h.age(p.lastOf(s, number*stripeRows+uint32(in)))
		copy(to[ageLanes:], page[in*n:(in+1)*n])
	}
}

// keepRows writes what rows of a stripe were behind how long they had been so, one behind the other. They have three or four lanes.
func (h *history) keepRows(to []uint32, p *pastRow, s *stripe, number uint32, rows uint64, page []uint32) {
	n, recent, since := p.width, h.age(s.before), p.since[number*stripeRows:]
	stride := ageLanes + n
	if runs := bits.OnesCount64(rows &^ (rows << 1)); 4*runs > bits.OnesCount64(rows) {
		for left := rows; left != 0; left &= left - 1 {
			in := bits.TrailingZeros64(left)
			age := recent
			if s.others>>in&1 == 0 {
				age = h.age(since[in])
			}
			of := to[:stride]
			of[0] = age
			copyFew(of[ageLanes:], page[in*n:][:n], n)
			to = to[stride:]
		}
		return
	}
	// Most lie one behind the other, and most changed in the tick before as well.
	for left, at := rows, to; left != 0; {
		in := bits.TrailingZeros64(left)
		run := bits.TrailingZeros64(^(left >> in))
		if from := page[in*n:][:run*n]; n == 3 {
			keepRun3(at, from, recent)
		} else {
			keepRun4(at, from, recent)
		}
		at, left = at[run*stride:], left&(^uint64(0)<<(in+run))
	}
	for left := rows &^ s.others; left != 0; left &= left - 1 {
		in := bits.TrailingZeros64(left)
		to[bits.OnesCount64(rows&(1<<in-1))*stride] = h.age(since[in])
	}
}

// keepRun3 writes rows of three lanes behind their age.
func keepRun3(to, from []uint32, age uint32) {
	for ; len(from) >= 3 && len(to) >= 4; from, to = from[3:], to[4:] {
		v, old := (*[4]uint32)(to), (*[3]uint32)(from)
		v[0], v[1], v[2], v[3] = age, old[0], old[1], old[2]
	}
}

// keepRun4 writes rows of four lanes behind their age.
func keepRun4(to, from []uint32, age uint32) {
	for ; len(from) >= 4 && len(to) >= 5; from, to = from[4:], to[5:] {
		to[0] = age
		*(*[4]uint32)(to[1:]) = [4]uint32(from)
	}
}
