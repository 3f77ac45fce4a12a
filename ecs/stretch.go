package netecs

import (
	"math"

	"github.com/arche-netcode/netcode/snapshot"
)

// Where everything moves, what a replica received is mostly entities one behind
// the other, and so are their rows in the world. Such a stretch is listed, and
// written, as one.

// berth is entities one behind the other by index, with the same generation and
// rows, of which nothing needs to be asked but where their rows lie, as long as
// no place and no twin changes but by a run of Apply that writes values.
type berth struct {
	index, n   uint32
	generation uint32
	mask       snapshot.Mask
	table      int32
	slot       int32 // of the first, the others behind it; -1: as slots says
	low        int32 // where it is -1: 1 + the first slot of a piece of the table that is all theirs; -1: there is none; 0: not looked yet
	order      int32 // where in berths.order it is said who is in each slot of the piece
	number     int32 // in berths.list, of what find gives
}

// berths are what was found out about places and twins since they changed last.
type berths struct {
	list  []berth
	at    int
	moves uint64  // of the places, then
	slots []int32 // by index, where a berth is
	order []int32 // by slot of the piece of each berth that has one: which of its entities
}

const (
	// mostBerths is how many there may be before all are found out anew.
	mostBerths = 64
	// shortBerth is what is rather put together by slots than kept apart.
	shortBerth = 16
)

// berth is where the first of some entities are, count at most; n of them. It is
// false where the first is one that has to be looked at by itself.
func (a *Apply) berth(s *snapshot.Stretch) (b berth, ok bool) {
	k := &a.berths
	if k.moves != a.watch.moves {
		k.moves, k.list, k.at, k.order = a.watch.moves, k.list[:0], 0, k.order[:0]
	}
	if !a.watch.sparing { // else pieces were found that are still to be written
		k.tidy()
	}
	if found, ok := k.find(s, &b); found {
		return b, ok
	}
	if b = a.moor(s); b.n > 0 {
		a.keepBerth(b)
	}
	return b, b.n > 0
}

// find is berth where that was found out before.
func (k *berths) find(s *snapshot.Stretch, b *berth) (found, ok bool) {
	for tries := 0; tries < len(k.list); tries, k.at = tries+1, k.at+1 {
		if k.at >= len(k.list) {
			k.at = 0
		}
		if at := &k.list[k.at]; s.Index-at.index < at.n {
			if at.generation != s.Generation || at.mask != s.Mask {
				return true, false
			}
			*b = *at
			skipped := s.Index - b.index
			b.index, b.n = s.Index, min(s.Count, b.n-skipped)
			switch {
			case b.slot >= 0:
				b.slot += int32(skipped)
			case b.n < at.n:
				b.low = -1
			case b.low == 0:
				k.mix(at)
				b.low, b.order = at.low, at.order
			}
			b.number = int32(k.at)
			return true, true
		}
	}
	return false, false
}

// moor finds out where entities are.
func (a *Apply) moor(s *snapshot.Stretch) berth {
	k, places := &a.berths, a.watch.byIndex
	b := berth{index: s.Index, generation: s.Generation, mask: s.Mask, table: nowhere}
	if int(s.Index) >= len(places) || s.Mask&a.aims.rows != 0 {
		return b
	}
	if at := &places[s.Index]; at.table != nowhere && !a.watch.tables[at.table].scattered {
		b.table, b.slot = at.table, at.slot
	}
	k.slots = extended(k.slots, len(places)-1)
	for i := s.Index; i-s.Index < s.Count && int(i) < len(places) && b.table != nowhere; i++ {
		at, tw := &places[i], &a.twins[i]
		if at.generation != s.Generation || at.table != b.table || tw.mask != s.Mask || tw.left || tw.authored != 0 {
			break
		}
		k.slots[i] = at.slot
		if b.slot >= 0 && at.slot != b.slot+int32(b.n) {
			b.slot = -1
		}
		b.n++
	}
	return b
}

// keepBerth keeps what was found out, with what was before if that is one with
// it.
func (a *Apply) keepBerth(b berth) {
	k := &a.berths
	if n := len(k.list) - 1; n >= 0 {
		last := &k.list[n]
		if last.index+last.n == b.index && last.generation == b.generation && last.mask == b.mask && last.table == b.table {
			straight := last.slot >= 0 && b.slot == last.slot+int32(last.n)
			if straight || last.n < shortBerth || b.n < shortBerth || last.slot < 0 && b.slot < 0 {
				if !straight {
					last.slot, last.low = -1, 0
				}
				last.n += b.n
				return
			}
		}
	}
	if len(k.list) >= mostBerths {
		k.list, k.at, k.order = k.list[:0], 0, k.order[:0]
	}
	k.list = append(k.list, b)
}

// listStretch lists the first of count entities as one, and returns how many
// that are. Where there are none it returns how many have to be looked at by
// themselves.
func (a *Apply) listStretch(index, count uint32) (listed, single uint32) {
	s, ok := a.replica.Stretch(index, count)
	if !ok || a.apart {
		return 0, s.Count
	}
	b, ok := a.berth(&s)
	if !ok {
		return 0, 1
	}
	a.enter(&s, &b)
	a.writing.stretch(index, b.n)
	return b.n, 0
}

// enter puts entities on the list of their table, as one or in as many parts as are
// written as one.
func (a *Apply) enter(s *snapshot.Stretch, b *berth) {
	w := &a.writing
	of := w.parcelOf(s.Tick, s.Mask, s.Mask)
	w.parcels[of].stride = s.Width
	d := due{index: b.index, n: int32(b.n), slot: b.slot, first: s.First, parcel: of, stretch: true}
	if a.watch.sparing && b.slot < 0 && b.low > 0 {
		d.mixed = 1 + b.number
	}
	list := w.of(b.table)
	if n := len(list) - 1; n >= 0 && list[n].precedes(&d, s.Width) {
		more := min(d.n, d.most()-list[n].n)
		list[n].n += more
		d.skip(more, s.Width)
	}
	for d.n > 0 {
		list = append(list, d)
		part := &list[len(list)-1]
		part.n = min(d.n, d.most())
		d.skip(part.n, s.Width)
	}
	w.byTable[b.table] = list
}

// mostDue is how many entities are written as one, where their rows are one behind
// the other: so many that those, the shadow of them and their lanes stay near while
// one column after the other is written.
const mostDue = 256

// most is how many entities may be written as one.
func (d *due) most() int32 {
	if d.slot < 0 {
		return math.MaxInt32
	}
	return mostDue
}

// skip takes away the first of a stretch.
func (d *due) skip(n, stride int32) {
	d.index, d.n, d.first = d.index+uint32(n), d.n-n, d.first+n*stride
	if d.slot >= 0 {
		d.slot += n
	}
}

// precedes reports whether another stretch goes on where this one ends.
func (d *due) precedes(next *due, stride int32) bool {
	if !d.stretch || d.parcel != next.parcel || d.index+uint32(d.n) != next.index || d.first+d.n*stride != next.first {
		return false
	}
	return d.slot < 0 && next.slot < 0 && d.mixed+next.mixed == 0 || d.slot >= 0 && next.slot == d.slot+d.n
}

// stretch notes who is listed as one of a stretch.
func (w *writing) stretch(index, n uint32) {
	w.long = append(w.long, snapshot.Span{First: index, Count: n})
	w.longs = extended(w.longs, int((index+n-1)>>6))
	for end := index + n; index < end; {
		k := min(64-index&63, end-index)
		w.longs[index>>6] |= ^uint64(0) >> (64 - k) << (index & 63)
		index += k
	}
}

// stretched reports whether an entity is listed as one of a stretch.
func (w *writing) stretched(index uint32) bool {
	return int(index>>6) < len(w.longs) && w.longs[index>>6]>>(index&63)&1 != 0
}

// unstretch forgets who is.
func (w *writing) unstretch() {
	for _, s := range w.long {
		clear(w.longs[s.First>>6 : (s.First+s.Count-1)>>6+1]) // the others of these words are forgotten too
	}
	w.long = w.long[:0]
}

// slot is where the k-th entity of a due lies.
func (a *Apply) slot(d *due, k int32) int32 {
	if d.slot >= 0 {
		return d.slot + k
	}
	return a.berths.slots[d.index+uint32(k)]
}

// changedOf is which rows of the k-th entity of a due got another value.
func (w *writing) changedOf(d *due, k int32) snapshot.Mask {
	if d.detail > 0 {
		return w.details[d.detail-1+k]
	}
	return d.rows
}

// detailOf is which rows got another value, one by one.
func (w *writing) detailOf(d *due) []snapshot.Mask {
	if d.detail == 0 {
		d.detail = int32(len(w.details)) + 1
		for range d.n {
			w.details = append(w.details, d.rows)
		}
	}
	return w.details[d.detail-1:][:d.n]
}

// change notes that all of a stretch got another value in a row but for some,
// which are in ascending order.
func (w *writing) change(d *due, row snapshot.Mask, same []int32) {
	switch {
	case len(same) == int(d.n):
		return
	case len(same) == 0 && d.detail == 0:
		d.rows |= row
		return
	}
	detail := w.detailOf(d)
	for k := range detail {
		if len(same) > 0 && same[0] == int32(k) {
			same = same[1:]
			continue
		}
		detail[k] |= row
	}
}

// writeStretches writes the stretches of a table: those whose rows are one behind
// the other in all columns before the next, and those that are all over it column
// by column, so that what is near is of one.
func (a *Apply) writeStretches(t *table, list []due) {
	rest := false
	for i := range list {
		switch d := &list[i]; {
		case !d.stretch:
		case d.slot >= 0:
			a.writeStraight(t, d)
		case a.parts(d):
			a.writeMixed(t, d)
		default:
			rest = true
		}
	}
	for k := 0; rest && k < len(t.columns); k++ {
		for i := range list {
			if d := &list[i]; d.stretch && d.slot < 0 && !a.parts(d) {
				a.writeStretch(&t.columns[k], d)
			}
		}
	}
}

// writeStraight writes a stretch whose rows are one behind the other.
func (a *Apply) writeStraight(t *table, d *due) {
	p := &a.writing.parcels[d.parcel]
	if p.lanes == nil {
		for k := range t.columns {
			a.writeStretch(&t.columns[k], d)
		}
		return
	}
	lanes, slot, n, stride := p.lanes[d.first:], int(d.slot), int(d.n), int(p.stride)
	for k := range t.columns {
		c := &t.columns[k]
		if !c.plain || c.row < 0 || !p.has.Has(c.row) {
			a.writeStretch(c, d)
			continue
		}
		a.stats.Rows += uint64(n)
		first, end := c.place(a.replica, p.mask)
		done := c.overlayOthers(slot, n, lanes[first:], stride, end-first)
		if done == n && d.detail == 0 {
			d.rows = d.rows.With(c.row)
			continue
		}
		same := a.overlay(c, d, done, lanes[first:], stride, end-first)
		a.writing.change(d, snapshot.Mask(0).With(c.row), a.writing.few[:same])
	}
}

// writeStretch writes one component of a stretch.
func (a *Apply) writeStretch(c *column, d *due) {
	p := &a.writing.parcels[d.parcel]
	if c.row < 0 || !p.has.Has(c.row) {
		return
	}
	a.stats.Rows += uint64(d.n)
	a.putStretch(c, d)
	a.writing.change(d, snapshot.Mask(0).With(c.row), a.writing.same)
}

// putStretch writes one component of a stretch whose rows are all over the table, or of which it takes more than to copy the lanes. It lists
// those that had the value already.
func (a *Apply) putStretch(c *column, d *due) {
	p, w := &a.writing.parcels[d.parcel], &a.writing
	if a.watch.sparing && c.plain {
		a.straysOfAny(c, d)
	}
	first, end := c.place(a.replica, p.mask)
	w.same = w.same[:0]
	if p.lanes != nil {
		lanes, stride := p.lanes[int(d.first)+first:], int(p.stride)
		if c.plain {
			w.same = c.scatter(a.berths.slots[d.index:][:d.n], lanes, stride, end-first, w.same)
			return
		}
		if d.slot >= 0 && c.plan.DequantiseRows(c.bytes(int(d.slot), int(d.slot+d.n)), lanes, stride, int(d.n), nil) {
			w.same = c.keepOthers(int(d.slot), int(d.n), w.same)
			return
		}
		for k := range d.n {
			if !c.put(int(a.slot(d, k)), lanes[int(k)*stride:][:end-first]) {
				w.same = append(w.same, k)
			}
		}
		return
	}
	for k := range d.n {
		lanes := a.replica.Row(d.index+uint32(k), c.row)
		if lanes == nil || !c.put(int(a.slot(d, k)), lanes) {
			w.same = append(w.same, k)
		}
	}
}
