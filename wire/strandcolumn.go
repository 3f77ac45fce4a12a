package wire

import "math/bits"

// Column is one row of the bodies that are made side by side: now, at T and at T', where that is not leaned on as at T, and
// in which lanes these differ. What lanes it has not are of no meaning.
type Column struct {
	now, base, before [MaxStrands * groupLanes]uint32 // one body's row behind the other's: now, at T and at T'
	differ            [MaxStrands]uint8               // by body: bit i that lane i differs from T, bit i+4 that it did at T from T'
	any               uint8                           // in which lanes any differs from T
	lanes             int
	wide              bool // see Delta.wide
	held              [MaxStrands]heldAt
}

// heldAt is where what was taken together lies, in bytes.
type heldAt struct{ now, base, before uintptr }

// Begin begins a column of rows of d, which have at most MaxStrandLanes.
func (c *Column) Begin(d *Delta) { c.begin(len(d.lanes), d.wide) }

func (c *Column) begin(lanes int, wide bool) { c.lanes, c.wide, c.any = lanes, wide, 0 }

// Put fills in the row of the k-th body.
func (c *Column) Put(k int, now, base, before []uint32) {
	n, differ := min(c.lanes, MaxStrandLanes), uint32(0)
	now, base, before = now[:n], base[:n], before[:n]
	for i, v := range base {
		at := k*groupLanes + i
		c.now[at], c.base[at], c.before[at] = now[i], v, before[i]
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
	Base, Before     []uint32 // those that are in the sets of the same name
	InBase, InBefore uint64   // bit i for the body of index First+i
	Gap              int      // so many numbers are before each row of Base and Before
}

// Take is Put for the bodies of some indexes, the k-th and those behind it, up to the first that is not among those that are
// held in all three versions; it returns which that is. Rows have three lanes or four.
func (c *Column) Take(k int, indexes []uint32, h *Held) int {
	n, stride := uintptr(c.lanes), uintptr(c.lanes+h.Gap)
	both := h.InBase & h.InBefore
	if both == 0 || uint(k) >= uint(len(indexes)) || !hostLittle || n != 3 && n != 4 || len(indexes) > MaxStrands || len(h.Now) < 64*c.lanes ||
		len(h.Base) < bits.OnesCount64(h.InBase)*int(stride) || len(h.Before) < bits.OnesCount64(h.InBefore)*int(stride) {
		return k
	}
	if c.wide {
		return takeWide(c, k, len(indexes), &indexes[0], h)
	}
	to, now, base, before := k, firstByte(&h.Now[0]), firstByte(&h.Base[0]), firstByte(&h.Before[0])
	if both&(both+1) == 0 { // nobody is left out before one that is held in both: a body is the one of its index
		to = c.takeDense(k, indexes, h.First, bits.Len64(both), uintptr(h.Gap), now, base, before)
		c.compare(k, to)
		return to
	}
	for ; to < len(indexes); to++ {
		in := indexes[to] - h.First
		if in >= 64 || both>>(in&63)&1 == 0 {
			break
		}
		below := uint64(1)<<(in&63) - 1
		x, y := uintptr(bits.OnesCount64(h.InBase&below)), uintptr(bits.OnesCount64(h.InBefore&below))
		c.held[to] = heldAt{4 * uintptr(in) * n, 4 * (x*stride + uintptr(h.Gap)), 4 * (y*stride + uintptr(h.Gap))}
	}
	c.take(k, to, now, base, before)
	c.compare(k, to)
	return to
}

// takeDense is Take where some bodies from the first on, and no others, are held.
func (c *Column) takeDense(k int, indexes []uint32, first uint32, some int, gap uintptr, now, base, before *byte) int {
	n, last, drop := uintptr(c.lanes), uintptr(4*c.lanes-8), uint(4-c.lanes)*32&63
	for at := k * groupLanes; k < len(indexes); k, at = k+1, at+groupLanes {
		in := uintptr(indexes[k] - first)
		if in >= uintptr(some) {
			break
		}
		is, was := 4*in*n, 4*(in*(n+gap)+gap)
		put4((*[4]uint32)(c.now[at:]), wordAt(now, is), wordAt(now, is+last)>>drop)
		put4((*[4]uint32)(c.base[at:]), wordAt(base, was), wordAt(base, was+last)>>drop)
		put4((*[4]uint32)(c.before[at:]), wordAt(before, was), wordAt(before, was+last)>>drop)
	}
	return k
}

// take is Take of the bodies from the k-th on, of which it is known where they lie. Lanes are taken two at a time: the first
// two, and the last two, of which the first may be one of those again. It calls nothing: what bodies wait for overlaps.
func (c *Column) take(k, to int, now, base, before *byte) {
	last, drop := uintptr(4*c.lanes-8), uint(4-c.lanes)*32&63
	held, at := c.held[:to], k*groupLanes
	for i := k; i < len(held); i, at = i+1, at+groupLanes {
		of := &held[i]
		put4((*[4]uint32)(c.now[at:]), wordAt(now, of.now), wordAt(now, of.now+last)>>drop)
		put4((*[4]uint32)(c.base[at:]), wordAt(base, of.base), wordAt(base, of.base+last)>>drop)
		put4((*[4]uint32)(c.before[at:]), wordAt(before, of.before), wordAt(before, of.before+last)>>drop)
	}
}

// put4 writes four lanes, two of them in each word.
func put4(to *[4]uint32, a, b uint64) {
	to[0], to[1], to[2], to[3] = uint32(a), uint32(a>>32), uint32(b), uint32(b>>32)
}

// compare finds out in which lanes rows differ.
func (c *Column) compare(k, to int) {
	const top = 1<<63 | 1<<31 // of two lanes
	lanes, any, at := uint8(1)<<(uint(c.lanes)&7)-1, uint8(0), k*groupLanes
	lanes |= lanes << groupLanes
	for i := range c.differ[k:to] {
		base := (*[4]uint32)(c.base[at:])
		b0, b1 := uint64(base[0])|uint64(base[1])<<32, uint64(base[2])|uint64(base[3])<<32
		now := (*[4]uint32)(c.now[at:])
		a0, a1 := uint64(now[0])|uint64(now[1])<<32^b0, uint64(now[2])|uint64(now[3])<<32^b1
		differ := (a0&^top+^uint64(top)|a0)&top>>31 | (a1&^top+^uint64(top)|a1)&top>>29
		before := (*[4]uint32)(c.before[at:])
		b0, b1 = uint64(before[0])|uint64(before[1])<<32^b0, uint64(before[2])|uint64(before[3])<<32^b1
		differ |= (b0&^top+^uint64(top)|b0)&top>>27 | (b1&^top+^uint64(top)|b1)&top>>25
		of := uint8(differ|differ>>31) & lanes
		c.differ[k+i] = of
		any |= of
		at += groupLanes
	}
	c.any |= any & (1<<groupLanes - 1)
}
