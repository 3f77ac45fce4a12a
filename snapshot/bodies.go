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

// bodyEntry is a body that was made in this tick. It fills a cache line, with
// the first bits of the body: most have no more.
type bodyEntry struct {
	made   tick.Tick // the tick it is of; of any other, the entry is free
	t      tick.Tick
	before tick.Tick
	mask   Mask
	word   uint64
	bits   uint32
	at     uint32 // first word
	next   uint32 // another body of the same index, in more
	index  uint32
	deltas uint8
	same   uint8
	none   bool // not all that it leans on is held
}

// bodies are those of one tick.
type bodies struct {
	entries []bodyEntry // by index, the first one that was made of it
	arenas  []arena     // where the others are: those of an index in arena index >> shift
	shift   uint
	tick    tick.Tick
	made    uint64 // bodies made since the beginning
	shared  uint64 // times one was used again
}

// arena is room for bodies of a range of indexes.
type arena struct {
	more    []bodyEntry // all but the first of each index; the first here is nobody's
	words   []uint64
	symbols []wire.DeltaSymbol
	made    uint64 // in this tick
}

// oneArena is a shift with which all indexes have the same arena.
const oneArena = 31

// begin forgets the bodies of earlier ticks.
func (b *bodies) begin(s *Store, shift uint) {
	b.tick, b.shift = s.tick, shift
	b.entries = grown(b.entries, len(s.gens), cap(s.gens))
	for len(b.arenas) <= max(len(s.gens)-1, 0)>>shift {
		b.arenas = append(b.arenas, arena{})
	}
	for i := range b.arenas {
		a := &b.arenas[i]
		b.made += a.made
		a.words, a.more, a.made = a.words[:0], append(a.more[:0], bodyEntry{}), 0
	}
}

// of is the room of an index's bodies.
func (b *bodies) of(index uint32) *arena { return &b.arenas[index>>b.shift] }

// wordsOf are the bits of a body.
func (b *bodies) wordsOf(e *bodyEntry) []uint64 {
	return b.of(e.index).words[e.at : int(e.at)+(int(e.bits)+63)/64]
}

// find is a body that was made, nil if it was not.
func (b *bodies) find(index uint32, mask Mask, t, before tick.Tick) *bodyEntry {
	e := &b.entries[index]
	if e.made != b.tick {
		return nil
	}
	for e.t != t || e.before != before || e.mask != mask {
		if e.next == 0 {
			return nil
		}
		e = &b.of(index).more[e.next]
	}
	return e
}

// add makes a body that was not made yet.
func (b *bodies) add(s *Store, index uint32, mask Mask, t, before tick.Tick) *bodyEntry {
	a, e := b.of(index), &b.entries[index]
	if e.made == b.tick {
		for e.next != 0 {
			e = &a.more[e.next]
		}
		e.next = uint32(len(a.more))
		a.more = append(room(a.more, 1), bodyEntry{})
		e = &a.more[e.next]
	}
	*e = bodyEntry{made: b.tick, t: t, before: before, mask: mask, index: index}
	s.makeBody(a, e, 0)
	return e
}

// usualWords is more than almost every body takes.
const usualWords = 32

// makeBody codes a body and appends its words, or says in the entry that not
// all that it leans on is held.
func (s *Store) makeBody(b *arena, e *bodyEntry, told Mask) {
	b.made++
	b.words = room(b.words, usualWords)
	e.at = uint32(len(b.words))
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
				e.none = true
				return
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
}

// write turns the symbols to words behind those that are there.
func (b *arena) write(e *bodyEntry) {
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
	if e.bits > 0 {
		e.word = b.words[e.at]
	}
}

// rowVersions are a row now, at T and at T'.
type rowVersions struct {
	row               int
	now, base, before []uint32
}

// versions finds a row's versions, which the entity had at T and, if asked for,
// at T', which is before T: the way there goes on where T was found.
func (s *Store) versions(r *rowVersions, e *bodyEntry, row int) bool {
	r.row, r.before = row, nil
	r.now = s.rows.row(e.index, row)
	since := s.sinceOf(e.index, row)
	var c *change
	switch {
	case since <= e.t:
		r.base = r.now
	default:
		if c = s.past.rowAt(e.index, row, e.t); c == nil || !c.there {
			return false
		}
		r.base = s.past.lanesOf(c)
	}
	switch {
	case e.before == tick.None:
		return true
	case since <= e.before:
		r.before = r.now
		return true
	case c == nil:
		c = s.past.rowAt(e.index, row, e.before)
	default:
		c = s.past.earlier(c, e.before)
	}
	if c == nil || !c.there {
		return false
	}
	r.before = s.past.lanesOf(c)
	return true
}

// Watch makes a function see the symbols of every body that is made: a trainer
// counts them.
func (s *Store) Watch(f func([]wire.DeltaSymbol)) { s.watch = f }
