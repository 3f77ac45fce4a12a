package snapshot

// preparing is a tick's bodies being made in several parts.
type preparing struct {
	views  []*View
	parts  int
	arenas int
	part   func(part int) // made once, so that a tick allocates nothing
}

// arenasPerPart is into how many pieces a part's indexes fall: what moves does not lie evenly among them.
const arenasPerPart = 4

// Prepare makes bodies that records of these views will need, before they are
// written at several desks: there each would be made once for each desk. do has
// to call its function with each of 0 to n-1, n being at most parts, in any
// order and at the same time, and to return when all calls have. It is to be
// called when all views have observed the tick and planned for it. Without it
// the same is written.
func (s *Store) Prepare(views []*View, parts int, do func(n int, part func(part int))) {
	p := &s.prepare
	if len(views) == 0 || len(s.gens) == 0 || s.watch != nil || s.desk.bodies.tick == s.tick {
		return
	}
	p.views = views
	shift := uint(6) // a word of the bitsets belongs to one part
	for (len(s.gens)-1)>>shift >= parts*arenasPerPart {
		shift++
	}
	s.desk.bodies.begin(s, shift)
	p.arenas = (len(s.gens)-1)>>shift + 1
	p.parts = min(parts, p.arenas)
	if p.part == nil {
		p.part = s.preparePart
	}
	do(p.parts, p.part)
	p.views = nil
}

// preparePart makes the bodies of a part's indexes, which are nobody else's.
func (s *Store) preparePart(part int) {
	p, b := &s.prepare, &s.desk.bodies
	for a := part; a < p.arenas; a += p.parts {
		for w := a << b.shift >> 6; w < (a+1)<<b.shift>>6; w++ {
			for i, v := range p.views {
				if w < len(v.pages) && !v.prepared(p.views[:i], w) {
					v.preparePage(uint32(w))
				}
			}
		}
	}
}

// prepared reports whether the bodies that records of a page need were made for another client.
func (v *View) prepared(others []*View, w int) bool {
	g := &v.pages[w]
	for _, o := range others {
		if w < len(o.pages) {
			if h := &o.pages[w]; h.ref == g.ref && h.near == g.near && h.base == g.base && h.lean == g.lean && h.members&g.members == g.members && o.unsent[w] == v.unsent[w] {
				return true
			}
		}
	}
	return false
}

// preparePage makes the bodies of the usual records of a page.
func (v *View) preparePage(w uint32) {
	s, g := v.store, &v.pages[w]
	p := packetWriter{v: v, s: s.tick, again: true, listPage: g}
	for word := v.unsent[w] & g.refOf &^ v.owed[w] & v.plan.allows(int(w)); word != 0; word &= word - 1 {
		var room slot
		index := firstOf(w, word)
		q, mask := v.slot(index, &room), v.maskOf(index)
		if v.otherRows(index, g.ref) || s.tick-g.ref >= s.cfg.Window || mask&s.schema.whole != 0 {
			continue
		}
		before, known := p.before(index, q)
		if b := &s.desk.bodies; known && b.find(index, mask, g.ref, before) == nil {
			b.add(s, index, mask, g.ref, before)
		}
	}
}
