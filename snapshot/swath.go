package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/tick"
)

// Entities of a list follow each other in the order of their indexes, most often, so
// that those of 64 indexes lie side by side. Where all of them that wait are of one
// cohort and of the same rows, as most often too, that is asked 64 at a time, and
// noted so.

// swath is entities of a list, word by word: a new one where the next entity is of
// other 64 indexes.
type swath struct {
	n     int
	index [ahead]uint32
	words [ahead]wordOf
	waits [ahead]uint64 // which of a word have a record,
	from  [ahead]uint8  // where in index the word begins
	mask  Mask          // the rows that the first of them had in the list's packet,
	alike bool          // and all others as well
	span  bool          // all leant on what lies equally far back
}

// take makes it of the first entities up to a despawn, and returns how many that are.
func (h *swath) take(next []sentEntry) int {
	h.n = 0
	if len(next) == 0 || len(next) > ahead || next[0].despawn {
		return 0
	}
	first := next[0]
	w, of, n, from := first.index>>6, uint64(0), 0, 0
	masks, spans := Mask(0), uint16(0)
	k := 0
	for ; k < len(next); k++ {
		e := &next[k]
		if e.despawn {
			break
		}
		h.index[k] = e.index
		masks |= e.mask ^ first.mask
		spans |= e.span ^ first.span
		if e.index>>6 != w {
			h.words[n&(ahead-1)], h.from[n&(ahead-1)] = wordOf{w, of}, uint8(from)
			n++
			w, of, from = e.index>>6, 0, k
		}
		of |= 1 << (e.index & 63)
	}
	h.words[n&(ahead-1)], h.from[n&(ahead-1)] = wordOf{w, of}, uint8(from)
	h.n, h.mask, h.alike, h.span = n+1, first.mask, masks == 0, spans == 0
	return k
}

// end is where in index a word ends, of which there are n.
func (h *swath) end(i, n int) int {
	if i+1 < h.n {
		return int(h.from[i+1])
	}
	return n
}

// wait notes which of the n entities have a record.
func (h *swath) wait(members uint32, n int) {
	for i := range h.words[:h.n] {
		from, end := int(h.from[i]), h.end(i, n)
		some := uint64(members) >> from & (1<<(end-from) - 1)
		if some == 1<<(end-from)-1 {
			h.waits[i] = h.words[i].of
			continue
		}
		h.waits[i] = 0
		for ; some != 0; some &= some - 1 {
			h.waits[i] |= 1 << (h.index[from+bits.TrailingZeros64(some)] & 63)
		}
	}
}

// members is which of the n entities have a record, of what waits says of their words.
func (h *swath) members(n int) (members uint32) {
	for i := range h.words[:h.n] {
		from, end, waits := int(h.from[i]), h.end(i, n), h.waits[i]
		if waits == h.words[i].of {
			members |= uint32(1<<(end-from)-1) << from
			continue
		}
		for k := from; waits != 0 && k < end; k++ {
			members |= uint32(waits>>(h.index[k]&63)&1) << k
		}
	}
	return members
}

// lookAll is look for entities that are alike as far as that can be asked by words:
// of one cohort whose T is the list's, with the rows that they had there. It says
// false where more has to be asked.
func (s *sweep) lookAll(p *packetWriter, h *swath, n int) bool {
	v := p.v
	if !h.alike || len(v.own.touched) > 0 || len(v.store.groups.of) > 0 {
		return false
	}
	var c *cohort
	for i := range h.words[:h.n] {
		w := h.words[i].word
		waits := v.unsent[w] & h.words[i].of
		if v.owes {
			waits &^= v.owed[w]
		}
		if h.waits[i] = waits; waits == 0 {
			continue
		}
		if c == nil {
			if c = s.first(p, h, firstOf(w, waits)); c == nil {
				return false
			}
		}
		if waits&^c.of[w] != 0 {
			return false
		}
	}
	s.members = h.members(n)
	p.desk.alike += uint64(n)
	return true
}

// first makes a member of a cohort the first of those that are alike, and returns its
// cohort; nil where that is not as usual.
func (s *sweep) first(p *packetWriter, h *swath, index uint32) *cohort {
	v := p.v
	if !v.cohorts.any.has(index) {
		return nil
	}
	c := v.cohorts.find(index)
	if schema := v.store.schema; c.base != p.listed || c.went == p.s || !schema.together(h.mask&^schema.tags) {
		return nil
	}
	// Its rows are those of T, which it had in the list's packet: what there is of them now is in no near cache.
	s.mask, s.lean = h.mask, p.before(&slot{base: c.base, lean: c.lean, near: c.near})
	return c
}

// leanAs makes an entity the first of those that are alike, if its record is the
// usual one.
func (s *sweep) leanAs(p *packetWriter, index uint32, mask Mask) bool {
	var room slot
	q, schema := p.v.slot(index, &room), p.v.store.schema
	s.mask, s.lean = mask, p.before(q)
	return schema.together(mask &^ schema.tags)
}

// find finds out where the bodies of the first n are that have a record, and returns
// of how many that is known: none is made at a desk whose bodies were made before.
func (s *sweep) find(p *packetWriter, h *swath, n int) int {
	d := p.desk
	if s.of = d.first; s.of == nil || s.of.tick != p.s {
		d.ready()
		s.of = &d.bodies
	}
	own := s.of == &d.bodies
	if own && s.noneMade(h, n) {
		return n
	}
	for m := s.members; m != 0; m &= m - 1 {
		k := bits.TrailingZeros32(m)
		made := s.of.find(h.index[k], s.mask, p.listed, s.lean)
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
	}
	return n
}

// noneMade reports whether of none of those that have a record any body was made in
// this tick, which is asked by words, and then lists them all.
func (s *sweep) noneMade(h *swath, n int) bool {
	for i := range h.words[:h.n] {
		if s.of.any[h.words[i].word]&h.waits[i] != 0 {
			return false
		}
	}
	s.fresh = true
	s.missing = bits.OnesCount32(s.members)
	if s.members == 1<<n-1 {
		for i := range s.unmade {
			s.unmade[i] = uint8(i)
		}
		return true
	}
	for i, m := 0, s.members; m != 0; i, m = i+1, m&(m-1) {
		s.unmade[i] = uint8(bits.TrailingZeros32(m))
	}
	return true
}

// leave makes bodies that were made for records which the packet has no room for
// what they would be if nobody had asked for them: but for the first n, nobody has.
func (s *sweep) leave(n int) {
	if !s.fresh {
		return
	}
	for _, k := range s.unmade[:s.missing] {
		if e := s.bodies[k]; e != nil && int(k) >= n {
			s.of.of(e.index).entries[e.place].fresh = true // where it lies now: its arena may have grown
		}
	}
}

// spanOf is how many ticks before a packet's tick its records of a list lean.
func spanOf(now, listed tick.Tick) uint16 {
	if span := now - listed; span <= maxSpan {
		return uint16(span)
	}
	return 0
}
