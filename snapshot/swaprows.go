package snapshot

import (
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode/wire"
)

// Of rows all over the store each is a line of memory that is in no cache near the core. The processor has many of them under way as long as it
// need not know what is in them to go on; so here nothing that is not sure to be guessed depends on what a row was.

// swapRows is the whole of replaceStripe for rows of three or four lanes that have not changed in this tick, where the history has room for
// all of them in one piece: each is written down, and then what is new in its place. It is false where it did nothing.
func (s *Store) swapRows(ids []wire.NetworkID, row int, rows uint64, page, lanes []uint32) bool {
	h, number, n := &s.past, ids[0].Index/stripeRows, int(s.schema.widths[row])
	p, stride := h.past(row, ids[len(ids)-1].Index, cap(s.rows.masks)), ageLanes+n
	of := &p.stripes[number]
	if n != 3 && n != 4 || of.tick == h.now || !h.fits(h.lane, stripeRows*stride) || h.next-h.oldest >= uint64(len(h.changes)) {
		return false
	}
	to, recent, others := h.value(h.lane, stripeRows*stride), h.age(of.tick), false
	if n == 3 {
		others = swap3((*[stripeRows * 4]uint32)(to), (*[stripeRows * 3]uint32)(page), lanes, ids, recent)
	} else {
		others = swap4((*[stripeRows * 5]uint32)(to), (*[stripeRows * 4]uint32)(page), lanes, ids, recent)
	}
	if !others { // which is guessed, and so not waited for: most often all have changed
		if rows = closeUp(to, page, ids, n); rows == 0 {
			return true
		}
	}
	p.turn(of, number, h.now)
	c := h.add(of, row, number, bits.OnesCount64(rows))
	c.rows, c.there, of.rows = rows, rows, rows
	for left, since := rows&^of.others, p.since[number*stripeRows:]; left != 0; left &= left - 1 {
		in := bits.TrailingZeros64(left)
		to[bits.OnesCount64(rows&(1<<in-1))*stride] = h.age(since[in])
	}
	s.touchRows(number, rows)
	s.count += bits.OnesCount64(rows)
	return true
}

// swap3 writes down rows of three lanes of a stripe, one behind the other with an age in front of each, and what is new in their places. It reports
// whether each of them was something else before.
func swap3(to *[stripeRows * 4]uint32, page *[stripeRows * 3]uint32, lanes []uint32, ids []wire.NetworkID, age uint32) bool {
	others := ^uint64(0)
	for k := 0; k < len(ids) && k < stripeRows; k++ {
		in := int(ids[k].Index%stripeRows) * 3
		z, x, y := lanes[k*3+2], lanes[k*3], lanes[k*3+1]
		a, b, c := page[in], page[in+1], page[in+2]
		page[in], page[in+1], page[in+2] = x, y, z
		to[k*4], to[k*4+1], to[k*4+2], to[k*4+3] = age, a, b, c
		others &= -uint64((a ^ x) | (b ^ y) | (c ^ z)) // of more than nothing the highest bit is set
	}
	return others>>63 != 0
}

// swap4 is swap3 of four lanes.
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

// closeUp leaves out what was written down of rows that are what they were, and returns the others.
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
