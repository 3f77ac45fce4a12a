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
}

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
// that lacks a version, and returns its position.
func (c *Column) Take(k int, indexes []uint32, h *RowSlice) int {
	n, both := c.Lanes, h.InBase&h.InBefore
	if both == 0 || uint(k) >= uint(len(indexes)) || n > Lanes || len(indexes) > MaxStreams || len(h.Now) < 64*n ||
		len(h.Base) < bits.OnesCount64(h.InBase)*n || len(h.Before) < bits.OnesCount64(h.InBefore)*n {
		return k
	}
	if c.Wide && n >= 3 {
		return take(c, k, len(indexes), &indexes[0], h)
	}
	for ; k < len(indexes); k++ {
		in := indexes[k] - h.First
		if in >= 64 || both>>(in&63)&1 == 0 {
			break
		}
		below := uint64(1)<<(in&63) - 1
		x, y := bits.OnesCount64(h.InBase&below)*n, bits.OnesCount64(h.InBefore&below)*n
		c.Put(k, h.Now[int(in)*n:][:n], h.Base[x:][:n], h.Before[y:][:n])
	}
	return k
}

// Touch prefetches the rows that Take will read. All indexes are in the RowSlice.
func (c *Column) Touch(indexes []uint32, h *RowSlice) {
	if c.Wide && h.InBase&h.InBefore != 0 && len(indexes) > 0 {
		touch(c, 0, len(indexes), &indexes[0], h)
	}
}
