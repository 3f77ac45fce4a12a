package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/wire"
)

// Of rows all over the store each is a line of memory that is in no cache near the core. The processor has many of them under way as long as it
// need not know what is in them to go on; so here nothing that is not sure to be guessed depends on what a row was.

// swapRows is the whole of replaceStripe for rows of three or four lanes that have not changed in this tick, where the history has room for
// all of them in one piece: each is written down, and then what is new in its place. It is false where it did nothing.
func (s *Store) swapRows(ids []wire.NetworkID, row int, page, lanes []uint32) bool {
	h, number, n := &s.past, ids[0].Index/stripeRows, int(s.schema.widths[row])
	p, stride := h.past(row, ids[len(ids)-1].Index, cap(s.rows.masks)), ageLanes+n
	of := &p.stripes[number]
	if n != 3 && n != 4 || of.tick == h.now || !h.fits(h.lane, len(ids)*stride) || h.next-h.oldest >= uint64(len(h.changes)) {
		return false
	}
	to, recent := h.value(h.lane, len(ids)*stride), h.age(of.tick)
	var all, same uint64
	if n == 3 {
		all, same = swap3(to, page, lanes, ids, recent)
	} else {
		all, same = swap4(to, page, lanes, ids, recent)
	}
	rows := all // as most often: guessed, and so not waited for
	if same != 0 {
		if rows &^= same; rows == 0 {
			return true
		}
		closeUp(to, ids, rows, stride)
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

// swap3 writes down rows of three lanes of a stripe, one behind the other with an age in front of each, and what is new in their places. It returns
// which rows they are, and which of them were so already.
func swap3(to, page, lanes []uint32, ids []wire.NetworkID, age uint32) (all, same uint64) {
	for _, id := range ids {
		in := id.Index % stripeRows
		old, now, was := (*[3]uint32)(page[in*3:]), (*[3]uint32)(lanes), (*[4]uint32)(to)
		a, b, c, x, y, z := old[0], old[1], old[2], now[0], now[1], now[2]
		was[0], was[1], was[2], was[3] = age, a, b, c
		old[0], old[1], old[2] = x, y, z
		all |= 1 << in
		same |= uint64(one(uint64((a^x)|(b^y)|(c^z)))^1) << in
		lanes, to = lanes[3:], to[4:]
	}
	return all, same
}

// swap4 is swap3 of four lanes.
func swap4(to, page, lanes []uint32, ids []wire.NetworkID, age uint32) (all, same uint64) {
	for _, id := range ids {
		in := id.Index % stripeRows
		old, now, was := (*[4]uint32)(page[in*4:]), (*[4]uint32)(lanes), (*[5]uint32)(to)
		a, b, c, d, x, y, z, w := old[0], old[1], old[2], old[3], now[0], now[1], now[2], now[3]
		was[0], was[1], was[2], was[3], was[4] = age, a, b, c, d
		old[0], old[1], old[2], old[3] = x, y, z, w
		all |= 1 << in
		same |= uint64(one(uint64((a^x)|(b^y)|(c^z)|(d^w)))^1) << in
		lanes, to = lanes[4:], to[5:]
	}
	return all, same
}

// closeUp leaves out what was written down of rows that have not changed.
func closeUp(to []uint32, ids []wire.NetworkID, rows uint64, stride int) {
	at := 0
	for k, id := range ids {
		if rows>>(id.Index%stripeRows)&1 != 0 {
			copy(to[at:at+stride], to[k*stride:])
			at += stride
		}
	}
}
