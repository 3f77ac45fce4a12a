package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/tick"
)

// Most entities of a list say the same of themselves: each waits or does not, and
// those that wait have the same rows and lean on the same T and T'. They are gone
// through as many at once as bodies are made together: which of them have a record
// is one number, and what is noted of them goes by words. At the first of which
// more has to be asked that ends, and its four goes the way for all (fours.go).
// Nothing but time depends on which way an entity went.

// sweep is entities of a list that are gone through at once.
type sweep struct {
	of           *bodies   // where their bodies are
	mask         Mask      // their rows
	lean         tick.Tick // T' of their records
	cohort       *cohort   // of which some are, nil where none is known yet
	members      uint32    // of which of them there is a record
	bodies       *[ahead]*bodyEntry
	unmade       [ahead]uint8 // which of these are still to be made,
	missing      int          // and how many that are
	fresh        bool         // all bodies are, being made for these records
	deltas, same uint64       // rows of what was written
}

// leastSwept is how many entities are worth a sweep.
const leastSwept = 2 * fourSize

// sweeps reports whether anything may be swept: what is asked of each entity where
// there are ties, budgets or trainers is asked one by one.
func (p *packetWriter) sweeps() bool {
	return p.v.shareable() && p.v.ties.n == 0 && p.waiting == 0 && !p.desk.apart
}

// sweep goes through the next entities of a list, the i-th of its packet and those
// behind it, and returns how many that were: whole fours, or all up to the list's
// end.
func (p *packetWriter) sweep(f *fours, next, behind []sentEntry, i, records int) int {
	if !p.sweeps() {
		return 0
	}
	s, h := sweep{bodies: &p.desk.sheaf.bodies}, &p.desk.swath
	n := h.take(next)
	if n == 0 {
		return 0
	}
	if !s.lookAll(p, h, n) {
		if n = s.look(p, next[:n]); n < len(next) {
			n = h.take(next[:n])
		}
		h.wait(s.members, n)
	}
	n = s.find(p, h, n)
	if f.at+n != records {
		n &^= fourSize - 1
	}
	if n < min(leastSwept, len(next)) || n == 0 || p.sent.n+n > maxRecords || !s.make(p, h, behind) {
		return 0
	}
	s.members &= 1<<n - 1
	n = s.write(p, f, n)
	s.leave(n)
	if n == 0 {
		return 0
	}
	s.members &= 1<<n - 1
	if n < len(next) {
		h.take(next[:n])
		h.wait(s.members, n)
	}
	f.at += n
	p.desk.swept += uint64(n)
	s.note(p, h, next[:n], f.keeper.list != nil)
	f.keeper.swept(p, f, &s, h, next[:n], i)
	return n
}

// look is which of the next entities have a record, asked one by one, up to the first
// that is not as they are.
func (s *sweep) look(p *packetWriter, next []sentEntry) int {
	v := p.v
	grouped := len(v.store.groups.of) > 0
	for k := range next {
		e := &next[k]
		w, bit := e.index>>6, uint64(1)<<(e.index&63)
		if grouped && v.store.groups.at(e.index) != 0 {
			return k
		}
		if v.unsent[w]&bit == 0 || v.owes && v.owed[w]&bit != 0 {
			continue
		}
		if member := s.cohort != nil && s.cohort.of[w]&bit != 0; !member || e.mask != s.mask || len(v.own.touched) > 0 {
			mask := v.maskOf(e.index)
			if s.members == 0 && !s.leanAs(p, e.index, mask) || mask != s.mask || v.touchedAt(e.index) > p.s || !member && !s.alike(p, e.index) {
				return k
			}
		} // else its rows have not changed since T, of which the list is
		s.members |= 1 << k
	}
	return len(next)
}

// alike reports whether an entity leans on what the first one leans on.
func (s *sweep) alike(p *packetWriter, index uint32) bool {
	var room slot
	v := p.v
	q := v.slot(index, &room)
	if q.base != p.listed || q.mask != s.mask || p.before(q) != s.lean || v.wentAt(index) == p.s {
		return false
	}
	if v.cohorts.any.has(index) {
		s.cohort = v.cohorts.find(index)
	}
	return true
}

// make makes the bodies that are still to be made, if the packet may have room for
// them. What leans on something that is not held any more is nobody's.
func (s *sweep) make(p *packetWriter, h *swath, behind []sentEntry) bool {
	if s.missing == 0 {
		return true
	}
	b := &p.desk.sheaf
	if s.missing > (p.limit-p.w.Bits())/leastRecord {
		return false
	}
	b.n, b.mask, b.t, b.before = s.missing, s.mask, p.listed, s.lean
	for i, k := range s.unmade[:s.missing] {
		b.index[i], b.at[i], b.bodies[k] = h.index[k], k, nil
	}
	for i := range h.words[:h.n] {
		s.of.any[h.words[i].word] |= h.waits[i]
	}
	b.soon = min(len(behind), len(b.next))
	for i := range behind[:b.soon] {
		b.next[i] = behind[i].index
	}
	b.taken = s.fresh
	s.of.addAll(p.v.store, b)
	b.taken, b.soon = false, 0
	return true
}

// write writes the first n entities, a four at a time, and returns how many it was.
func (s *sweep) write(p *packetWriter, f *fours, n int) int {
	t := p.v.store.schema.codes.four
	for at := 0; at < n; at += fourSize {
		symbol := int(s.members>>at) & (fourNone - 1)
		if symbol == 0 {
			f.passed++
			continue
		}
		mark, context := p.w, f.context
		for range f.passed {
			t.Write(&p.w, context, 0)
			context = afterNone
		}
		t.Write(&p.w, context, symbol)
		deltas, same := s.deltas, s.same
		for m := symbol; m != 0; m &= m - 1 {
			e := s.bodies[at+bits.TrailingZeros(uint(m))]
			if e == nil {
				p.w = mark
				return at
			}
			p.writeBody(e, s.of)
			deltas += uint64(e.deltas)
			same += uint64(e.same)
		}
		if p.w.Overflowed() || p.w.Bits() > p.limit {
			p.w = mark
			return at
		}
		f.written, f.passed, f.context = f.written+f.passed+1, 0, afterFour(symbol)
		s.deltas, s.same = deltas, same
	}
	return n
}

// note notes the records that were written. What is kept of the list, if anything is,
// will hold what the packet carries.
func (s *sweep) note(p *packetWriter, h *swath, next []sentEntry, kept bool) {
	v, n := p.v, bits.OnesCount32(s.members)
	v.going = room(v.going, ahead, usualList)
	for i := range h.words[:h.n] {
		v.wentWord(h.words[i].word, h.waits[i])
	}
	switch span := spanOf(p.s, p.listed); {
	case kept:
		v.sent.pass(p.sent, n)
	case s.again(h, len(next)):
		v.sent.addAll(p.sent, next, span, h.span && next[0].span == span)
	default:
		for m := s.members; m != 0; m &= m - 1 {
			v.sent.add(p.sent, sentEntry{mask: s.mask, index: h.index[bits.TrailingZeros32(m)], span: span})
		}
	}
	switch own := s.of == &p.desk.bodies; {
	case !own: // which other desks read at the same time
		p.desk.bodies.shared += uint64(n)
	case !s.fresh:
		for m := s.members; m != 0; m &= m - 1 {
			s.of.used(s.bodies[bits.TrailingZeros32(m)])
		}
	}
	p.sent.records += n
	v.stats.Updates += uint64(n)
	v.stats.Deltas += s.deltas
	v.stats.Unchanged += s.same
}

// again reports whether there is a record of each of the n entities, with the rows that
// it had in the list's packet.
func (s *sweep) again(h *swath, n int) bool {
	return h.alike && h.mask == s.mask && bits.OnesCount32(s.members) == n
}

// appendTo appends what a packet carries: for each of the records an entry, that of the
// list's packet with another span where the rest is the same.
func (s *sweep) appendTo(to []sentEntry, h *swath, next []sentEntry, span uint16) []sentEntry {
	if s.again(h, len(next)) {
		from := len(to)
		if to = append(to, next...); !h.span || next[0].span != span {
			for i := range to[from:] {
				to[from+i].span = span
			}
		}
		return to
	}
	for m := s.members; m != 0; m &= m - 1 {
		to = append(to, sentEntry{mask: s.mask, index: h.index[bits.TrailingZeros32(m)], span: span})
	}
	return to
}

// swept notes the next entities of the list, which were gone through at once, the i-th of
// its packet and those behind it.
func (k *listKeeper) swept(p *packetWriter, f *fours, s *sweep, h *swath, next []sentEntry, i int) {
	m, n := k.list, len(next)
	if m == nil {
		return
	}
	for len(m.listed) < i {
		m.listed = append(m.listed, notListed)
	}
	if len(m.entries) == 0 {
		m.lean = s.lean
	}
	even := uint64(0)
	if s.lean == m.lean {
		even--
	}
	m.listed = append(m.listed, h.index[:n]...)
	for i := range h.words[:h.n] {
		m.asked(h.words[i].word, h.words[i].of, h.waits[i], even)
	}
	m.entries = s.appendTo(m.entries, h, next, spanOf(p.s, p.listed))
	if even == 0 {
		for range bits.OnesCount32(s.members) {
			m.uneven = append(m.uneven, s.lean)
		}
	}
	k.come.deltas += s.deltas
	k.come.same += s.same
	k.reached(p, f, i+n)
}

// asked notes who of a word was asked for, who of these waited, and of whom of
// these T' is that of most if it is of any.
func (m *sharedList) asked(w uint32, asked, wait, even uint64) {
	if n := len(m.waits); n == 0 || m.waits[n-1].word != w {
		m.waits = append(m.waits, wordWaits{word: w})
	}
	a := &m.waits[len(m.waits)-1]
	a.asked |= asked
	a.wait |= wait
	a.even |= wait & even
}
