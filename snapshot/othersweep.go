package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/tick"
)

// What a packet speaks of beside its list is some entities behind it in the order
// of their indexes, up to the packet's end, at every client that shares the list.
// Those of a word that are of one cohort are asked once what each of them would be
// asked, if their bodies were made: then a record is its place and the body, and the
// word is noted at once. The first that is not as usual, or finds no room, ends that
// and goes the way for all.

// sweepOthers writes the first of those of a word that wait, as many as are alike,
// and returns the rest; full, if the packet has no room for the first of these.
func (p *packetWriter) sweepOthers(w int, word uint64) (rest uint64, full bool) {
	v, s := p.v, p.v.store
	first := firstOf(uint32(w), word)
	if !v.cohorts.any.has(first) || !p.sweepsOthers() {
		return word, false
	}
	c := v.cohorts.find(first)
	q := slot{base: c.base, lean: c.lean, near: c.near, after: c.after}
	if c.went == p.s || p.s-c.base >= s.cfg.Window || !v.newest(first, &q, p.upTo) {
		return word, false
	}
	before, span := p.before(&q), p.s-c.base
	if span > maxSpan {
		span = 0
	}
	gap, wrote, members := s.schema.codes.gap, uint64(0), word&c.of[w]
	for ; word&-word&members != 0 && p.sent.n < maxRecords; word &= word - 1 {
		index := firstOf(uint32(w), word)
		mask := v.maskOf(index)
		e, of := p.desk.madeBody(index, mask, c.base, before) // none has a row that travels whole
		if e == nil || e.none {
			break
		}
		symbol, raw, n := gapSymbol(index-p.last, false)
		code, length := gap.Bits(p.gapContext, symbol)
		if p.w.Bits()+int(length+n)+int(e.bits) > p.limit {
			if full = p.sent.n > 0; full { // else it may be too large for any
				p.desk.used(e, of)
			}
			break
		}
		p.w.Write(raw<<length|code, length+n)
		p.writeBody(e, of)
		p.desk.used(e, of)
		p.last = index + 1
		wrote |= word & -word
		v.sent.add(p.sent, sentEntry{mask: mask, index: index, span: uint16(span)})
		v.stats.Deltas += uint64(e.deltas)
		v.stats.Unchanged += uint64(e.same)
	}
	n := bits.OnesCount64(wrote)
	p.sent.records += n
	v.stats.Updates += uint64(n)
	p.desk.sweptOthers += uint64(n)
	v.going = room(v.going, 1, usualList)
	v.wentWord(uint32(w), wrote)
	return word, full
}

// sweepsOthers reports whether anything behind the list may be swept.
func (p *packetWriter) sweepsOthers() bool {
	return p.sweeps() && !p.run.open && !p.v.whole.on && len(p.v.store.groups.of) == 0
}

// madeBody is the body of a record as usual, nil if it was not made yet, and whose
// it is.
func (d *Desk) madeBody(index uint32, mask Mask, t, before tick.Tick) (*bodyEntry, *bodies) {
	if d.first != nil && d.first.tick == d.store.tick {
		if e := d.first.find(index, mask, t, before); e != nil {
			return e, d.first
		}
	}
	d.ready()
	return d.bodies.find(index, mask, t, before), &d.bodies
}

// used notes that a record has a body that was made before.
func (d *Desk) used(e *bodyEntry, of *bodies) {
	if of == d.first { // which other desks read at the same time
		d.bodies.shared++
		return
	}
	of.used(e)
}
