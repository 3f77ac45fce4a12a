package snapshot

import (
	"slices"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// EncodeCache stores the encoded deltas and the texts of pages of one tick, and scratch memory. The bytes do not depend on it.
type EncodeCache struct {
	store   *Store
	deltas  deltaCache
	batch   deltaBatch
	queues  [pairsAhead]batchEntities // entities whose deltas are encoded ahead, by rows, T and T'; empty outside of a call
	room    int                       // how many more of them may fit the packet
	pages   pageCache
	floats  floatBodies
	account *bitAccount // nil until something is counted; see Store.Count
	plain   bool        // no fast path: each page is written entity by entity
	alone   bool        // in the last tick, fewer deltas were used again than encoded
	made    uint64      // deltaCache.made when this tick began
	used    uint64      // deltaCache.used when this tick began
}

// EncodeCache returns the Store's EncodeCache, which Write uses.
func (s *Store) EncodeCache() *EncodeCache { return &s.cache }

// Shared returns how many deltas were encoded, and how often one was used again for another client.
func (s *Store) Shared() (made, again uint64) {
	made, used := s.cache.deltas.made, s.cache.deltas.used
	return made, used - min(made, used)
}

// PagesShared returns how often the text of a page was used again for another client.
func (s *Store) PagesShared() uint64 { return s.cache.pages.copied }

// begin forgets the deltas of earlier ticks.
func (d *EncodeCache) begin() {
	c := &d.deltas
	clear(d.batch.held[:]) // memory that the history gives back is not kept
	d.alone = c.used-d.used < 2*(c.made-d.made)
	d.made, d.used = c.made, c.used
	c.reset(d.store)
}

// cachedDelta is the encoded difference of an entity's rows from those at T. Its bits depend on the entity, T, T' and the rows alone,
// so clients with the same T and T' share it. Rows that are sent whole are not in it; a delta with such rows is one client's own. The
// struct fills a cache line, with the first 64 bits of the delta.
type cachedDelta struct {
	t        tick.Tick
	previous tick.Tick
	mask     Mask
	word     uint64 // the first 64 bits
	bits     uint32 // length
	at       uint32 // first word in deltaCache.code
	next     uint32 // number of the previous delta of the same index; 0: none
	index    uint32
	deltas   uint8 // rows that differ from T and are coded as deltas
	same     uint8 // rows that do not differ
	none     bool  // there are no bits: a baseline is no longer in the history
}

// deltaCache stores the deltas of one tick. Their numbers are in the order of encoding, from 1.
type deltaCache struct {
	tick    tick.Tick
	first   []uint32      // by index: number of its newest delta; 0: none
	entries []cachedDelta // by number; the first one is unused
	code    delta.BitBuffer
	symbols []delta.DeltaSymbol // scratch: symbols of one delta, for a trainer
	made    uint64              // deltas encoded
	used    uint64              // times that a delta was written into a packet
}

// reset forgets the deltas of earlier ticks.
func (c *deltaCache) reset(s *Store) {
	c.tick = s.tick
	c.first = grown(c.first, len(s.gens), cap(s.gens))
	clear(c.first)
	c.code.Reset()
	if cap(c.entries) < len(s.gens)+1 { // room for one delta of each index
		c.entries = make([]cachedDelta, 0, cap(s.gens)+1)
	}
	c.entries = append(c.entries[:0], cachedDelta{})
}

// get returns the number of the delta of an entity against T and T', and encodes it if needed. previous is T' or tick.None. The entity
// had the rows of mask at both. whole is those rows of mask that changed and are sent whole, behind the delta.
func (c *deltaCache) get(s *Store, index uint32, mask Mask, t, previous tick.Tick, whole Mask) uint32 {
	c.used++
	if !plain.On && !mask.Overlaps(s.schema.Whole) { // otherwise the delta is this client's own
		if number := c.find(index, mask, t, previous); number != 0 {
			return number
		}
	}
	return c.encode(s, index, mask, t, previous, whole)
}

// find returns the number of a delta that was encoded in this tick, 0 if there is none.
func (c *deltaCache) find(index uint32, mask Mask, t, previous tick.Tick) uint32 {
	number := c.first[index]
	for number != 0 {
		e := &c.entries[number]
		if e.t == t && e.previous == previous && e.mask == mask {
			break
		}
		number = e.next
	}
	return number
}

// add adds a delta without bits and returns its number. An index has several deltas if its clients have different T or T', by loss or
// longer round trips.
func (c *deltaCache) add(s *Store, index uint32, mask Mask, t, previous tick.Tick) uint32 {
	n, next := len(c.entries), c.first[index]
	if n == cap(c.entries) {
		c.entries = slices.Grow(c.entries, max(n, min(moreEach*len(s.gens), mostMore)))
	}
	c.entries = c.entries[:n+1]
	c.first[index], c.made = uint32(n), c.made+1
	c.entries[n] = cachedDelta{t: t, previous: previous, mask: mask, index: index, next: next, at: uint32(c.code.Bits() / 64)}
	return uint32(n)
}

const (
	// usualWords is the words to reserve for a delta. Almost every delta takes less.
	usualWords = 32
	// moreEach is the number of further deltas of each index to make room for at the first growth, up to mostMore in all. After that
	// the room doubles.
	moreEach = 8
	mostMore = 1 << 16
)

// words returns the bits of a delta that is longer than 64 bits.
func (c *deltaCache) words(e *cachedDelta) []uint64 { return c.code.All()[e.at:] }

// encode encodes a delta and returns its number. If a baseline is no longer in the history, it sets cachedDelta.none.
func (c *deltaCache) encode(s *Store, index uint32, mask Mask, t, previous tick.Tick, whole Mask) uint32 {
	w := &c.code
	w.Reserve(usualWords)
	number, start := c.add(s, index, mask, t, previous), w.Bits()
	e := &c.entries[number]
	v := quantize.Baselines{Age: int64(s.tick - t), Span: int64(t - previous)}
	c.symbols = c.symbols[:0]
	var part [format.SymbolRows]rowVersions // on the stack, so that storing slices in it needs no write barriers
	for rows := mask.Minus(s.schema.Tags); !rows.IsZero(); {
		n, changed, moved, ok := s.nextRows(&part, &rows, e, whole)
		if !ok {
			e.none = true
			w.Finish()
			return number
		}
		which, context := s.schema.Codes.Which[n-1], delta.WhichContext(n, moved, previous != tick.None, v.Age, v.Span)
		w.Symbol(which, context, int(changed))
		if s.watch != nil {
			c.symbols = append(c.symbols, delta.DeltaSymbol{Table: which, Context: context, Symbol: int(changed)})
		}
		for i := range n {
			if changed>>i&1 == 0 {
				e.same++
			} else if d := s.schema.Codes.Deltas[part[i].row]; d != nil { // nil: the row is sent whole, behind the delta
				e.deltas++
				v.Base, v.Before = part[i].base, part[i].previous
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

// nextRows takes the rows of one symbol of Codes.Which out of rows: their number, which of them differ from T, and which differed then
// from T'. It returns ok false if a baseline is no longer in the history.
func (s *Store) nextRows(part *[format.SymbolRows]rowVersions, rows *Mask, e *cachedDelta, whole Mask) (n int, changed, moved uint, ok bool) {
	for ; !rows.IsZero() && n < format.SymbolRows; n, *rows = n+1, rows.Rest() {
		r := &part[n]
		r.row = rows.Lowest()
		coded := !s.schema.Whole.Has(r.row)
		if coded && !s.versions(r, e) {
			return n, changed, moved, false
		}
		if coded && !slices.Equal(r.now, r.base) || whole.Has(r.row) {
			changed |= 1 << n
		}
		if coded && r.previous != nil && !slices.Equal(r.base, r.previous) {
			moved |= 1 << n
		}
	}
	return n, changed, moved, true
}

// rowVersions is the lanes of a row now, at T and at T'.
type rowVersions struct {
	row                 int
	now, base, previous []uint32
}

// versions finds the lanes of a row now, at T and, if there is one, at T'. It returns false if they are no longer in the history.
func (s *Store) versions(r *rowVersions, e *cachedDelta) bool {
	r.now = s.rows.row(e.index, r.row)
	if r.base = s.past.rowAt(r.row, e.index, e.t, r.now); r.base == nil {
		return false
	}
	if r.previous = nil; e.previous == tick.None {
		return true
	}
	r.previous = s.past.rowAt(r.row, e.index, e.previous, r.now)
	return r.previous != nil
}

// Watch calls f with the symbols of every delta that is encoded. A trainer of code tables counts them.
func (s *Store) Watch(f func([]delta.DeltaSymbol)) { s.watch = f }
