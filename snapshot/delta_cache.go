package snapshot

import (
	"slices"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// EncodeCache stores the encoded deltas, texts of pages and scratch memory of one goroutine that writes. Views may be written by several
// goroutines at once if each has a EncodeCache of its own. Each View is still written by one at a time, and neither the Store nor any
// View may be changed meanwhile. Every EncodeCache writes the same bytes. A [View.Write] uses the Store's own.
type EncodeCache struct {
	store  *Store
	first  *deltaCache // those of the Store's own EncodeCache, which are only read; nil there
	deltas deltaCache
	batch  deltaBatch
	pages  pageCache
	packs  bool // whole rows are packed once for all clients
	plain  bool // no fast path: each page is written entity by entity
	alone  bool // in the tick before, fewer deltas were used again than made
	made   uint64
	again  uint64
}

// NewEncodeCache returns a EncodeCache, which the Store keeps for good.
func (s *Store) NewEncodeCache() *EncodeCache {
	d := &EncodeCache{store: s, first: &s.cache.deltas}
	s.caches = append(s.caches, d)
	return d
}

// EncodeCache returns the Store's own.
func (s *Store) EncodeCache() *EncodeCache { return &s.cache }

// Shared returns how many deltas were encoded, and how often one was used again for another client. With several desks it is
// not the same in each run.
func (s *Store) Shared() (made, again uint64) {
	made, again = s.cache.deltas.made, s.cache.deltas.shared
	for _, d := range s.caches {
		made, again = made+d.deltas.made, again+d.deltas.shared
	}
	for i := range s.cache.deltas.arenas {
		made += s.cache.deltas.arenas[i].made
	}
	return made, again
}

// PagesShared returns how often the records of a page were copied from another client's packet.
func (s *Store) PagesShared() uint64 {
	n := s.cache.pages.copied
	for _, d := range s.caches {
		n += d.pages.copied
	}
	return n
}

// delta finds the encoded delta of an entity's record against T and, unless before is tick.None, T'. Mask is rows that the entity
// had at both; whole are those of them that changed and are written whole. It says false when a baseline is not held any more.
func (d *EncodeCache) delta(to *encodedDelta, index uint32, mask Mask, t, before tick.Tick, whole Mask) bool {
	d.ready()
	var e *cachedDelta
	of := &d.deltas
	if !mask.Overlaps(d.store.schema.Whole) {
		e, of = d.get(index, mask, t, before)
	} else { // the rows that changed are this client's own
		e = &cachedDelta{t: t, before: before, mask: mask, index: index}
		d.store.encodeDelta(of.of(index), e, whole)
	}
	to.word, to.bits, to.deltas, to.same = e.word, int(e.bits), e.deltas, e.same
	if to.words = nil; e.bits > 64 {
		to.words = of.wordsOf(e)
	}
	return !e.none
}

// get returns the delta of rows none of which is written whole, encoded now if it was not yet, and the cache that it is in.
func (d *EncodeCache) get(index uint32, mask Mask, t, before tick.Tick) (*cachedDelta, *deltaCache) {
	if !plain.On {
		if e, of := d.lookup(index, mask, t, before); e != nil {
			d.used(e, of)
			return e, of
		}
	}
	return d.deltas.encode(d.store, index, mask, t, before), &d.deltas
}

// ready forgets the deltas of earlier ticks.
func (d *EncodeCache) ready() {
	if b := &d.deltas; b.tick != d.store.tick {
		b.reset(d.store, singleArena)
		d.alone = b.shared-d.again < b.made-d.made
		d.made, d.again = b.made, b.shared
	}
}

// lookup returns a delta that was encoded in this tick, nil if there is none, and the cache that it is in. The cache is ready.
func (d *EncodeCache) lookup(index uint32, mask Mask, t, before tick.Tick) (*cachedDelta, *deltaCache) {
	if d.first != nil && d.first.tick == d.store.tick {
		if e := d.first.find(index, mask, t, before); e != nil {
			return e, d.first
		}
	}
	return d.deltas.find(index, mask, t, before), &d.deltas
}

// used counts that a record has a delta that was encoded before.
func (d *EncodeCache) used(e *cachedDelta, of *deltaCache) {
	if of == d.first { // other desks read it at the same time
		d.deltas.shared++
		return
	}
	of.used(e)
}

// encodedDelta tells how the rows of an entity differ from those of T.
type encodedDelta struct {
	word   uint64 // the bits, if there are at most 64
	words  []uint64
	bits   int
	deltas uint8 // rows that differ, and are coded as deltas
	same   uint8 // rows that do not differ
}

// cachedDelta is a delta that was encoded in this tick. Its bits depend on the entity, T and T', and on nothing that is a client's
// own, so every client with the same T and T' gets the same. It fills a cache line, with its first 64 bits.
type cachedDelta struct {
	t      tick.Tick
	before tick.Tick
	mask   Mask
	word   uint64
	bits   uint32
	at     uint32 // first word in the arena
	next   uint32 // number of another delta of the same index; 0: there is none
	index  uint32
	place  uint32 // its own number in the arena
	deltas uint8
	same   uint8
	none   bool // a baseline is not held any more
	fresh  bool // it was encoded ahead, and no record has it yet
}

// deltaCache stores the deltas of one tick.
type deltaCache struct {
	first  []uint32     // by index: number of its newest delta, valid only if entries[number].index is the index
	arenas []deltaArena // arenas[index>>shift] stores the deltas of an index
	shift  uint
	tick   tick.Tick
	made   uint64 // deltas encoded before this tick
	shared uint64 // times one was used again
}

// deltaArena stores deltas of a range of indexes, in the order in which they were encoded. The first entry is unused.
type deltaArena struct {
	entries []cachedDelta
	code    delta.BitBuffer
	symbols []delta.DeltaSymbol // of a delta that a trainer sees
	made    uint64              // in this tick
}

// singleArena is a shift with which all indexes have the same arena.
const singleArena = 31

// reset forgets the deltas of earlier ticks.
func (b *deltaCache) reset(s *Store, shift uint) {
	b.tick, b.shift = s.tick, shift
	b.first = grown(b.first, len(s.gens), cap(s.gens))
	for len(b.arenas) <= max(len(s.gens)-1, 0)>>shift {
		b.arenas = append(b.arenas, deltaArena{})
	}
	each, least := cap(s.gens), len(s.gens) // of an arena
	if shift < singleArena {
		each, least = min(each, 1<<shift), min(least, 1<<shift)
	}
	for i := range b.arenas {
		a := &b.arenas[i]
		b.made += a.made
		a.code.Reset()
		if cap(a.entries) < least+1 { // one for each index
			a.entries = make([]cachedDelta, 0, each+1)
		}
		a.entries, a.made = append(a.entries[:0], cachedDelta{}), 0
	}
}

// of returns the arena of an index.
func (b *deltaCache) of(index uint32) *deltaArena { return &b.arenas[index>>b.shift] }

// wordsOf returns the bits of a delta with more than 64.
func (b *deltaCache) wordsOf(e *cachedDelta) []uint64 {
	return b.of(e.index).code.All()[e.at : int(e.at)+(int(e.bits)+63)/64]
}

// newest returns the number of the newest delta of an index, 0 if there is none.
func (b *deltaCache) newest(a *deltaArena, index uint32) uint32 {
	if at := b.first[index]; int(at) < len(a.entries) && a.entries[at].index == index {
		return at
	}
	return 0
}

// find returns a delta that was encoded, nil if it was not.
func (b *deltaCache) find(index uint32, mask Mask, t, before tick.Tick) *cachedDelta {
	a := b.of(index)
	for at := b.newest(a, index); at != 0; {
		e := &a.entries[at]
		if e.t == t && e.before == before && e.mask == mask {
			return e
		}
		at = e.next
	}
	return nil
}

// encode encodes a delta.
func (b *deltaCache) encode(s *Store, index uint32, mask Mask, t, before tick.Tick) *cachedDelta {
	a := b.of(index)
	n, next := uint32(len(a.entries)), b.newest(a, index)
	a.room(s, 1)
	a.entries = a.entries[:n+1]
	b.first[index] = n
	e := &a.entries[n]
	*e = cachedDelta{t: t, before: before, mask: mask, index: index, place: n, next: next}
	s.encodeDelta(a, e, Mask{})
	return e
}

// used counts that a record has a delta that was encoded before. The arena may have grown since: the entry that counts is where
// it is now.
func (b *deltaCache) used(e *cachedDelta) {
	if e.fresh {
		if now := &b.of(e.index).entries[e.place]; now.fresh {
			now.fresh = false
			return
		}
	}
	b.shared++
}

// room makes room for some more entries. Clients with long round trips, or with loss, need several deltas of an index.
func (a *deltaArena) room(s *Store, more int) {
	if n := len(a.entries); n+more > cap(a.entries) {
		a.entries = slices.Grow(a.entries, max(n, more, min(moreEach*len(s.gens), mostMore)))
	}
}

const (
	// usualWords is more than almost every delta takes.
	usualWords = 32
	// moreEach is the room for further deltas of each index when the first one is encoded, up to mostMore in all. After that the
	// room doubles.
	moreEach = 8
	mostMore = 1 << 16
)

// encodeDelta encodes a delta and appends its words, or notes that a baseline is not held any more. Whole are rows that changed and
// are written whole behind it.
func (s *Store) encodeDelta(a *deltaArena, e *cachedDelta, whole Mask) {
	a.made++
	w := &a.code
	w.Reserve(usualWords)
	start := w.Bits()
	e.at = uint32(start / 64)
	v := quantize.Baselines{Age: int64(s.tick - e.t), Span: int64(e.t - e.before)}
	a.symbols = a.symbols[:0]
	var part [format.SymbolRows]rowVersions // on the stack: memory that stays would have to be told of each slice
	for rows := e.mask.Minus(s.schema.Tags); !rows.IsZero(); {
		n, changed, moved := 0, uint(0), uint(0)
		for ; !rows.IsZero() && n < format.SymbolRows; n, rows = n+1, rows.Rest() {
			r := &part[n]
			if r.row = rows.Lowest(); s.schema.Whole.Has(r.row) {
				changed |= uint(whole.Intersect(format.Bit(r.row)).Count()) << n
				continue
			}
			if !s.versions(r, e) {
				e.none = true
				w.Finish()
				return
			}
			v.Base, v.Before = r.base, r.before
			r.changed, r.moved = s.schema.Codes.Deltas[r.row].Compare(r.now, &v)
			changed |= one(r.changed) << n
			moved |= one(r.moved) << n
		}
		which, context := s.schema.Codes.Which[n-1], delta.WhichContext(n, moved, e.before != tick.None, v.Age)
		w.Symbol(which, context, int(changed))
		if s.watch != nil {
			a.symbols = append(a.symbols, delta.DeltaSymbol{Table: which, Context: context, Symbol: int(changed)})
		}
		for i := range n {
			r := &part[i]
			if changed>>i&1 == 0 {
				e.same++
				continue
			}
			d := s.schema.Codes.Deltas[r.row]
			if d == nil {
				continue // it is written whole, behind the delta
			}
			e.deltas++
			v.Base, v.Before = r.base, r.before
			if s.watch != nil {
				again := v
				a.symbols = d.Append(a.symbols, r.now, &again)
			}
			d.Code(w, r.now, &v, r.changed, r.moved)
		}
	}
	e.bits = uint32(w.Bits() - start)
	w.Finish()
	if e.bits > 0 {
		e.word = w.All()[e.at]
	}
	if s.watch != nil {
		s.watch(a.symbols)
	}
}

// rowVersions is a row now, at T and at T', and the lanes in which they differ.
type rowVersions struct {
	row               int
	now, base, before []uint32
	changed, moved    uint64
}

// one returns 1 for any number but 0.
func one(v uint64) uint { return uint((v | -v) >> 63) }

// versions finds the lanes of a row at T and, if there is one, at T'. It says false where they are not held any more.
func (s *Store) versions(r *rowVersions, e *cachedDelta) bool {
	r.now = s.rows.row(e.index, r.row)
	r.base, r.before = r.now, r.now
	since := s.past.sinceOf(r.row, e.index)
	if since > e.t {
		if r.base = s.past.rowAt(r.row, e.index, e.t); r.base == nil {
			return false
		}
	}
	switch {
	case e.before == tick.None:
		r.before = nil
	case since > e.before:
		r.before = s.past.rowAt(r.row, e.index, e.before)
		return r.before != nil
	}
	return true
}

// Watch makes a function see the symbols of every body that is made: a trainer
// counts them.
func (s *Store) Watch(f func([]delta.DeltaSymbol)) { s.watch = f }

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
	if plain.On || len(views) == 0 || len(s.gens) == 0 || s.watch != nil || s.cache.deltas.tick == s.tick {
		return
	}
	p.views = views
	shift := uint(6) // a word of the bitsets belongs to one part
	for (len(s.gens)-1)>>shift >= parts*arenasPerPart {
		shift++
	}
	s.cache.deltas.reset(s, shift)
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
	p, b := &s.prepare, &s.cache.deltas
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
	p := packetWriter{v: v, s: s.tick, inList: true, page: g}
	for word := v.unsent[w] & g.refOf &^ v.despawnOwed[w] & v.plan.allows(int(w)); word != 0; word &= word - 1 {
		index := firstOf(w, word)
		ack, mask := v.ack(index), v.maskOf(index)
		if v.otherRows(index, g.ref) || s.tick-g.ref >= s.cfg.Window || mask.Overlaps(s.schema.Whole) {
			continue
		}
		before, known := p.before(index, &ack)
		if b := &s.cache.deltas; known && b.find(index, mask, g.ref, before) == nil {
			b.encode(s, index, mask, g.ref, before)
		}
	}
}
