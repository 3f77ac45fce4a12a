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
// goroutines at once if each has an EncodeCache of its own. Each View is still written by one at a time, and neither the Store nor any
// View may be changed meanwhile. Every EncodeCache writes the same bytes. A [View.Write] uses the Store's own.
type EncodeCache struct {
	store  *Store
	deltas deltaCache
	batch  deltaBatch
	pages  pageCache
	floats floatBodies
	packs  bool // whole rows are packed once for all clients
	plain  bool // no fast path: each page is written entity by entity
	alone  bool // in the tick before, fewer deltas were used again than made
	made   uint64
	used   uint64 // of deltas, when this tick began
}

// NewEncodeCache returns an EncodeCache, which the Store keeps for good.
func (s *Store) NewEncodeCache() *EncodeCache {
	d := &EncodeCache{store: s}
	s.caches = append(s.caches, d)
	return d
}

// EncodeCache returns the Store's own.
func (s *Store) EncodeCache() *EncodeCache { return &s.cache }

// Shared returns how many deltas were encoded, and how often one was used again for another client. With several EncodeCaches it is not
// the same in each run.
func (s *Store) Shared() (made, again uint64) {
	made, used := s.cache.deltas.made, s.cache.deltas.used
	for _, d := range s.caches {
		made, used = made+d.deltas.made, used+d.deltas.used
	}
	return made, used - min(made, used)
}

// PagesShared returns how often the records of a page were copied from another client's packet.
func (s *Store) PagesShared() uint64 {
	n := s.cache.pages.copied
	for _, d := range s.caches {
		n += d.pages.copied
	}
	return n
}

// begin forgets the deltas of earlier ticks.
func (d *EncodeCache) begin() {
	c := &d.deltas
	d.alone = c.used-d.used < 2*(c.made-d.made)
	d.made, d.used = c.made, c.used
	c.reset(d.store)
}

// cachedDelta tells how the rows of an entity differ from those at T. Its bits depend on the entity, T and T', and on nothing that is a
// client's own, so every client with the same T and T' gets the same; those of rows that are written whole are an exception. It fills
// a cache line, with its first 64 bits.
type cachedDelta struct {
	t      tick.Tick
	before tick.Tick
	mask   Mask
	word   uint64 // the bits, if there are at most 64
	bits   uint32
	at     uint32 // first word among those of the cache
	next   uint32 // number of another delta of the same index; 0: there is none
	index  uint32
	deltas uint8 // rows that differ, and are coded as deltas
	same   uint8 // rows that do not differ
	none   bool  // a baseline is not held any more
}

// deltaCache stores the deltas of one tick, by number: in the order in which they were encoded, from 1 on.
type deltaCache struct {
	tick    tick.Tick
	first   []uint32      // by index: number of its newest delta, valid only if entries[number].index is the index
	entries []cachedDelta // the first one is unused
	code    delta.BitBuffer
	symbols []delta.DeltaSymbol // of a delta that a trainer sees
	made    uint64              // deltas encoded
	used    uint64              // times that one was put into a packet
}

// reset forgets the deltas of earlier ticks.
func (c *deltaCache) reset(s *Store) {
	c.tick = s.tick
	c.first = grown(c.first, len(s.gens), cap(s.gens))
	c.code.Reset()
	if cap(c.entries) < len(s.gens)+1 { // one for each index
		c.entries = make([]cachedDelta, 0, cap(s.gens)+1)
	}
	c.entries = append(c.entries[:0], cachedDelta{})
}

// get returns the number of the delta of an entity's record against T and, unless before is tick.None, T'. Mask is rows that the entity
// had at both. Whole are those of them that changed and are written whole, behind the delta.
func (c *deltaCache) get(s *Store, index uint32, mask Mask, t, before tick.Tick, whole Mask) uint32 {
	c.used++
	if !plain.On && !mask.Overlaps(s.schema.Whole) { // else the rows that changed are this client's own
		if number := c.find(index, mask, t, before); number != 0 {
			return number
		}
	}
	return c.encode(s, index, mask, t, before, whole)
}

// find returns the number of a delta that was encoded in this tick, 0 if it was not.
func (c *deltaCache) find(index uint32, mask Mask, t, before tick.Tick) uint32 {
	number := c.newest(index)
	for number != 0 {
		e := &c.entries[number]
		if e.t == t && e.before == before && e.mask == mask {
			break
		}
		number = e.next
	}
	return number
}

// newest returns the number of the newest delta of an index, 0 if there is none.
func (c *deltaCache) newest(index uint32) uint32 {
	if at := c.first[index]; int(at) < len(c.entries) && c.entries[at].index == index {
		return at
	}
	return 0
}

// add returns the number of a new delta, without bits. Clients with long round trips, or with loss, need several of an index.
func (c *deltaCache) add(s *Store, index uint32, mask Mask, t, before tick.Tick) uint32 {
	n, next := len(c.entries), c.newest(index)
	if n == cap(c.entries) {
		c.entries = slices.Grow(c.entries, max(n, min(moreEach*len(s.gens), mostMore)))
	}
	c.entries = c.entries[:n+1]
	c.first[index], c.made = uint32(n), c.made+1
	c.entries[n] = cachedDelta{t: t, before: before, mask: mask, index: index, next: next, at: uint32(c.code.Bits() / 64)}
	return uint32(n)
}

const (
	// usualWords is more than almost every delta takes.
	usualWords = 32
	// moreEach is the room for further deltas of each index when the first one is encoded, up to mostMore in all. After that the
	// room doubles.
	moreEach = 8
	mostMore = 1 << 16
)

// words returns the bits of a delta with more than 64.
func (c *deltaCache) words(e *cachedDelta) []uint64 { return c.code.All()[e.at:] }

// encode encodes a delta, or notes that a baseline is not held any more, and returns its number.
func (c *deltaCache) encode(s *Store, index uint32, mask Mask, t, before tick.Tick, whole Mask) uint32 {
	w := &c.code
	w.Reserve(usualWords)
	number, start := c.add(s, index, mask, t, before), w.Bits()
	e := &c.entries[number]
	v := quantize.Baselines{Age: int64(s.tick - t), Span: int64(t - before)}
	c.symbols = c.symbols[:0]
	var part [format.SymbolRows]rowVersions // on the stack: memory that stays would have to be told of each slice
	for rows := mask.Minus(s.schema.Tags); !rows.IsZero(); {
		n, changed, moved := 0, uint(0), uint(0)
		for ; !rows.IsZero() && n < format.SymbolRows; n, rows = n+1, rows.Rest() {
			r := &part[n]
			r.row = rows.Lowest()
			coded := !s.schema.Whole.Has(r.row)
			if coded && !s.versions(r, e) {
				e.none = true
				w.Finish()
				return number
			}
			if coded && !slices.Equal(r.now, r.base) || whole.Has(r.row) {
				changed |= 1 << n
			}
			if coded && r.before != nil && !slices.Equal(r.base, r.before) {
				moved |= 1 << n
			}
		}
		which, context := s.schema.Codes.Which[n-1], delta.WhichContext(n, moved, before != tick.None, v.Age)
		w.Symbol(which, context, int(changed))
		if s.watch != nil {
			c.symbols = append(c.symbols, delta.DeltaSymbol{Table: which, Context: context, Symbol: int(changed)})
		}
		for i := range n {
			if changed>>i&1 == 0 {
				e.same++
			} else if d := s.schema.Codes.Deltas[part[i].row]; d != nil { // else it is written whole, behind the delta
				e.deltas++
				v.Base, v.Before = part[i].base, part[i].before
				if s.watch != nil {
					again := v
					c.symbols = d.Append(c.symbols, part[i].now, &again)
				}
				d.Code(w, part[i].now, &v)
			}
		}
	}
	if e.bits = uint32(w.Bits() - start); e.bits > 0 {
		w.Finish()
		e.word = w.All()[e.at]
	}
	if s.watch != nil {
		s.watch(c.symbols)
	}
	return number
}

// rowVersions is a row now, at T and at T'.
type rowVersions struct {
	row               int
	now, base, before []uint32
}

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

// Watch makes a function see the symbols of every delta that is encoded: a trainer counts them.
func (s *Store) Watch(f func([]delta.DeltaSymbol)) { s.watch = f }
