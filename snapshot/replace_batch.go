package snapshot

import (
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode/wire"
)

// replaceBatch does what ReplaceRows does, stripe by stripe. The plain code that it equals is Replace for each entity.
func (s *Store) replaceBatch(ids []wire.NetworkID, row int, lanes []uint32) {
	if !s.open {
		return
	}
	n, from := int(s.schema.Widths[row]), 0
	for from < len(ids) {
		to := from + 1
		for to < len(ids) && ids[to].Index > ids[to-1].Index && ids[to].Index/stripeRows == ids[from].Index/stripeRows {
			to++
		}
		s.replaceStripe(ids[from:to], row, lanes[from*n:to*n])
		from = to
	}
}

// replaceStripe replaces a row of entities of one stripe, in ascending order: it finds the rows that differ, writes their old values into
// the history, copies the new values, and notes the changed entities.
func (s *Store) replaceStripe(ids []wire.NetworkID, row int, lanes []uint32) {
	n, first := int(s.schema.Widths[row]), ids[0].Index&^(stripeRows-1)
	page := s.rows.pages[row][first/pageRows][int(first%pageRows)*n:] // exists, since the entities have the row
	rows := s.differing(row, page, ids, lanes)
	if rows == 0 {
		return
	}
	s.past.noteRows(row, ids, rows, page, cap(s.rows.masks))
	for k, id := range ids {
		copy(page[int(id.Index%stripeRows)*n:], lanes[k*n:(k+1)*n])
	}
	s.touchRows(first/stripeRows, rows)
	s.count += bits.OnesCount64(rows)
}

// differing returns a bit for each entity whose row in the stripe differs from its new lanes.
func (s *Store) differing(row int, page []uint32, ids []wire.NetworkID, lanes []uint32) (rows uint64) {
	n, in := int(s.schema.Widths[row]), int(ids[0].Index%stripeRows)
	if int(ids[len(ids)-1].Index%stripeRows) == in+len(ids)-1 { // the indexes are consecutive
		return s.schema.Compare[row].DifferingLanes(page[in*n:], lanes, len(ids)) << in
	}
	for k, id := range ids {
		if in := int(id.Index % stripeRows); !slices.Equal(page[in*n:in*n+n], lanes[k*n:(k+1)*n]) {
			rows |= 1 << in
		}
	}
	return rows
}

// noteRows does what note does for rows of one stripe that the entities have: those of rows. ids are the entities, in ascending order.
// page is the present lanes of the whole stripe.
func (h *history) noteRows(row int, ids []wire.NetworkID, rows uint64, page []uint32, want int) {
	p, number := h.past(row, ids[len(ids)-1].Index, want), ids[0].Index/stripeRows
	s, n := &p.stripes[number], p.width
	p.advanceTo(s, number, h.now)
	if rows &^= s.rows; rows == 0 {
		return
	}
	c := h.open(s, row, number, bits.OnesCount64(rows), 0)
	s.rows |= rows
	for left := rows; left != 0; left &= left - 1 {
		in := bits.TrailingZeros64(left)
		to := h.insert(c, 1<<in, ageLanes+n)
		to[0] = h.age(p.lastOf(s, number*stripeRows+uint32(in)))
		copy(to[ageLanes:], page[in*n:(in+1)*n])
	}
}
