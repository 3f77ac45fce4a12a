package snapshot

import (
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// record is one entity in a packet: all rows that the client may see, as of the packet's tick (rule 1).
type record struct {
	index    uint32
	mask     Mask
	base     tick.Tick    // T; tick.None: the record is full, and depends on nothing
	explicit bool         // the record spells out T or its rows
	known    bool         // T is the tick that the client assumes
	same     bool         // the rows are those of T, and the client is sure to know them
	whole    Mask         // rows that are written whole, behind the delta
	delta    encodedDelta // against T
}

// prepare finds out how the record of an entity is written. It is coded against T if both ends have all that this takes
// (rules 2, 3), and else full.
func (p *packetWriter) prepare(index uint32, r *record) {
	v, s := p.v, p.v.store
	ack, mask := v.ack(index), v.maskOf(index)
	*r = record{index: index, mask: mask, explicit: true, whole: mask.Minus(s.schema.Tags)}
	base, shown := ack.base, v.shown(index, mask)
	if p.inList {
		base, shown = p.page.ref, mask
	}
	if base == tick.None || p.inList && v.otherRows(index, base) {
		return
	}
	personal := v.touchedAt(index) > base
	inWindow := p.s-base < s.cfg.Window // the client is sure to have the record of T itself, though not all later ones
	if !inWindow && (personal || shown != mask) {
		return
	}
	whole := Mask{}
	if mask.Overlaps(s.schema.Whole) {
		whole = p.changedWhole(index, base, mask.Intersect(shown), personal)
	}
	before, known := p.before(index, &ack)
	if !known || !p.cache.delta(&r.delta, index, mask.Intersect(shown), base, before, whole) {
		r.delta = encodedDelta{}
		return
	}
	r.base, r.whole = base, mask.Minus(shown).Minus(s.schema.Tags).Union(whole)
	r.same = inWindow && shown == mask
	r.known = p.inList || ack.newestUpTo(p.upTo)
	r.explicit = !r.same || !r.known
}

// before returns T' of a record: in a list with N the tick N, if the entity has a record of it; else the tick that T's own record
// was coded against; tick.None where there is none. It says false where the server cannot tell which record the client takes.
func (p *packetWriter) before(index uint32, ack *ackState) (t tick.Tick, known bool) {
	if p.inList {
		g := p.page
		switch near := p.nearOf(g); {
		case near != tick.None && g.nearOf>>(index%format.PageEntities)&1 != 0:
			return near, !p.v.otherRows(index, near)
		case near != tick.None:
			return tick.None, true
		case ack.base != g.ref: // nobody remembers what the record of R was coded against
			return tick.None, false
		}
	}
	return p.v.store.own(ack.base, ack.lean), true
}

// own returns the tick that a record of T was coded against, span ticks before T, if it may serve as T' now.
func (s *Store) own(base tick.Tick, span uint16) tick.Tick {
	if span == 0 || s.tick-base+tick.Tick(span) >= s.cfg.Window {
		return tick.None
	}
	return base - tick.Tick(span)
}

// changedWhole returns which of the rows that are never coded as deltas have changed since T. A row that names entities
// also changes when the client's sight of these does.
func (p *packetWriter) changedWhole(index uint32, base tick.Tick, rows Mask, personal bool) (changed Mask) {
	s := p.v.store
	for m := rows.Intersect(s.schema.Whole); !m.IsZero(); m = m.Rest() {
		row := m.Lowest()
		since := s.sinceOf(index, row)
		if s.schema.Refs.Has(row) {
			since = p.v.overrides.sinceOf(index, row)
		}
		if since > base || personal && s.schema.Refs.Has(row) {
			changed = changed.With(row)
		}
	}
	return changed
}

// writeUnlisted writes visible entities that changed and were in no list, as often as the plan chooses more of them.
func (p *packetWriter) writeUnlisted() {
	for again := true; again; again = p.v.plan.active && p.v.plan.advanced {
		p.v.plan.advanced = false
		room := p.writeWaiting()
		if p.flushSent(); !room {
			return
		}
	}
}

// writeWaiting writes once each entity that waits, by index, from where the packet before was full. It says false when this
// packet is full.
func (p *packetWriter) writeWaiting() bool {
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
		if v.unsent[w] == 0 { // most words: their entities are in a list
			continue
		}
		word := v.unsent[w] &^ v.despawnOwed[w] & v.plan.allows(w)
		switch i {
		case 0:
			word &^= low
		case len(v.unsent):
			word &= low
		}
		if !p.writeWord(w, word) {
			return false
		}
	}
	v.cursor = 0
	return true
}

// writeWord writes some entities of a word. It says false when the packet is full.
func (p *packetWriter) writeWord(w int, word uint64) bool {
	v := p.v
	bound := word & p.unitMask(w)
	if !v.plan.active {
		word &^= bound
	}
	p.encodeAhead(w, word)
	for ; word != 0; word &= word - 1 {
		index := firstOf(uint32(w), word)
		switch {
		case !v.unsent.has(index): // written with its group
		case bound>>(index&63)&1 != 0 && !p.split || !p.candidate(index):
			v.plan.took(index) // it goes with its despawns, or in the next tick
		case !p.writeEntity(index) && !p.passes(index):
			v.cursor = index
			p.refused(index)
			return false
		}
		if p.split {
			word |= bound >> (index & 63) >> 1 << 1 << (index & 63) // those behind it go one by one
		}
	}
	return true
}

// candidate reports whether a record of an index waits and may be sent in this tick. An entity that was shown after this
// tick's first packets waits for the next tick, and so does a change for this client after its record was sent (rule 1).
func (p *packetWriter) candidate(index uint32) bool {
	v := p.v
	w, bit := index>>6, uint64(1)<<(index&63)
	if v.unsent[w]&^v.despawnOwed[w]&bit == 0 || v.plan.active && v.plan.chosen[w]&bit == 0 {
		return false
	}
	ack := v.ack(index)
	return ack.went != p.s && (ack.base != tick.None || v.lifetimes[index].life <= p.s)
}

// writeAt writes an unlisted record with its place. It continues a run where it can: then only rows are written.
func (p *packetWriter) writeAt(r *record) {
	generation := p.v.lifetimes[r.index].generation
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
		p.writeRows(r)
		return
	}
	p.endRun()
	symbol, raw, n := format.GapSymbol(r.index-p.last, r.explicit) // modulo 2^32 where the order goes around
	p.symbol(p.v.store.schema.Codes.Gap, p.gapContext, symbol)
	p.w.Write(raw, n)
	p.last = r.index + 1
	p.writeRecord(r)
	if r.base == tick.None && p.v.store.schema.OnlyFloats(r.mask) {
		*u = openRun{open: true, generation: generation, mask: r.mask}
	}
}

// openRun is a run of full records of neighbours that the next record may continue. Its end is still to be written.
type openRun struct {
	open       bool
	generation uint32
	mask       Mask
	n          int // records behind the first
	at         int // the byte with that number
}

// endRun writes the end of a run, if there is one.
func (p *packetWriter) endRun() {
	if u := &p.run; u.open {
		if u.n == 0 {
			p.w.Bool(false)
		} else {
			p.w.Patch(u.at, byte(u.n))
		}
		*u = openRun{}
	}
}

// writeRecord writes a record behind its place.
func (p *packetWriter) writeRecord(r *record) {
	schema := p.v.store.schema
	switch {
	case r.base == tick.None:
		p.w.Bool(false)
		p.w.Var(uint64(p.v.lifetimes[r.index].generation))
		schema.WriteMask(&p.w, r.mask, p.v.unknown)
	case r.explicit:
		p.w.Bool(true)
		p.w.Bool(r.known)
		if !r.known {
			p.w.Var(uint64(p.s-r.base) - 1)
		}
		p.w.Bool(r.same)
		if !r.same {
			schema.WriteMask(&p.w, r.mask, p.v.unknown)
		}
	}
	if d := &r.delta; d.bits <= 64 {
		p.w.Write(d.word, uint(d.bits))
	} else {
		p.w.Words(d.words, d.bits)
	}
	if !r.whole.IsZero() {
		p.writeRows(r)
	}
}

// writeRows writes the rows of a record that are written whole. A field that names an entity which this client does not see
// names nobody.
func (p *packetWriter) writeRows(r *record) {
	v, s := p.v, p.v.store
	for m := r.whole; !m.IsZero(); m = m.Rest() {
		row := m.Lowest()
		plan, lanes := s.schema.Plan(row), s.rows.row(r.index, row)
		switch {
		case s.schema.Refs.Has(row):
			v.lanes = append(v.lanes[:0], lanes...)
			v.blind(plan, v.lanes, p.s)
			plan.WriteRow(&p.w, v.lanes)
		case p.cache.packs && !s.schema.Tailed.Has(row):
			plan.WritePacked(&p.w, s.packedRow(r.index, row))
		default:
			plan.WriteRow(&p.w, lanes)
		}
	}
}

// recordSent notes that a record is in the packet.
func (p *packetWriter) recordSent(r *record) {
	v := p.v
	w, bit := r.index>>6, uint64(1)<<(r.index&63)
	if v.touchedAt(r.index) <= p.s { // else something changed after this tick's first packets, and is sent in the next
		v.unsent[w] &^= bit
	}
	if v.anyOversize {
		v.oversize[w] &^= bit
	}
	v.unacked[w] |= bit
	if v.plan.active {
		v.plan.sent(r.index)
	}
	span := tick.Tick(0)
	if r.same {
		span = p.s - r.base
	}
	p.groupSent(sentGroup{of: bit, rows: r.mask, word: w, span: spanOf(span)}, 1)
	if last := len(v.pendingSent) - 1; last >= 0 && v.pendingSent[last].word == w {
		v.pendingSent[last].of |= bit
	} else {
		v.pendingSent = append(room(v.pendingSent, 1, usualList), bitWord{w, bit})
	}
	v.stats.Rows += uint64(r.whole.Count())
	if r.base == tick.None {
		v.lifetimes[r.index].shown = v.lifetimes[r.index].generation // with a base it was shown before
		v.stats.Spawns++
		return
	}
	v.stats.Deltas += uint64(r.delta.deltas)
	v.stats.Unchanged += uint64(r.delta.same)
	v.stats.Updates++
}

// groupSent notes that the packet has a group of n records.
func (p *packetWriter) groupSent(g sentGroup, n int) {
	p.v.pages[g.word].even = p.v.store.views >= leastSharing && p.v.store.large(g.rows)
	p.v.sentAt(g.word, p.s, g.of, p.v.sent.addGroup(p.sent, g))
	p.sent.records += n
}

// flushSent notes in the ack states which records are in the packet. It comes before the ack state of any of them is asked for.
func (p *packetWriter) flushSent() {
	v := p.v
	for _, g := range v.pendingSent {
		v.sentPage(g.word, g.of, p.s)
	}
	v.pendingSent = v.pendingSent[:0]
}

// mostInRun is the most records of a run behind the first.
const mostInRun = 255
