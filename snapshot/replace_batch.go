package snapshot

import (
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode/wire"
)

// Often many rows of one component change in a tick. Each step is done for all rows of a stripe before the next step: so many cache
// misses overlap.

// replaceBatch does what ReplaceRows does, stripe by stripe. The plain code that it equals is Replace for each entity.
func (s *Store) replaceBatch(ids []wire.NetworkID, row int, lanes []uint32) {
	if !s.open {
		return
	}
	n, from := int(s.schema.Widths[row]), 0
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

// copyFew copies three or four lanes: most rows have so many.
func copyFew(to, from []uint32, n int) {
	*(*[3]uint32)(to) = [3]uint32(from)
	to[n-1] = from[n-1]
}

// replaceStripe replaces a row of entities of one stripe, in ascending order. of is their bits.
func (s *Store) replaceStripe(ids []wire.NetworkID, row int, of uint64, lanes []uint32) {
	n, first := int(s.schema.Widths[row]), ids[0].Index&^(stripeRows-1)
	page := s.rows.pages[row][first/pageRows][int(first%pageRows)*n:] // exists, since the entities have the row
	in := int(ids[0].Index % stripeRows)
	together := int(ids[len(ids)-1].Index%stripeRows) == in+len(ids)-1 // the indexes are consecutive
	if together && len(ids) > 1 || !s.swapRows(ids, row, of, page, lanes) {
		s.replaceApart(ids, row, page, lanes, together)
	}
}

// replaceApart does what replaceStripe does in steps: find the rows that differ, write their old values into the history, copy the new
// values, note the changed entities.
func (s *Store) replaceApart(ids []wire.NetworkID, row int, page, lanes []uint32, together bool) {
	n, first, in := int(s.schema.Widths[row]), ids[0].Index&^(stripeRows-1), int(ids[0].Index%stripeRows)
	var rows uint64
	if together {
		rows = s.schema.Compare[row].DifferingLanes(page[in*n:], lanes, len(ids)) << in
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

// differing returns a bit for each entity whose row in the stripe differs from its new lanes.
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

// keepRows writes the ages and the old lanes of rows of a stripe, one row behind the other. The rows have three or four lanes.
func (h *history) keepRows(to []uint32, p *rowLog, s *stripe, number uint32, rows uint64, page []uint32) {
	n, recent, since := p.width, h.age(s.before), p.since[number*stripeRows:]
	stride := ageLanes + n
	if runs := bits.OnesCount64(rows &^ (rows << 1)); 4*runs > bits.OnesCount64(rows) {
		for left := rows; left != 0; left &= left - 1 {
			in := bits.TrailingZeros64(left)
			age := recent
			if s.rowsBefore>>in&1 == 0 {
				age = h.age(since[in])
			}
			of := to[:stride]
			of[0] = age
			copyFew(of[ageLanes:], page[in*n:][:n], n)
			to = to[stride:]
		}
		return
	}
	// Most rows are neighbours, and most changed in the tick before too.
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
	for left := rows &^ s.rowsBefore; left != 0; left &= left - 1 {
		in := bits.TrailingZeros64(left)
		to[bits.OnesCount64(rows&(1<<in-1))*stride] = h.age(since[in])
	}
}

// keepRun3 writes neighbouring rows of three lanes, each behind its age.
func keepRun3(to, from []uint32, age uint32) {
	for ; len(from) >= 3 && len(to) >= 4; from, to = from[3:], to[4:] {
		v, old := (*[4]uint32)(to), (*[3]uint32)(from)
		v[0], v[1], v[2], v[3] = age, old[0], old[1], old[2]
	}
}

// keepRun4 writes neighbouring rows of four lanes, each behind its age.
func keepRun4(to, from []uint32, age uint32) {
	for ; len(from) >= 4 && len(to) >= 5; from, to = from[4:], to[5:] {
		to[0] = age
		*(*[4]uint32)(to[1:]) = [4]uint32(from)
	}
}

// Rows all over the store miss the near caches. The processor loads many of them at once if no branch depends on their contents.

// swapRows does what replaceStripe does without branches on values: it writes the old lanes into the history and the new ones into
// their place, for each row. It returns false, and does nothing, unless the rows have three or four lanes, have not changed in this
// tick, and fit the history.
func (s *Store) swapRows(ids []wire.NetworkID, row int, rows uint64, page, lanes []uint32) bool {
	h, number, n := &s.past, ids[0].Index/stripeRows, int(s.schema.Widths[row])
	p, stride := h.past(row, ids[len(ids)-1].Index, cap(s.rows.masks)), ageLanes+n
	of := &p.stripes[number]
	if n != 3 && n != 4 || of.tick == h.now || !h.fits(h.lane, stripeRows*stride) || h.next-h.oldest >= uint64(len(h.entries)) {
		return false
	}
	to, recent, others := h.value(h.lane, stripeRows*stride), h.age(of.tick), false
	if n == 3 {
		others = swap3((*[stripeRows * 4]uint32)(to), (*[stripeRows * 3]uint32)(page), lanes, ids, recent)
	} else {
		others = swap4((*[stripeRows * 5]uint32)(to), (*[stripeRows * 4]uint32)(page), lanes, ids, recent)
	}
	if !others { // some row is unchanged; rare: the branch is rarely taken
		if rows = closeUp(to, page, ids, n); rows == 0 {
			return true
		}
	}
	p.advanceTo(of, number, h.now)
	c := h.addEntry(of, row, number, bits.OnesCount64(rows))
	c.rows, c.there, of.rows = rows, rows, rows
	for left, since := rows&^of.rowsBefore, p.since[number*stripeRows:]; left != 0; left &= left - 1 {
		in := bits.TrailingZeros64(left)
		to[bits.OnesCount64(rows&(1<<in-1))*stride] = h.age(since[in])
	}
	s.touchRows(number, rows)
	s.count += bits.OnesCount64(rows)
	return true
}

// swap3 writes the old rows of three lanes to to, each behind its age, and the new lanes into their place. It reports whether every
// row changed.
func swap3(to *[stripeRows * 4]uint32, page *[stripeRows * 3]uint32, lanes []uint32, ids []wire.NetworkID, age uint32) bool {
	others := ^uint64(0)
	for k := 0; k < len(ids) && k < stripeRows; k++ {
		in := int(ids[k].Index%stripeRows) * 3
		z, x, y := lanes[k*3+2], lanes[k*3], lanes[k*3+1]
		a, b, c := page[in], page[in+1], page[in+2]
		page[in], page[in+1], page[in+2] = x, y, z
		to[k*4], to[k*4+1], to[k*4+2], to[k*4+3] = age, a, b, c
		others &= -uint64((a ^ x) | (b ^ y) | (c ^ z)) // the highest bit stays set if any lane differs
	}
	return others>>63 != 0
}

// swap4 does what swap3 does for rows of four lanes.
func swap4(to *[stripeRows * 5]uint32, page *[stripeRows * 4]uint32, lanes []uint32, ids []wire.NetworkID, age uint32) bool {
	others := ^uint64(0)
	for k := 0; k < len(ids) && k < stripeRows; k++ {
		in := int(ids[k].Index%stripeRows) * 4
		w, x, y, z := lanes[k*4+3], lanes[k*4], lanes[k*4+1], lanes[k*4+2]
		a, b, c, d := page[in], page[in+1], page[in+2], page[in+3]
		page[in], page[in+1], page[in+2], page[in+3] = x, y, z, w
		to[k*5], to[k*5+1], to[k*5+2], to[k*5+3], to[k*5+4] = age, a, b, c, d
		others &= -uint64((a ^ x) | (b ^ y) | (c ^ z) | (d ^ w))
	}
	return others>>63 != 0
}

// closeUp removes the rows from to that did not change, and returns the bits of the others.
func closeUp(to, page []uint32, ids []wire.NetworkID, n int) (rows uint64) {
	stride, at := ageLanes+n, 0
	for k, id := range ids {
		in, was := int(id.Index%stripeRows), to[k*stride:(k+1)*stride]
		if !slices.Equal(was[ageLanes:], page[in*n:(in+1)*n]) {
			copy(to[at:], was)
			at, rows = at+stride, rows|1<<in
		}
	}
	return rows
}

// one returns 1 for any number but 0.
func one(v uint64) uint { return uint((v | -v) >> 63) }
