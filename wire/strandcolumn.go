package wire

import "math/bits"

// Column is one row of the bodies that are made side by side: now, at T and at T', where that is not leaned on as at T, and
// in which lanes these differ. What lanes it has not are of no meaning.
type Column struct {
	now, base, before [MaxStrandLanes][MaxStrands]uint32 // by lane and body: its row now, at T and at T'
	differ            [MaxStrands]uint8                  // by body: bit i that lane i differs from T, bit i+4 that it did at T from T'
	any               uint8                              // in which lanes any differs from T
	lanes             int
	held              [MaxStrands]heldAt
}

// heldAt is where what was taken together lies, in bytes.
type heldAt struct{ now, base, before uintptr }

// Begin begins a column of rows of so many lanes, 1 to MaxStrandLanes.
func (c *Column) Begin(lanes int) { c.lanes, c.any = lanes, 0 }

// Put fills in the row of the k-th body.
func (c *Column) Put(k int, now, base, before []uint32) {
	n, differ := min(c.lanes, MaxStrandLanes), uint32(0)
	now, base, before = now[:n], base[:n], before[:n]
	for i, v := range base {
		c.now[i][k], c.base[i][k], c.before[i][k] = now[i], v, before[i]
		differ |= bit(now[i] != v)<<i | bit(before[i] != v)<<(i+groupLanes)
	}
	c.differ[k] = uint8(differ)
	c.any |= c.changed(k)
}

// changed is in which lanes the k-th row differs from what it was at T, moved in which that differs from what it was at T'.
func (c *Column) changed(k int) uint8 { return c.differ[k] & (1<<groupLanes - 1) }
func (c *Column) moved(k int) uint8   { return c.differ[k] >> groupLanes }

// Held are rows of up to 64 bodies as they are kept, one behind the other in the order of their indexes.
type Held struct {
	First            uint32   // the index of the first body
	Now              []uint32 // all of them, from the first on
	Base, Before     []uint32 // those that are in the sets of the same name, Gap numbers before each
	InBase, InBefore uint64   // bit i for the body of index First+i
	Gap              int
}

// Take is Put for the bodies of some indexes, the k-th and those behind it, up to the first that is not among those that are
// held in all three versions; it returns which that is. Rows have three lanes or four.
func (c *Column) Take(k int, indexes []uint32, h *Held) int {
	n, stride := uintptr(c.lanes), uintptr(c.lanes+h.Gap)
	both := h.InBase & h.InBefore
	if !hostLittle || n != 3 && n != 4 || len(indexes) > MaxStrands || len(h.Now) < 64*c.lanes ||
		len(h.Base) < bits.OnesCount64(h.InBase)*int(stride) || len(h.Before) < bits.OnesCount64(h.InBefore)*int(stride) {
		return k
	}
	dense := both&(both+1) == 0 && h.InBase == h.InBefore // then a body is the one of its index
	to := k
	for ; to < len(indexes); to++ {
		in := indexes[to] - h.First
		if in >= 64 || both>>(in&63)&1 == 0 {
			break
		}
		x, y := uintptr(in), uintptr(in)
		if !dense {
			below := uint64(1)<<(in&63) - 1
			x, y = uintptr(bits.OnesCount64(h.InBase&below)), uintptr(bits.OnesCount64(h.InBefore&below))
		}
		c.held[to] = heldAt{4 * uintptr(in) * n, 4 * (x*stride + uintptr(h.Gap)), 4 * (y*stride + uintptr(h.Gap))}
	}
	if to > k {
		c.take(k, to, firstByte(&h.Now[0]), firstByte(&h.Base[0]), firstByte(&h.Before[0]))
	}
	return to
}

// take is Take of the bodies from the k-th on, of which it is known where they lie. Lanes are taken two at a time: the first
// two, and the last two, of which the first may be one of those again. It calls nothing: what bodies wait for overlaps.
func (c *Column) take(k, to int, now, base, before *byte) {
	const top = 1<<63 | 1<<31 // of two lanes
	n := uint(c.lanes)
	last, drop := uintptr(4*n-8), (4-n)*32&63
	lanes, any := uint8(1)<<(n&7)-1, uint8(0)
	lanes |= lanes << groupLanes
	for ; k < min(to, MaxStrands); k++ {
		at := &c.held[k]
		a0, a1 := wordAt(now, at.now), wordAt(now, at.now+last)>>drop
		b0, b1 := wordAt(base, at.base), wordAt(base, at.base+last)>>drop
		c.now[0][k], c.now[1][k], c.now[2][k], c.now[3][k] = uint32(a0), uint32(a0>>32), uint32(a1), uint32(a1>>32)
		c.base[0][k], c.base[1][k], c.base[2][k], c.base[3][k] = uint32(b0), uint32(b0>>32), uint32(b1), uint32(b1>>32)
		a0, a1 = a0^b0, a1^b1
		differ := (a0&^top+^uint64(top)|a0)&top>>31 | (a1&^top+^uint64(top)|a1)&top>>29
		a0, a1 = wordAt(before, at.before), wordAt(before, at.before+last)>>drop
		c.before[0][k], c.before[1][k], c.before[2][k], c.before[3][k] = uint32(a0), uint32(a0>>32), uint32(a1), uint32(a1>>32)
		a0, a1 = a0^b0, a1^b1
		differ |= (a0&^top+^uint64(top)|a0)&top>>27 | (a1&^top+^uint64(top)|a1)&top>>25
		bits := uint8(differ|differ>>31) & lanes
		c.differ[k] = bits
		any |= bits
	}
	c.any |= any & (1<<groupLanes - 1)
}
