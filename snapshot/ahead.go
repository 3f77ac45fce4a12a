package snapshot

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Whose list is gone through first makes the bodies that the other clients copy.
// Those of the next entities are made together, ahead of their records: a row of
// all of them before the next row. Most lean on the same T and T'; what does not,
// or is rare, is made when its record asks for it.

// sheaf is bodies that are being made together.
type sheaf struct {
	index   [wire.MaxStrands]uint32
	at      [wire.MaxStrands]uint8 // where in bodies each of them goes
	missing [wire.MaxStrands]bool  // not all that it leans on is held
	n       int
	columns [wire.MaxStrandRows]wire.Column
	strands wire.Strands
	bodies  [ahead]*bodyEntry // those that were made ahead, by the entity's place in the list modulo its length
}

// leastTogether is how many bodies are worth making together.
const leastTogether = 4

// together reports whether bodies of these rows can be made together: few of few
// lanes, none of which travels whole.
func (s *Schema) together(rows Mask) bool {
	if rows == 0 || rows&s.whole != 0 || rows.Count() > wire.MaxStrandRows {
		return false
	}
	for m := rows; m != 0; m &= m - 1 {
		if s.widths[m.next()] > wire.MaxStrandLanes {
			return false
		}
	}
	return true
}

// makeAhead makes the bodies that records of the next entities of a packet will
// have, of those that lean on the same as the first of them. At is the place of the
// first entity among those that are fetched together.
func (p *packetWriter) makeAhead(entries []sentEntry, at int) {
	v, s, d := p.v, p.v.store, p.desk
	b := &d.sheaf
	b.bodies, b.n = [ahead]*bodyEntry{}, 0
	if s.watch != nil || v.whole.on || d.first != nil && d.first.tick == s.tick {
		return
	}
	d.ready()
	var mask Mask
	var before tick.Tick
	var room slot
	for i := range entries {
		e := &entries[i]
		if e.despawn || !p.candidate(e.index) || d.bodies.entries[e.index].made == s.tick {
			continue
		}
		q, rows := v.slot(e.index, &room), v.maskOf(e.index)
		if q.base != p.listed || q.mask != rows {
			continue
		}
		lean := p.before(q)
		if b.n == 0 {
			if mask, before = rows, lean; !s.schema.together(rows &^ s.schema.tags) {
				return
			}
		}
		if rows == mask && lean == before {
			b.index[b.n], b.at[b.n] = e.index, uint8(at+i)
			b.n++
		}
	}
	if b.n >= leastTogether && s.tick-p.listed < s.cfg.Window {
		d.bodies.addAll(s, b, mask, p.listed, before)
	}
}

// addAll is add for bodies that lean on the same, none of which has one yet.
func (b *bodies) addAll(s *Store, of *sheaf, mask Mask, t, before tick.Tick) {
	rows := mask &^ s.schema.tags
	of.make(s, rows, t, before)
	for k, index := range of.index[:of.n] {
		if of.missing[k] {
			continue
		}
		a, e := b.of(index), &b.entries[index]
		a.code.Reserve(usualWords)
		e.made, e.t, e.before, e.mask, e.index = b.tick, t, before, mask, index
		e.bits, e.at, e.next, e.none = uint32(of.strands.Bits(k)), uint32(a.code.Bits()/64), 0, false
		e.word = a.code.Strand(&of.strands, k)
		e.deltas, e.same = of.counts(k, rows.Count())
		of.bodies[of.at[k]] = e
		a.made++
	}
}

// counts is how many rows of a body travel as what differs, and as nothing.
func (b *sheaf) counts(k, rows int) (deltas, same uint8) {
	for i := range b.columns[:rows] {
		deltas += uint8(one(uint64(b.columns[i].Changed(k))))
	}
	return deltas, uint8(rows) - deltas
}

// make makes the bits of all bodies.
func (b *sheaf) make(s *Store, rows Mask, t, before tick.Tick) {
	way := s.past.way(s.tick, t, before)
	v := wire.Versions{Age: int64(s.tick - t), Span: int64(t - before)}
	if before != tick.None {
		v.Before = b.columns[0].Before[0][:] // some slice: what is in it is not asked
	}
	n := 0
	clear(b.missing[:b.n])
	for m := rows; m != 0; m &= m - 1 {
		row := m.next()
		b.gather(s, &b.columns[n], row, &way, t, before)
		s.schema.codes.deltas[row].Expect(&b.columns[n], b.n, &v)
		n++
	}
	b.strands.Reset(b.n)
	b.strands.Which(s.schema.codes.which[n-1], b.columns[:n], &v)
	for m, i := rows, 0; m != 0; m, i = m&(m-1), i+1 {
		s.schema.codes.deltas[m.next()].CodeColumn(&b.strands, &b.columns[i], &v)
	}
}

// gather is Store.versions for a row of all bodies. Most have moved since T and
// since T', and lie where the way leads to.
func (b *sheaf) gather(s *Store, c *wire.Column, row int, way *way, t, before tick.Tick) {
	h, n := &s.past, uint32(s.schema.widths[row])
	heads, pages := h.rows[row], s.rows.pages[row]
	atT, after := h.span(t+1, s.tick), h.span(before+1, s.tick)
	if n != 3 && n != 4 || before == tick.None {
		atT.count = 0
	}
	for k, index := range b.index[:b.n] {
		if int(index) < len(heads) && heads[index].since > t {
			newest := heads[index].newest
			x, y := newest+uint64(way.base), newest+uint64(way.before)
			if x-atT.number < atT.count && y-after.number < after.count {
				x, y, is := h.at(x), h.at(y), thingOf(index, row)
				if x.thing == is && y.thing == is {
					copyFew(c.Now[k][:], pages[index/pageRows][index%pageRows*n:], int(n))
					copyFew(c.Base[k][:], h.lanes[x.lane&uint64(len(h.lanes)-1):], int(n))
					copyFew(c.Before[k][:], h.lanes[y.lane&uint64(len(h.lanes)-1):], int(n))
					continue
				}
			}
		}
		b.find(s, c, k, row, way, t, before)
	}
}

// find is gather for the k-th body, whatever its row was.
func (b *sheaf) find(s *Store, c *wire.Column, k, row int, way *way, t, before tick.Tick) {
	e := bodyEntry{index: b.index[k], t: t, before: before}
	r := rowVersions{row: row}
	if !s.versions(&r, &e, way) {
		b.missing[k] = true
		r.base, r.before = r.now, r.now
	}
	if before == tick.None {
		r.before = r.base
	}
	copy(c.Now[k][:], r.now)
	copy(c.Base[k][:], r.base)
	copy(c.Before[k][:], r.before)
}
