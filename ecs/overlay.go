package netecs

import (
	"github.com/arche-netcode/netcode/quantize"
)

// Rows that are one behind the other are written in one pass over the world, the shadow and the lanes that came, as long as the world has what the
// shadow says and each gets another value. From the first of which that does not hold on, a part is gone over one thing after the other.

// quickWords says that words of eight bytes are in memory as two of four, the lower first, and that it does not matter where they begin.
const quickWords = quantize.QuickWords

// overlay writes one component, whose plan is plain, of entities whose slots are one behind the other, but for the first k, which overlayOthers has
// written. Their lanes begin with all and are stride apart. It returns how many had the value already, and few has their numbers.
func (a *Apply) overlay(c *column, d *due, k int, all []uint32, stride, words int) (same int) {
	slot, n, few := int(d.slot), int(d.n), &a.writing.few
	if k == n {
		return 0
	}
	if a.watch.sparing {
		a.strays(c, d, slot+k)
	}
	same = c.overlayAny(slot+k, n-k, all[k*stride:], stride, words, few)
	for i := range few[:same] {
		few[i] += int32(k)
	}
	return same
}

// overlayOthers writes the first of some rows, up to one that the world does not have as the shadow does, or that had the value. It returns how
// many that are, none where there is no loop for rows of so many words.
func (c *column) overlayOthers(slot, n int, all []uint32, stride, words int) int {
	k := c.overlayWide(slot, n, all, stride, nil)
	if k == n {
		return n
	}
	slot, n, all = slot+k, n-k, all[k*stride:]
	switch {
	case words == 2:
		k += overlayRows[[2]uint32](c, slot, all, stride, n)
	case words == 3 && quickWords:
		k += overlayPairs(c, slot, all, stride, n)
	case words == 4:
		k += overlayRows[[4]uint32](c, slot, all, stride, n)
	}
	return k
}

// overlayWide is overlayOthers several rows at a time, where the processor goes over that many. Where there is an order, it says where the lanes of each are.
func (c *column) overlayWide(slot, n int, all []uint32, stride int, order []int32) int {
	return c.plan.Overlay(c.bytes(slot, slot+n), c.shadow[slot*c.size:(slot+n)*c.size], all, stride, order)
}

// overlayAny writes rows whatever they were, first all of the shadow and then the component. It lists those that had the value already, by
// number, and returns how many they are.
func (c *column) overlayAny(slot, n int, all []uint32, stride, words int, same *[mostDue]int32) (m int) {
	shadow := c.shadow[slot*c.size : (slot+n)*c.size]
	switch words {
	case 2:
		m = overlay[[2]uint32](shadow, all, stride, n, same)
	case 3:
		m = overlay[[3]uint32](shadow, all, stride, n, same)
	case 4:
		m = overlay[[4]uint32](shadow, all, stride, n, same)
	default:
		for k := range n {
			if !c.put(slot+k, all[k*stride:][:words]) {
				same[m] = int32(k)
				m++
			}
		}
		return m
	}
	copy(c.bytes(slot, slot+n), shadow)
	return m
}

// keepOthers copies rows that were written into the slots of the same numbers, and adds those to same, counted from the first, that were so already.
func (c *column) keepOthers(slot, n int, same []int32) []int32 {
	for from := 0; from < n; from += 64 {
		part := min(64, n-from)
		live, kept := c.bytes(slot+from, slot+from+part), c.shadow[(slot+from)*c.size:(slot+from+part)*c.size]
		same = list(^c.compare.Differing(live, kept, part)&(^uint64(0)>>(64-part)), int32(from), same)
		copy(kept, live)
	}
	return same
}
