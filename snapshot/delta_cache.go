package snapshot

import (
	"slices"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Desk is what writing takes beside a [View]: what was made for one client and
// is good for the next. Views may be written by several goroutines at once if
// each has a Desk of its own; each View is still written by one at a time, and
// neither the Store nor any View may be changed meanwhile. Which Desk a View is
// written at changes no bit. A [View.Write] without one uses the Store's own.
type Desk struct {
	store  *Store
	first  *bodies // those of the Store's own Desk, nothing of which is changed; nil there
	bodies bodies
	sheaf  sheaf
	texts  pageTexts
	apart  bool // a test's: no page is written at once
	alone  bool // of the bodies of the tick before, fewer were used again than made
	made   uint64
	again  uint64
}

// NewDesk returns a Desk, which the Store keeps for good.
func (s *Store) NewDesk() *Desk {
	d := &Desk{store: s, first: &s.desk.bodies}
	s.desks = append(s.desks, d)
	return d
}

// Desk is the Store's own.
func (s *Store) Desk() *Desk { return &s.desk }

// Shared is how many bodies of records were made, and how often one was used
// again for another client. With several desks it is not the same in each run.
func (s *Store) Shared() (made, again uint64) {
	made, again = s.desk.shared()
	for _, d := range s.desks {
		m, a := d.shared()
		made, again = made+m, again+a
	}
	return made, again
}

func (d *Desk) shared() (made, again uint64) {
	made = d.bodies.made
	for i := range d.bodies.arenas {
		made += d.bodies.arenas[i].made
	}
	return made, d.bodies.shared
}

// PagesShared is how often the records of a page were copied from another client's packet.
func (s *Store) PagesShared() uint64 {
	n := s.desk.texts.copied
	for _, d := range s.desks {
		n += d.texts.copied
	}
	return n
}

// sharedBody is the body of a record with rows that travel as what differs,
// made now if it was not yet, and whose it is. It is good until the next one is
// asked for.
func (d *Desk) sharedBody(index uint32, mask Mask, t, before tick.Tick) (*bodyEntry, *bodies) {
	if e, of := d.madeBody(index, mask, t, before); e != nil {
		d.used(e, of)
		return e, of
	}
	return d.bodies.add(d.store, index, mask, t, before), &d.bodies
}

// body gives the body of an entity's record against T and, unless before is
// none, T'. All rows of mask were shown at both; told are those of them that
// changed and travel whole. It says false when they are not all held any more.
func (d *Desk) body(to *body, index uint32, mask Mask, t, before tick.Tick, told Mask) bool {
	var e *bodyEntry
	of := &d.bodies
	if mask&d.store.schema.whole == 0 {
		e, of = d.sharedBody(index, mask, t, before)
	} else { // which of those changed is a client's own
		d.ready()
		e = &bodyEntry{t: t, before: before, mask: mask, index: index}
		d.store.makeBody(of.of(index), e, told)
	}
	to.word, to.bits, to.deltas, to.same = e.word, int(e.bits), e.deltas, e.same
	if to.words = nil; e.bits > 64 {
		to.words = of.wordsOf(e)
	}
	return !e.none
}

// ready forgets the bodies of the tick before.
func (d *Desk) ready() {
	if d.bodies.tick != d.store.tick {
		made, again := d.shared()
		d.alone = again-d.again < made-d.made
		d.made, d.again = made, again
		d.bodies.begin(d.store, oneArena)
	}
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

// The body of a record says how an entity's rows differ from those of T. Its
// bits depend on the entity, T and T' and on nothing that is a client's own, so
// they are made once a tick and copied to every client that leans on the same.
type body struct {
	word   uint64 // where it has no more bits than that
	words  []uint64
	bits   int
	deltas uint8 // rows that travel as what differs
	same   uint8 // rows that travel as nothing
}

// bodyEntry is a body that was made in this tick. It fills a cache line, with
// the first bits of the body: most have no more.
type bodyEntry struct {
	t      tick.Tick
	before tick.Tick
	mask   Mask
	word   uint64
	bits   uint32
	at     uint32 // first word
	next   uint32 // another body of the same index, in more
	index  uint32
	place  uint32 // its own, in its arena
	deltas uint8
	same   uint8
	none   bool // not all that it leans on is held
	fresh  bool // it was made ahead, and no record has it yet
}

// bodies are those of one tick.
type bodies struct {
	first  []uint32 // by index, where in its arena the first one is that was made of it, if that is of the index: else of an earlier tick
	arenas []arena  // those of an index in arena index >> shift
	shift  uint
	tick   tick.Tick
	made   uint64 // bodies made since the beginning
	shared uint64 // times one was used again
}

// arena is room for bodies of a range of indexes.
type arena struct {
	entries []bodyEntry // in the order in which they were made, one behind the other: few lines, and none waited for; the first is nobody's
	code    wire.Words
	symbols []wire.DeltaSymbol // of a body that a trainer sees
	made    uint64             // in this tick
	last    wayOf              // of the body that was made last: that of the next is likely the same
}

// wayOf is a way and of what it is.
type wayOf struct {
	from, t, before tick.Tick
	way             way
}

// way is that of the history from a tick to what was so at t and before.
func (b *arena) way(h *history, from, t, before tick.Tick) *way {
	if w := &b.last; w.from != from || w.t != t || w.before != before {
		*w = wayOf{from, t, before, h.way(from, t, before)}
	}
	return &b.last.way
}

// oneArena is a shift with which all indexes have the same arena.
const oneArena = 31

// begin forgets the bodies of earlier ticks.
func (b *bodies) begin(s *Store, shift uint) {
	b.tick, b.shift = s.tick, shift
	b.first = grown(b.first, len(s.gens), cap(s.gens))
	for len(b.arenas) <= max(len(s.gens)-1, 0)>>shift {
		b.arenas = append(b.arenas, arena{})
	}
	for i := range b.arenas {
		a := &b.arenas[i]
		b.made += a.made
		a.code.Reset()
		if least := upTo(len(s.gens), shift) + 1; cap(a.entries) < least { // one of each index
			a.entries = make([]bodyEntry, 0, upTo(cap(s.gens), shift)+1)
		}
		a.entries, a.made = append(a.entries[:0], bodyEntry{}), 0
	}
}

// upTo is how many of n indexes an arena has.
func upTo(n int, shift uint) int {
	if shift < oneArena {
		return min(n, 1<<shift)
	}
	return n
}

// of is the room of an index's bodies.
func (b *bodies) of(index uint32) *arena { return &b.arenas[index>>b.shift] }

// wordsOf are the bits of a body that does not fit the word of its entry.
func (b *bodies) wordsOf(e *bodyEntry) []uint64 {
	return b.of(e.index).code.All()[e.at : int(e.at)+(int(e.bits)+63)/64]
}

// find is a body that was made, nil if it was not.
func (b *bodies) find(index uint32, mask Mask, t, before tick.Tick) *bodyEntry {
	a, e := b.firstOf(index)
	if e == nil {
		return nil
	}
	for e.t != t || e.before != before || e.mask != mask {
		if e.next == 0 {
			return nil
		}
		e = &a.entries[e.next]
	}
	return e
}

// firstOf is the body that was made first of an index, nil if there is none.
func (b *bodies) firstOf(index uint32) (*arena, *bodyEntry) {
	a, at := b.of(index), b.first[index]
	if at == 0 || int(at) >= len(a.entries) || a.entries[at].index != index {
		return a, nil
	}
	return a, &a.entries[at]
}

// add makes a body that was not made yet.
func (b *bodies) add(s *Store, index uint32, mask Mask, t, before tick.Tick) *bodyEntry {
	a, e := b.place(s, index)
	e.t, e.before, e.mask, e.index = t, before, mask, index
	e.word, e.bits, e.at, e.deltas, e.same, e.none, e.fresh = 0, 0, 0, 0, 0, false, false
	s.makeBody(a, e, 0)
	return e
}

// used notes that a record has a body that was made before. What is known of it may be
// from before its arena grew: whether it is fresh is asked where it lies now.
func (b *bodies) used(e *bodyEntry) {
	if e.fresh {
		if now := &b.of(e.index).entries[e.place]; now.fresh {
			now.fresh = false
			return
		}
	}
	b.shared++
}

// place is an entry for another body of an index.
func (b *bodies) place(s *Store, index uint32) (*arena, *bodyEntry) {
	a, e := b.firstOf(index)
	n, next := uint32(len(a.entries)), uint32(0)
	if e != nil {
		next = e.place
	}
	b.first[index] = n
	a.room(s, 1)
	a.entries = a.entries[:n+1]
	a.entries[n].place, a.entries[n].next = n, next
	return a, &a.entries[n]
}

// room makes room for some more entries.
func (a *arena) room(s *Store, more int) {
	if n := len(a.entries); n+more > cap(a.entries) { // Clients of many round trips, with some loss, need several bodies of an index.
		a.entries = slices.Grow(a.entries, max(n, more, min(moreEach*len(s.gens), mostMore)))
	}
}

// usualWords is more than almost every body takes.
const usualWords = 32

// moreEach is how many further bodies of an index there is memory for when the
// first one is made, up to mostMore in all; beyond that it grows by twice.
const (
	moreEach = 8
	mostMore = 1 << 16
)

// makeBody codes a body and appends its words, or says in the entry that not
// all that it leans on is held.
func (s *Store) makeBody(b *arena, e *bodyEntry, told Mask) {
	b.made++
	w := &b.code
	w.Reserve(usualWords)
	before := w.Bits()
	e.at = uint32(before / 64)
	way := b.way(&s.past, s.tick, e.t, e.before)
	v := wire.Versions{Age: int64(s.tick - e.t), Span: int64(e.t - e.before)}
	b.symbols = b.symbols[:0]
	var part [whichRows]rowVersions // here and not in memory that stays, which would have to be told of each slice
	for rows := e.mask &^ s.schema.tags; rows != 0; {
		n, changed, moved := 0, uint(0), uint(0)
		for ; rows != 0 && n < whichRows; n, rows = n+1, rows&(rows-1) {
			r := &part[n]
			if r.row = rows.next(); s.schema.whole.Has(r.row) {
				changed |= uint(told>>r.row&1) << n
				continue
			}
			if !s.versions(r, e, way) {
				e.none = true
				w.Finish()
				return
			}
			v.Base, v.Before = r.base, r.before
			r.changed, r.moved = s.schema.codes.deltas[r.row].Compare(r.now, &v)
			changed |= one(r.changed) << n
			moved |= one(r.moved) << n
		}
		context := wire.WhichContext(n, moved, e.before != tick.None, v.Age)
		w.Symbol(s.schema.codes.which[n-1], context, int(changed))
		if s.watch != nil {
			b.symbols = append(b.symbols, wire.DeltaSymbol{Table: s.schema.codes.which[n-1], Context: context, Symbol: int(changed)})
		}
		for i := range n {
			switch r := &part[i]; {
			case changed>>i&1 == 0:
				e.same++
			case !s.schema.whole.Has(r.row): // else it travels behind the body
				e.deltas++
				v.Base, v.Before = r.base, r.before
				s.codeRow(b, r, &v)
			}
		}
	}
	e.bits = uint32(w.Bits() - before)
	w.Finish()
	if e.bits > 0 {
		e.word = w.All()[e.at]
	}
	if s.watch != nil {
		s.watch(b.symbols)
	}
}

// codeRow codes a row that differs.
func (s *Store) codeRow(b *arena, r *rowVersions, v *wire.Versions) {
	d := s.schema.codes.deltas[r.row]
	if s.watch != nil {
		again := *v
		b.symbols = d.Append(b.symbols, r.now, &again)
	}
	d.Code(&b.code, r.now, v, r.changed, r.moved)
}

// rowVersions are a row now, at T and at T', and in which lanes they differ.
type rowVersions struct {
	row               int
	now, base, before []uint32
	changed, moved    uint64
}

// one is 1 for any number but 0.
func one(v uint64) uint { return uint((v | -v) >> 63) }

// versions finds a row's versions, which the entity had at T and, if asked for,
// at T'.
func (s *Store) versions(r *rowVersions, e *bodyEntry, way *way) bool {
	r.now = s.rows.row(e.index, r.row)
	r.base, r.before = r.now, r.now
	since, known := s.sinceOf(e.index, r.row), e.before != tick.None
	if !known {
		r.before = nil
	}
	if since <= e.before || since <= e.t && !known {
		return true
	}
	newest := s.past.newestOf(e.index, r.row)
	if since > e.t {
		if r.base = s.past.lanesAt(newest, e.index, r.row, len(r.now), e.t, way.base); r.base == nil {
			return false
		}
	}
	if known {
		r.before = s.past.lanesAt(newest, e.index, r.row, len(r.now), e.before, way.before)
		return r.before != nil
	}
	return true
}

// Watch makes a function see the symbols of every body that is made: a trainer
// counts them.
func (s *Store) Watch(f func([]wire.DeltaSymbol)) { s.watch = f }

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
