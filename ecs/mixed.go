package netecs

// A berth whose rows are all over a table may still have a piece of it to itself: every slot from one to another is of one of its entities.
// Then the rows are written slot by slot, for which the lanes are read here and there, instead of the other way round: what is written are
// two places for each component, what is read is one for all. And what game code wrote there is found on the way.

// mixed finds out whether the slots of a berth are a piece, which low then says, and whose each is.
func (k *berths) mix(b *berth) {
	low, high := k.slots[b.index], k.slots[b.index]
	for _, slot := range k.slots[b.index:][:b.n] {
		low, high = min(low, slot), max(high, slot)
	}
	if high-low >= int32(b.n) {
		b.low = -1
		return
	}
	b.low, b.order = low+1, int32(len(k.order))
	k.order = extended(k.order, len(k.order)+int(b.n)-1)
	order := k.order[b.order:]
	for i, slot := range k.slots[b.index:][:b.n] {
		order[slot-low] = int32(i)
	}
}

// tidy forgets the pieces when most of what is kept of them is of berths that have grown since. It comes before anybody finds
// one, as who has found one goes by it until it is written.
func (k *berths) tidy() {
	if len(k.order) > len(k.slots) {
		for i := range k.list {
			k.list[i].low = min(k.list[i].low, 0)
		}
		k.order = k.order[:0]
	}
}

// piece is the slots of a due that is a whole berth with a piece to itself, and which of its entities is in each.
func (k *berths) piece(d *due) (low int32, order []int32) {
	b := &k.list[d.mixed-1]
	return b.low - 1, k.order[b.order:][:b.n]
}

// writeMixed writes a stretch that has a piece of a table to itself, part by part, so that what is written of a part stays near.
func (a *Apply) writeMixed(t *table, d *due) {
	p := &a.writing.parcels[d.parcel]
	low, order := a.berths.piece(d)
	for i := range t.columns {
		if row := t.columns[i].row; row >= 0 && p.has.Has(row) {
			d.rows = d.rows.With(row) // but for those that turn out to have had the value
			a.stats.Rows += uint64(d.n)
		}
	}
	for from := int32(0); from < d.n; from += mostDue {
		part := order[from:min(from+mostDue, d.n)]
		for i := range t.columns {
			if c := &t.columns[i]; c.row >= 0 && p.has.Has(c.row) {
				a.writePart(c, d, int(low+from), part)
			}
		}
	}
}

// writePart writes one component of entities whose slots are one behind the other.
func (a *Apply) writePart(c *column, d *due, slot int, order []int32) {
	w, p := &a.writing, &a.writing.parcels[d.parcel]
	first, end := c.place(a.replica, p.mask)
	all, stride := p.lanes[int(d.first)+first:], int(p.stride)
	n := 0
	switch {
	case c.plain:
		n = a.overlayMixed(c, d, slot, order, all, stride, end-first)
	case c.plan.DequantiseRows(c.bytes(slot, slot+len(order)), all, stride, len(order), order):
		n = len(c.keepOthers(slot, len(order), w.few[:0]))
	default:
		for k, of := range order {
			if !c.put(slot+k, all[int(of)*stride:][:end-first]) {
				w.few[n], n = int32(k), n+1
			}
		}
	}
	if n > 0 {
		detail := w.detailOf(d)
		for _, k := range w.few[:n] {
			at := &detail[order[k]]
			*at = at.Without(c.row)
		}
	}
}

// overlayMixed is overlay for entities that are not one behind the other though their slots are.
func (a *Apply) overlayMixed(c *column, d *due, slot int, order []int32, all []uint32, stride, words int) (same int) {
	few := &a.writing.few
	k := c.overlayWide(slot, len(order), all, stride, order)
	if k == len(order) {
		return 0
	}
	a.straysOf(c, d, slot+k, order[k:])
	same = c.copyMixed(slot+k, order[k:], all, stride, words, few)
	for i := range few[:same] {
		few[i] += int32(k)
	}
	return same
}

// straysOf is strays for entities whose slots are one behind the other though they are not.
func (a *Apply) straysOf(c *column, d *due, slot int, order []int32) {
	if !a.watch.sparing || c.same(slot, slot+len(order)) {
		return
	}
	to := slot + len(order)
	for row := c.differing(slot, to); row < to; row = c.differing(row+1, to) {
		a.stray(c, d.index+uint32(order[row-slot]), row)
	}
}

// copyMixed is overlayAny for entities that are not one behind the other though their slots are.
func (c *column) copyMixed(slot int, order []int32, all []uint32, stride, words int, same *[mostDue]int32) (m int) {
	n := len(order)
	shadow := c.shadow[slot*c.size : (slot+n)*c.size]
	switch words {
	case 2:
		m = overlayMixed[[2]uint32](shadow, all, stride, order, same)
	case 3:
		m = overlayMixed[[3]uint32](shadow, all, stride, order, same)
	case 4:
		m = overlayMixed[[4]uint32](shadow, all, stride, order, same)
	default:
		for k, of := range order {
			if !c.put(slot+k, all[int(of)*stride:][:words]) {
				same[m&(mostDue-1)] = int32(k)
				m++
			}
		}
		return m
	}
	copy(c.bytes(slot, slot+n), shadow)
	return m
}

// parts reports whether a stretch that is all over a table can be written by its slots.
func (a *Apply) parts(d *due) bool {
	return d.mixed > 0 && !a.early && a.writing.parcels[d.parcel].lanes != nil
}
