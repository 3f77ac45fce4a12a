package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/tick"
)

// preparing is a tick's bodies being made in several parts.
type preparing struct {
	views  [maxPrepared]*View     // no two have acknowledged the same tick last
	listed [maxPrepared]tick.Tick // those ticks
	near   [maxPrepared]tick.Tick // how far before them lies the other one that is leaned on
	n      int
	parts  int
	arenas int
	part   func(part int) // made once, so that a tick allocates nothing
}

const (
	// maxPrepared is of how many views the bodies are made beforehand.
	maxPrepared = 16
	// arenasPerPart is into how many pieces a part's indexes fall: what moves
	// does not lie evenly among them.
	arenasPerPart = 4
)

// Prepare makes bodies that records of these views will need, before they are
// written at several desks: there each would be made once for each desk. do has
// to call its function with each of 0 to n-1, n being at most parts, in any
// order and at the same time, and to return when all calls have. It is to be
// called when all views have observed the tick and planned for it. Without it
// the same is written.
func (s *Store) Prepare(views []*View, parts int, do func(n int, part func(part int))) {
	p := &s.prepare
	p.choose(views)
	if p.n == 0 || s.watch != nil || s.desk.bodies.tick == s.tick {
		return
	}
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
	clear(p.views[:])
}

// choose takes one of the views that have acknowledged the same tick last: what
// one of them needs most others need too.
func (p *preparing) choose(views []*View) {
	p.n = 0
	for _, v := range views {
		newest := v.newestHeard()
		if newest == tick.None || p.n == maxPrepared || v.whole.on {
			continue
		}
		known := false
		for _, t := range p.listed[:p.n] {
			known = known || t == newest
		}
		if !known {
			p.views[p.n], p.listed[p.n], p.near[p.n] = v, newest, v.answers.near(newest)
			p.n++
		}
	}
}

// newestHeard is the newest tick of which the client has acknowledged anything
// that may be leaned on.
func (v *View) newestHeard() tick.Tick {
	if len(v.listed) > 0 {
		if p := v.sent.get(v.listed[0]); p != nil {
			return p.tick
		}
	}
	return tick.None
}

// preparePart makes the bodies of a part's indexes, which are nobody else's.
func (s *Store) preparePart(part int) {
	p, b := &s.prepare, &s.desk.bodies
	for a := part; a < p.arenas; a += p.parts {
		for w := a << b.shift >> 6; w < (a+1)<<b.shift>>6; w++ {
			for i, v := range p.views[:p.n] {
				if w >= len(v.unsent) {
					continue
				}
				for word := v.unsent[w] &^ v.owed[w] & v.plan.allows(w); word != 0; word &= word - 1 {
					v.prepare(uint32(w<<6+bits.TrailingZeros64(word)), p.listed[i], p.near[i])
				}
			}
		}
	}
}

// prepare makes the body of an entity's record, if it is the usual one and goes
// through the list of such a tick.
func (v *View) prepare(index uint32, listed, near tick.Tick) {
	var room slot
	s, q := v.store, v.slot(index, &room)
	mask := v.maskOf(index)
	if q.base == tick.None || s.tick-q.base >= s.cfg.Window || q.mask != mask || mask&s.schema.whole != 0 {
		return
	}
	before := s.leant(q, listed, near)
	if b := &s.desk.bodies; b.find(index, mask, q.base, before) == nil {
		b.add(s, index, mask, q.base, before)
	}
}
