package snapshot

import (
	"slices"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// The body of a record says how an entity's rows differ from those of T. Its
// bits depend on the entity, T and T' and on nothing that is a client's own, so
// they are made once a tick and copied to every client that leans on the same.
type body struct {
	words  []uint64
	bits   int
	deltas uint8 // rows that travel as what differs
	same   uint8 // rows that travel as nothing
}

// bodyEntry is a body that was made in this tick.
type bodyEntry struct {
	made   tick.Tick // the tick it is of; of any other, the entry is free
	t      tick.Tick
	before tick.Tick
	mask   Mask
	index  uint32
	at     uint32 // first word
	bits   uint32
	deltas uint8
	same   uint8
	none   bool // not all that it leans on is held
}

// bodies are those of one tick.
type bodies struct {
	entries []bodyEntry // a hash table of a power of two
	words   []uint64
	tick    tick.Tick
	used    int
	symbols []wire.DeltaSymbol
	made    uint64 // bodies made since the beginning
	shared  uint64 // times one was used again
}

const firstBodies = 1 << 8

// body gives the body of an entity's record against T and, unless before is
// none, T'. All rows of mask were shown at both; told are those of them that
// changed and travel whole. It says false when they are not all held any more.
func (s *Store) body(to *body, index uint32, mask Mask, t, before tick.Tick, told Mask) bool {
	b := &s.bodies
	if b.tick != s.tick {
		b.tick, b.used, b.words = s.tick, 0, b.words[:0]
	}
	if mask&s.schema.whole != 0 { // which of those changed is a client's own
		b.made++
		own := bodyEntry{t: t, before: before, mask: mask, index: index, at: uint32(len(b.words))}
		own.none = !s.makeBody(&own, told)
		return b.give(to, &own)
	}
	if 2*b.used >= len(b.entries) {
		b.grow()
	}
	e := b.find(index, mask, t, before)
	if e.made == s.tick {
		b.shared++
	} else {
		b.used++
		b.made++
		*e = bodyEntry{made: s.tick, t: t, before: before, mask: mask, index: index, at: uint32(len(b.words))}
		e.none = !s.makeBody(e, 0)
	}
	return b.give(to, e)
}

// give is the body of an entry.
func (b *bodies) give(to *body, e *bodyEntry) bool {
	to.words = b.words[e.at : int(e.at)+(int(e.bits)+63)/64]
	to.bits, to.deltas, to.same = int(e.bits), e.deltas, e.same
	return !e.none
}

// find is the entry of a body, or the free one where it belongs.
func (b *bodies) find(index uint32, mask Mask, t, before tick.Tick) *bodyEntry {
	last := uint64(len(b.entries) - 1)
	hash := uint64(index)*0x9E3779B97F4A7C15 ^ uint64(t)*0xC2B2AE3D27D4EB4F ^ uint64(before)*0x165667B19E3779F9
	for at := hash >> 20; ; at++ {
		e := &b.entries[at&last]
		if e.made != b.tick || e.index == index && e.t == t && e.before == before && e.mask == mask {
			return e
		}
	}
}

func (b *bodies) grow() {
	old := b.entries
	b.entries = make([]bodyEntry, max(firstBodies, 2*len(old)))
	for i := range old {
		if e := &old[i]; e.made == b.tick {
			*b.find(e.index, e.mask, e.t, e.before) = *e
		}
	}
}

// makeBody codes a body and appends its words.
func (s *Store) makeBody(e *bodyEntry, told Mask) bool {
	b := &s.bodies
	b.symbols = b.symbols[:0]
	v := wire.Versions{Age: int64(s.tick - e.t), Span: int64(e.t - e.before)}
	for rows := e.mask &^ s.schema.tags; rows != 0; {
		var part [whichRows]rowVersions
		n, changed, moved := 0, uint(0), uint(0)
		for ; rows != 0 && n < whichRows; n, rows = n+1, rows&(rows-1) {
			r, row := &part[n], rows.next()
			if s.schema.whole.Has(row) {
				changed |= uint(told>>row&1) << n
				continue
			}
			if !s.versions(r, e, row) {
				return false
			}
			if !slices.Equal(r.base, r.now) {
				changed |= 1 << n
			}
			if r.before != nil && !slices.Equal(r.base, r.before) {
				moved |= 1 << n
			}
		}
		b.symbols = append(b.symbols, wire.DeltaSymbol{
			Table:   s.schema.codes.which[n-1],
			Context: wire.WhichContext(n, moved, e.before != tick.None, v.Age), Symbol: int(changed),
		})
		for i := range n {
			switch {
			case changed>>i&1 == 0:
				e.same++
				continue
			case part[i].now == nil:
				continue // it travels whole, behind the body
			}
			e.deltas++
			v.Base, v.Before = part[i].base, part[i].before
			b.symbols = s.schema.codes.deltas[part[i].row].Append(b.symbols, part[i].now, &v)
		}
	}
	if s.watch != nil {
		s.watch(b.symbols)
	}
	b.write(e)
	return true
}

// write turns the symbols to words behind those that are there.
func (b *bodies) write(e *bodyEntry) {
	var acc uint64
	var n uint
	put := func(v uint64, width uint) {
		acc |= v << n
		if n+width >= 64 {
			b.words = append(b.words, acc)
			acc = v >> (64 - n) // of no bits when n is 0: Go shifts to zero
			n = n + width - 64
		} else {
			n += width
		}
		e.bits += uint32(width)
	}
	for i := range b.symbols {
		code, width := b.symbols[i].Code()
		put(code, width)
		put(b.symbols[i].Raw, b.symbols[i].RawBits)
	}
	if n > 0 {
		b.words = append(b.words, acc)
	}
}

// rowVersions are a row now, at T and at T'.
type rowVersions struct {
	row               int
	now, base, before []uint32
}

// versions finds a row's versions, which the entity had at T and, if asked for,
// at T'.
func (s *Store) versions(r *rowVersions, e *bodyEntry, row int) bool {
	r.row, r.before = row, nil
	r.now = s.rows.row(e.index, row)
	var ok bool
	if r.base, ok = s.lanesAt(e.index, row, e.t); !ok {
		return false
	}
	if e.before == tick.None {
		return true
	}
	r.before, ok = s.lanesAt(e.index, row, e.before)
	return ok
}

// lanesAt is a present row as of a tick at which it was present too.
func (s *Store) lanesAt(index uint32, row int, t tick.Tick) ([]uint32, bool) {
	if s.sinceOf(index, row) <= t {
		return s.rows.row(index, row), true
	}
	c := s.past.rowAt(index, row, t)
	if c == nil || !c.there {
		return nil, false
	}
	return s.past.lanesOf(c), true
}

// Watch makes a function see the symbols of every body that is made: a trainer
// counts them.
func (s *Store) Watch(f func([]wire.DeltaSymbol)) { s.watch = f }

// Shared is how many bodies of records were made, and how often one was used
// again for another client.
func (s *Store) Shared() (made, again uint64) { return s.bodies.made, s.bodies.shared }
