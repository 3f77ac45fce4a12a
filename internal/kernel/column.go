package kernel

import "math/bits"

// Column has one row of each entity of a batch: now, at T and at T', with masks of the lanes that differ. Without T'
// its rows are those at T. Lanes beyond those of the row are undefined.
type Column struct {
	Now, Base, Before Rows              // now, at T and at T'
	Differ            [MaxStreams]uint8 // by stream: bit i: lane i differs between now and T; bit i+4: between T and T'
	Any               uint8             // lanes in which any row differs from T
	Lanes             int               // number of lanes of a row
	Wide              bool              // the assembly is available

	// For float rows, by stream and lane: the token as made by FloatTokens, and the raw bits after its code.
	Token, Raw [MaxStreams * Lanes]uint32
	// Large has the lanes of two float rows each whose movement or distance exceeds 31 bits, or that are the negative zero.
	Large [MaxStreams / 2]uint8

	offsets [MaxStreams]offsets
}

// offsets are the byte offsets of the three versions of a row.
type offsets struct{ now, base, before uintptr }

// Begin empties the column for rows with this number of lanes.
func (c *Column) Begin(lanes int, wide bool) { c.Lanes, c.Wide, c.Any = lanes, wide, 0 }

// Put sets the row of the k-th entity.
func (c *Column) Put(k int, now, base, before []uint32) {
	n, differ := min(c.Lanes, Lanes), uint32(0)
	now, base, before = now[:n], base[:n], before[:n]
	for i, v := range base {
		at := k*Lanes + i
		c.Now[at], c.Base[at], c.Before[at] = now[i], v, before[i]
		differ |= bit(now[i] != v)<<i | bit(before[i] != v)<<(i+Lanes)
	}
	c.Differ[k] = uint8(differ)
	c.Any |= c.Changed(k)
}

// bit returns 1 for true.
func bit(b bool) (v uint32) {
	if b {
		v = 1
	}
	return v
}

// Changed returns the mask of the lanes in which the k-th row differs between now and T.
func (c *Column) Changed(k int) uint8 { return c.Differ[k] & (1<<Lanes - 1) }

// Moved returns the mask of the lanes in which the k-th row differs between T and T'.
func (c *Column) Moved(k int) uint8 { return c.Differ[k] >> Lanes }

// RowSlice has the rows of up to 64 entities in memory, in the order of their indexes.
type RowSlice struct {
	First            uint32   // index of the first entity
	Now              []uint32 // rows of all entities, from First on
	Base, Before     []uint32 // rows of the entities in InBase and InBefore
	InBase, InBefore uint64   // bit i: entity First+i
}

// Take copies the rows of the entities with these indexes to the column, from the k-th on. It stops at the first entity
// that lacks a version, and returns its position. Rows have three or four lanes.
func (c *Column) Take(k int, indexes []uint32, h *RowSlice) int {
	n := uintptr(c.Lanes)
	both := h.InBase & h.InBefore
	if both == 0 || uint(k) >= uint(len(indexes)) || !HostLittle || n != 3 && n != 4 || len(indexes) > MaxStreams || len(h.Now) < 64*c.Lanes ||
		len(h.Base) < bits.OnesCount64(h.InBase)*c.Lanes || len(h.Before) < bits.OnesCount64(h.InBefore)*c.Lanes {
		return k
	}
	if c.Wide {
		return take(c, k, len(indexes), &indexes[0], h)
	}
	to, now, base, before := k, firstByte(&h.Now[0]), firstByte(&h.Base[0]), firstByte(&h.Before[0])
	if both&(both+1) == 0 { // no entity is missing before the last: the i-th row has index First+i
		to = c.takeDense(k, indexes, h.First, bits.Len64(both), now, base, before)
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
		c.offsets[to] = offsets{4 * uintptr(in) * n, 4 * x * n, 4 * y * n}
	}
	c.takeAt(k, to, now, base, before)
	c.compare(k, to)
	return to
}

// takeDense is Take for a RowSlice that has exactly its first entities.
func (c *Column) takeDense(k int, indexes []uint32, first uint32, some int, now, base, before *byte) int {
	n, last, drop := uintptr(c.Lanes), uintptr(4*c.Lanes-8), uint(4-c.Lanes)*32&63
	for at := k * Lanes; k < len(indexes); k, at = k+1, at+Lanes {
		in := uintptr(indexes[k] - first)
		if in >= uintptr(some) {
			break
		}
		is := 4 * in * n
		put4((*[4]uint32)(c.Now[at:]), wordAt(now, is), wordAt(now, is+last)>>drop)
		put4((*[4]uint32)(c.Base[at:]), wordAt(base, is), wordAt(base, is+last)>>drop)
		put4((*[4]uint32)(c.Before[at:]), wordAt(before, is), wordAt(before, is+last)>>drop)
	}
	return k
}

// takeAt copies rows from the k-th on whose offsets are known. It copies two lanes at a time: the first two and the
// last two, which overlap in a row of three. It makes no call, so that the latencies of rows overlap.
func (c *Column) takeAt(k, to int, now, base, before *byte) {
	last, drop := uintptr(4*c.Lanes-8), uint(4-c.Lanes)*32&63
	list, at := c.offsets[:to], k*Lanes
	for i := k; i < len(list); i, at = i+1, at+Lanes {
		of := &list[i]
		put4((*[4]uint32)(c.Now[at:]), wordAt(now, of.now), wordAt(now, of.now+last)>>drop)
		put4((*[4]uint32)(c.Base[at:]), wordAt(base, of.base), wordAt(base, of.base+last)>>drop)
		put4((*[4]uint32)(c.Before[at:]), wordAt(before, of.before), wordAt(before, of.before+last)>>drop)
	}
}

// put4 stores four lanes, two in each word.
func put4(to *[4]uint32, a, b uint64) {
	to[0], to[1], to[2], to[3] = uint32(a), uint32(a>>32), uint32(b), uint32(b>>32)
}

// compare computes the masks of differing lanes for rows k..to-1.
func (c *Column) compare(k, to int) {
	const top = 1<<63 | 1<<31 // top bits of two lanes
	lanes, any, at := uint8(1)<<(uint(c.Lanes)&7)-1, uint8(0), k*Lanes
	lanes |= lanes << Lanes
	for i := range c.Differ[k:to] {
		base := (*[4]uint32)(c.Base[at:])
		b0, b1 := uint64(base[0])|uint64(base[1])<<32, uint64(base[2])|uint64(base[3])<<32
		now := (*[4]uint32)(c.Now[at:])
		a0, a1 := uint64(now[0])|uint64(now[1])<<32^b0, uint64(now[2])|uint64(now[3])<<32^b1
		differ := (a0&^top+^uint64(top)|a0)&top>>31 | (a1&^top+^uint64(top)|a1)&top>>29
		before := (*[4]uint32)(c.Before[at:])
		b0, b1 = uint64(before[0])|uint64(before[1])<<32^b0, uint64(before[2])|uint64(before[3])<<32^b1
		differ |= (b0&^top+^uint64(top)|b0)&top>>27 | (b1&^top+^uint64(top)|b1)&top>>25
		of := uint8(differ|differ>>31) & lanes
		c.Differ[k+i] = of
		any |= of
		at += Lanes
	}
	c.Any |= any & (1<<Lanes - 1)
}
