package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/tick"
)

// maskOf is the rows of an entity that the client may see.
func (v *View) maskOf(index uint32) Mask {
	return v.store.rows.masks[index] & v.rowsOf(index)
}

// record is what is written about one entity: all rows that the client may
// see, in the state of this tick (rule 1).
type record struct {
	index uint32
	mask  Mask
	base  tick.Tick // T, tick.None when the record leans on nothing
	known bool      // T need not be told
	same  bool      // mask is that of T, and the client is sure to know it
	odd   bool      // its T or its rows have to be told
	body  body      // against T
	told  Mask      // rows that travel whole, behind the body
}

// prepare finds out how an entity's record is to be written. It leans on T
// where both ends hold what that takes (rules 2, 3), else on nothing.
func (p *packetWriter) prepare(index uint32, r *record) {
	v, s := p.v, p.v.store
	var room slot
	q := v.slot(index, &room)
	mask := v.maskOf(index)
	*r = record{index: index, mask: mask, odd: true, told: mask &^ s.schema.tags}
	base, shown := q.base, q.mask
	if p.again {
		base, shown = p.listPage.ref, mask
	}
	if base == tick.None || p.again && v.otherRows(index, base) {
		return
	}
	personal := v.touchedAt(index) > base
	inWindow := p.s-base < s.cfg.Window // the client is sure to hold the record of T itself, if not all later ones
	if !inWindow && (personal || shown != mask) {
		return
	}
	told := Mask(0)
	if mask&s.schema.whole != 0 {
		told = p.changedWhole(index, base, mask&shown, personal)
	}
	before, known := p.before(index, q)
	if !known || !p.desk.body(&r.body, index, mask&shown, base, before, told) {
		r.body = body{}
		return
	}
	r.base, r.told = base, (mask&^shown)&^s.schema.tags|told
	r.same = inWindow && shown == mask
	r.known = p.again || v.newest(index, q, p.upTo)
	r.odd = !r.same || !r.known
}

// before returns T' of a record: in a list with N the record of N, if there is one; else what T's own record was coded against;
// tick.None where there is none. It says false where the server cannot tell which record the client takes.
func (p *packetWriter) before(index uint32, q *slot) (t tick.Tick, known bool) {
	if p.again {
		g := p.listPage
		switch near := p.nearOf(g); {
		case near != tick.None && g.nearOf>>(index%pageEntities)&1 != 0:
			return near, !p.v.otherRows(index, near)
		case near != tick.None:
			return tick.None, true
		case q.base != g.ref: // nobody remembers what the record of R was coded against
			return tick.None, false
		}
	}
	return p.v.store.own(q.base, q.lean), true
}

// own returns what a record of T was coded against, lean ticks before T, if it may serve as T' now.
func (s *Store) own(base tick.Tick, lean uint16) tick.Tick {
	if lean == 0 || s.tick-base+tick.Tick(lean) >= s.cfg.Window {
		return tick.None
	}
	return base - tick.Tick(lean)
}

// changedWhole is which of the rows that never travel as what differs have
// changed since T: those that name entities to this client, and also when its sight
// of these has.
func (p *packetWriter) changedWhole(index uint32, base tick.Tick, rows Mask, personal bool) (changed Mask) {
	s := p.v.store
	for m := rows & s.schema.whole; m != 0; m &= m - 1 {
		row := m.next()
		since := s.sinceOf(index, row)
		if s.schema.refs.Has(row) {
			since = p.v.own.sinceOf(index, row)
		}
		if since > base || personal && s.schema.refs.Has(row) {
			changed = changed.With(row)
		}
	}
	return changed
}

// other writes the record of one of the others with its place, and goes on with a
// run where it can: then nothing but rows is written.
func (p *packetWriter) other(r *record) {
	generation := p.v.tenants[r.index].generation
	u := &p.run
	if u.open && u.n < mostInRun && r.base == tick.None && r.index == p.last && generation == u.generation && r.mask == u.mask {
		if u.n == 0 {
			p.w.Bool(true)
			p.w.Align()
			u.at = p.w.Bits() / 8
			p.w.Write(0, 8)
		}
		u.n++
		p.last = r.index + 1
		p.rows(r)
		return
	}
	p.gap(r.index, r.odd)
	p.entity(r)
	if r.base == tick.None && p.v.store.schema.onlyFloats(r.mask) {
		*u = openRun{open: true, generation: generation, mask: r.mask}
	}
}

// openRun is a run that the next record may go on with. Its end is still to be
// written.
type openRun struct {
	open       bool
	generation uint32
	mask       Mask
	n          int // records behind the first
	at         int // the byte that says how many
}

// endBits is how many bits endRun writes.
func (u *openRun) endBits() int {
	if u.open && u.n == 0 {
		return 1
	}
	return 0
}

// endRun writes the end of a run, if there is one.
func (p *packetWriter) endRun() {
	if p.run.open {
		p.endOpenRun()
	}
}

// endOpenRun is endRun where there is one.
func (p *packetWriter) endOpenRun() {
	p.w.Write(0, uint(p.run.endBits()))
	if p.run.n > 0 {
		p.w.Patch(p.run.at, byte(p.run.n))
	}
	p.run = openRun{}
}

// entity writes a record behind its place in the list.
func (p *packetWriter) entity(r *record) {
	schema := p.v.store.schema
	switch {
	case r.base == tick.None:
		p.w.Bool(false)
		p.w.Var(uint64(p.v.tenants[r.index].generation))
		p.w.Write(uint64(r.mask), uint(schema.Rows()))
	case r.odd:
		p.w.Bool(true)
		p.w.Bool(r.known)
		if !r.known {
			p.w.Var(uint64(p.s-r.base) - 1)
		}
		p.w.Bool(r.same)
		if !r.same {
			p.w.Write(uint64(r.mask), uint(schema.Rows()))
		}
	}
	if r.base != tick.None {
		p.writeBits(r.body.word, r.body.words, r.body.bits)
	}
	p.rows(r)
}

// rows writes the rows of a record that travel whole.
func (p *packetWriter) rows(r *record) {
	for told := r.told; told != 0; told &= told - 1 {
		p.absolute(r.index, told.next())
	}
}

// writeBits writes n bits: of a word, or of several where it has no room for them.
func (p *packetWriter) writeBits(word uint64, words []uint64, n int) {
	if n <= 64 {
		p.w.Write(word, uint(n))
		return
	}
	p.w.Words(words, n)
}

// absolute writes a row whole. Fields that name an entity which this client
// does not see name nobody.
func (p *packetWriter) absolute(index uint32, row int) {
	v, s := p.v, p.v.store
	if !s.schema.refs.Has(row) {
		if p.desk.first != nil { // the store is not to be changed
			s.schema.plans[row].WriteRow(&p.w, s.rows.row(index, row))
			return
		}
		s.schema.plans[row].WritePacked(&p.w, s.packedRow(index, row))
		return
	}
	v.lanes = append(v.lanes[:0], s.rows.row(index, row)...)
	v.blind(s.schema.plans[row], v.lanes, p.s)
	s.schema.plans[row].WriteRow(&p.w, v.lanes)
}

// wrote notes that a record is in the packet.
func (p *packetWriter) wrote(r *record) {
	v := p.v
	span := tick.Tick(0)
	if r.base != tick.None && v.slots[r.index].mask == r.mask {
		span = p.s - r.base
	}
	p.noted(r.index, r.mask, span)
	v.stats.Rows += uint64(r.told.Count())
	if r.base == tick.None {
		v.tenants[r.index].shown = v.tenants[r.index].generation // where there is a base, it was shown
		v.stats.Spawns++
		return
	}
	v.stats.Deltas += uint64(r.body.deltas)
	v.stats.Unchanged += uint64(r.body.same)
	v.stats.Updates++
}

// noted notes that the packet has a record of these rows, which leant on what
// lies span ticks back, if a record of T′ can lean on that.
func (p *packetWriter) noted(index uint32, mask Mask, span tick.Tick) {
	v := p.v
	w, bit := index>>6, uint64(1)<<(index&63)
	if v.touchedAt(index) <= p.s { // else something changed after this tick's first packets, and follows in the next
		v.unsent[w] &^= bit
	}
	if v.big {
		v.tooBig[w] &^= bit
	}
	v.unacked[w] |= bit
	if v.plan.active {
		v.plan.sent(index)
	}
	if span >= v.store.cfg.Window || span > maxSpan {
		span = 0 // by the time it is acknowledged it is out of the window
	}
	p.has(sentGroup{of: bit, rows: mask, word: w, span: uint16(span)}, 1)
	if last := len(v.going) - 1; last >= 0 && v.going[last].word == w {
		v.going[last].of |= bit
	} else {
		v.going = append(room(v.going, 1, usualList), wordOf{w, bit})
	}
}

// has notes that the packet has a group of n records.
func (p *packetWriter) has(e sentGroup, n int) {
	p.v.pages[e.word].even = p.v.store.views >= leastSharing && p.v.store.large(e.rows)
	p.v.sentAt(e.word, p.s, e.of, p.v.sent.add(p.sent, e))
	p.sent.records += n
}

// gone notes in the ack states which records are in the packet: before anybody asks for one of them again.
func (p *packetWriter) gone() {
	v := p.v
	for _, g := range v.going {
		v.sentPage(g.word, g.of, p.s)
	}
	v.going = v.going[:0]
}

// others writes visible entities that changed and were not in the list, as
// often as a plan has chosen more of them.
func (p *packetWriter) others() {
	for again := true; again; again = p.v.plan.active && p.v.plan.advanced {
		p.v.plan.advanced = false
		room := p.goRound()
		if p.gone(); !room {
			return
		}
	}
}

// goRound goes once through what waits, from where the packet before was cut
// short. It says false when the packet is full.
func (p *packetWriter) goRound() bool {
	v := p.v
	if len(v.unsent) == 0 {
		return true
	}
	start := int(v.cursor >> 6)
	if start >= len(v.unsent) {
		start, v.cursor = 0, 0
	}
	low := uint64(1)<<(v.cursor&63) - 1 // bits before the cursor, in its word
	for i := 0; i <= len(v.unsent); i++ {
		w := start + i
		if w >= len(v.unsent) {
			w -= len(v.unsent)
		}
		if v.unsent[w] == 0 { // of most words: what moved went through a list
			continue
		}
		word := v.unsent[w] &^ v.owed[w] & v.plan.allows(w)
		switch i {
		case 0:
			word &^= low
		case len(v.unsent):
			word &= low
		}
		bound := word & p.bound(w)
		if !v.plan.active {
			word &^= bound
		}
		p.makeAheadOf(w, word)
		for ; word != 0; word &= word - 1 {
			index := uint32(w<<6 + bits.TrailingZeros64(word))
			switch {
			case !v.unsent.has(index): // written with its group
			case bound>>(index&63)&1 != 0 && !p.torn || !p.candidate(index):
				v.plan.took(index) // its despawns' business, or the next tick's
			case !p.unit(index) && !p.passes(index):
				v.cursor = index
				p.refused(index)
				return false
			}
			if p.torn {
				word |= bound >> (index & 63) >> 1 << 1 << (index & 63) // one by one, those behind it
			}
		}
	}
	v.cursor = 0
	return true
}

// gap says how far it is to the next entity, by index, modulo 2^32 where the
// list goes around.
func (p *packetWriter) gap(index uint32, odd bool) {
	p.endRun()
	symbol, raw, n := gapSymbol(index-p.last, odd)
	p.symbol(p.v.store.schema.codes.gap, p.gapContext, symbol)
	p.w.Write(raw, n)
	p.last = index + 1
}

// candidate reports whether a record of an index waits and may go out in this
// tick: one that was shown after this tick's first packets waits for the next,
// and so does what changed for this client after its record went out (rule 1).
func (p *packetWriter) candidate(index uint32) bool {
	v := p.v
	w, bit := index>>6, uint64(1)<<(index&63)
	if v.unsent[w]&^v.owed[w]&bit == 0 || v.plan.active && v.plan.chosen[w]&bit == 0 {
		return false
	}
	return v.wentAt(index) != p.s && (v.base(index) != tick.None || v.tenants[index].life <= p.s)
}
