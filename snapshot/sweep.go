package snapshot

import (
	"math/bits"
	"slices"

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
	s := sweep{bodies: &p.desk.sheaf.bodies}
	n := s.look(p, next)
	if f.at+n != records {
		n &^= fourSize - 1
	}
	if n < min(leastSwept, len(next)) || n == 0 || p.sent.n+n > maxRecords || !s.make(p, next, behind) {
		return 0
	}
	s.members &= 1<<n - 1
	if n = s.write(p, f, n); n == 0 {
		return 0
	}
	s.members &= 1<<n - 1
	f.at += n
	p.desk.swept += uint64(n)
	s.note(p, next[:n])
	f.keeper.swept(p, f, &s, next[:n], i)
	return n
}

// look finds out which of the next entities have a record, and where their bodies
// are, up to the first that is not as they are.
func (s *sweep) look(p *packetWriter, next []sentEntry) int {
	v, d := p.v, p.desk
	if s.of = d.first; s.of == nil || s.of.tick != p.s {
		d.ready()
		s.of = &d.bodies
	}
	own, grouped := s.of == &d.bodies, len(v.store.groups.of) > 0
	for k := range next {
		e := &next[k]
		w, bit := e.index>>6, uint64(1)<<(e.index&63)
		if e.despawn || grouped && v.store.groups.at(e.index) != 0 {
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
		made := s.of.find(e.index, s.mask, p.listed, s.lean)
		if made == nil {
			if !own {
				return k
			}
			s.unmade[s.missing] = uint8(k)
			s.missing++
		} else if made.none {
			return k
		}
		s.bodies[k] = made
		s.members |= 1 << k
	}
	return len(next)
}

// leanAs makes an entity the first of those that are alike, if its record is the
// usual one.
func (s *sweep) leanAs(p *packetWriter, index uint32, mask Mask) bool {
	var room slot
	q, schema := p.v.slot(index, &room), p.v.store.schema
	s.mask, s.lean = mask, p.before(q)
	return schema.together(mask &^ schema.tags)
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
func (s *sweep) make(p *packetWriter, next, behind []sentEntry) bool {
	if s.missing == 0 {
		return true
	}
	b := &p.desk.sheaf
	if s.missing > (p.limit-p.w.Bits())/leastRecord {
		return false
	}
	b.n, b.mask, b.t, b.before = s.missing, s.mask, p.listed, s.lean
	for i, k := range s.unmade[:s.missing] {
		b.index[i], b.at[i], b.bodies[k] = next[k].index, k, nil
	}
	b.soon = min(len(behind), len(b.next))
	for i := range behind[:b.soon] {
		b.next[i] = behind[i].index
	}
	s.of.addAll(p.v.store, b)
	b.soon = 0
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
		for m := symbol; m != 0; m &= m - 1 {
			e := s.bodies[at+bits.TrailingZeros(uint(m))]
			if e == nil {
				p.w = mark
				return at
			}
			p.writeBody(e, s.of)
		}
		if p.w.Overflowed() || p.w.Bits() > p.limit {
			p.w = mark
			return at
		}
		f.written, f.passed, f.context = f.written+f.passed+1, 0, afterFour(symbol)
	}
	return n
}

// note notes the records that were written.
func (s *sweep) note(p *packetWriter, next []sentEntry) {
	v, span := p.v, p.s-p.listed
	if span > maxSpan {
		span = 0
	}
	own, w, of := s.of == &p.desk.bodies, ^uint32(0), uint64(0)
	v.going = room(v.going, ahead, usualList)
	for m := s.members; m != 0; m &= m - 1 {
		k := bits.TrailingZeros32(m)
		index, e := next[k].index, s.bodies[k]
		v.sent.add(p.sent, sentEntry{mask: s.mask, index: index, span: uint16(span)})
		if index>>6 != w { // of those before the first, something may be left to say
			v.wentWord(w, of)
			w, of = index>>6, 0
		}
		of |= 1 << (index & 63)
		s.deltas += uint64(e.deltas)
		s.same += uint64(e.same)
		if own {
			s.of.used(e)
		}
	}
	v.wentWord(w, of)
	n := bits.OnesCount32(s.members)
	if s.of != &p.desk.bodies { // which other desks read at the same time
		p.desk.bodies.shared += uint64(n)
	}
	p.sent.records += n
	v.stats.Updates += uint64(n)
	v.stats.Deltas += s.deltas
	v.stats.Unchanged += s.same
}

// swept notes entities of the list that were gone through at once, the i-th of its
// packet and those behind it.
func (k *listKeeper) swept(p *packetWriter, f *fours, s *sweep, next []sentEntry, i int) {
	m := k.list
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
	m.listed = slices.Grow(m.listed, len(next))
	w, asked, wait := ^uint32(0), uint64(0), uint64(0)
	for at := range next {
		index := next[at].index
		m.listed = append(m.listed, index)
		if index>>6 != w {
			m.asked(w, asked, wait, even)
			w, asked, wait = index>>6, 0, 0
		}
		bit := uint64(1) << (index & 63)
		asked |= bit
		wait |= bit & -uint64(s.members>>at&1)
	}
	m.asked(w, asked, wait, even)
	n := bits.OnesCount32(s.members)
	m.entries = p.v.sent.appendLast(m.entries, p.sent, n)
	m.before = slices.Grow(m.before, n)
	for range n {
		m.before = append(m.before, s.lean)
	}
	k.come.deltas += s.deltas
	k.come.same += s.same
	k.reached(p, f, i+len(next))
}

// asked notes who of a word was asked for, who of these waited, and of whom of
// these T' is that of most if it is of any.
func (m *sharedList) asked(w uint32, asked, wait, even uint64) {
	if asked == 0 {
		return
	}
	if n := len(m.waits); n == 0 || m.waits[n-1].word != w {
		m.waits = append(m.waits, wordWaits{word: w})
	}
	a := &m.waits[len(m.waits)-1]
	a.asked |= asked
	a.wait |= wait
	a.even |= wait & even
}
