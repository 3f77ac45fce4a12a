package wire

import "math/bits"

// Column is one row of the bodies that are made side by side: now, at T and at T', where that is not leaned on as at T, and
// in which lanes these differ. What lanes it has not are of no meaning.
type Column struct {
	now, base, before [MaxStrands][MaxStrandLanes]uint32 // by body: its row now, at T and at T'
	changed, moved    [MaxStrands]uint8                  // in which lanes they differ
	any               uint8                              // in which lanes any differs from T
	lanes             int
}

// Begin begins a column of rows of so many lanes, 1 to MaxStrandLanes.
func (c *Column) Begin(lanes int) { c.lanes, c.any = lanes, 0 }

// Put fills in the row of the k-th body.
func (c *Column) Put(k int, now, base, before []uint32) {
	n := min(c.lanes, MaxStrandLanes)
	copy(c.now[k][:n], now)
	copy(c.base[k][:n], base)
	copy(c.before[k][:n], before)
	c.compare(k)
}

// compare finds out in which lanes a row differs.
func (c *Column) compare(k int) {
	lanes, a, b, o := uint8(1)<<(uint(c.lanes)&7)-1, &c.now[k], &c.base[k], &c.before[k]
	b0, b1 := twoLanes(b[0], b[1]), twoLanes(b[2], b[3])
	c.changed[k] = lanes & differing(twoLanes(a[0], a[1])^b0, twoLanes(a[2], a[3])^b1)
	c.moved[k] = lanes & differing(twoLanes(o[0], o[1])^b0, twoLanes(o[2], o[3])^b1)
	c.any |= c.changed[k]
}

func twoLanes(a, b uint32) uint64 { return uint64(a) | uint64(b)<<32 }

// differing is which of four lanes are not zero, two of them in each word.
func differing(a, b uint64) uint8 {
	const top = 1<<63 | 1<<31
	a, b = (a&^top+^uint64(top)|a)&top, (b&^top+^uint64(top)|b)&top
	a = a>>31 | b>>29
	return uint8(a|a>>31) & 15
}

// Held are rows of up to 64 bodies as they are kept, one behind the other in the order of their indexes.
type Held struct {
	First            uint32   // the index of the first body
	Now              []uint32 // all of them, from the first on
	Base, Before     []uint32 // those that are in the sets of the same name, Gap numbers before each
	InBase, InBefore uint64   // bit i for the body of index First+i
	Gap              int
}

// Take is Put for the bodies of some indexes, the k-th and those behind it, up to the first that is not among those that are
// held in all three versions; it returns which that is. Rows have three lanes or four. It calls nothing: what the bodies wait
// for overlaps.
func (c *Column) Take(k int, indexes []uint32, h *Held) int {
	n := c.lanes
	if !hostLittle || n != 3 && n != 4 {
		return k
	}
	// Lanes are taken two at a time: the first two, and the last two, of which the first may be one of those again.
	mask, last, drop := uint8(1)<<(uint(n)&7)-1, uintptr(4*n-8), uint(4-n)*32
	stride, both, any := n+h.Gap, h.InBase&h.InBefore, uint8(0)
	for indexes = indexes[:min(len(indexes), MaxStrands)]; k < len(indexes); k++ {
		in := indexes[k] - h.First
		if in >= 64 || both>>(in&63)&1 == 0 {
			break
		}
		below := uint64(1)<<(in&63) - 1
		x, y := bits.OnesCount64(h.InBase&below)*stride+h.Gap, bits.OnesCount64(h.InBefore&below)*stride+h.Gap
		now, base, before := h.Now[int(in)*n:][:n], h.Base[x:][:n], h.Before[y:][:n]
		a, b, o := firstByte(&now[0]), firstByte(&base[0]), firstByte(&before[0])
		b0, b1 := wordAt(b, 0), wordAt(b, last)>>drop
		a0, a1 := wordAt(a, 0), wordAt(a, last)>>drop
		o0, o1 := wordAt(o, 0), wordAt(o, last)>>drop
		c.now[k] = [MaxStrandLanes]uint32{uint32(a0), uint32(a0 >> 32), uint32(a1), uint32(a1 >> 32)}
		c.base[k] = [MaxStrandLanes]uint32{uint32(b0), uint32(b0 >> 32), uint32(b1), uint32(b1 >> 32)}
		c.before[k] = [MaxStrandLanes]uint32{uint32(o0), uint32(o0 >> 32), uint32(o1), uint32(o1 >> 32)}
		changed := mask & differing(a0^b0, a1^b1)
		c.changed[k], c.moved[k] = changed, mask&differing(o0^b0, o1^b1)
		any |= changed
	}
	c.any |= any
	return k
}
