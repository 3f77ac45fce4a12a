package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// A snapshot payload is one bit string, the least significant bit first. S is the tick of the packet, and T the base tick of a record.
// R and N are ticks of a page (ackPage), and U is the newest R of the packet's lists.
//
//	tick      16 bits, the low bits of S
//	resynced   1 bit; if set, 16 bits epoch
//	despawns  for each: 1 bit "one more", gap, generation; then 0
//	lists     1 bit; if set, Var (S - U - 1), then
//	          for each list: 1 bit "one more"; 1 bit "R = U, N = R - 1, skip = 0", or
//	          Var (U - R), Var (R - N) or 0, Var skip;
//	          for each page with records of tick R, from the page on that lies skip
//	          pages behind the last one named: its code, and after pageSome for each
//	          four of those records, until the end: a symbol of Codes.Nibble, which
//	          of these entities have a record; and their implicit records
//	          then 0
//	others    for each: a symbol of Codes.Gap, record, run; then the end symbol
//	zero padding to the byte, or to the end of the payload
//
//	record, implicit: the body, against T, with the rows of T. In a list T is R. Of other
//	          entities it is the tick of their newest record that is not after U;
//	          without lists, of their newest record
//	record, explicit: 1 bit "against T"
//	  0:      generation; one bit for each row of the schema: present;
//	          each present row, whole
//	  1:      1 bit "T is that of an implicit record", or age (S-T-1);
//	          1 bit "rows as at T", or one bit for each row of the schema: present;
//	          the body
//	run:      after a record without T whose rows are all exact floats:
//	          1 bit "the next indexes have the same generation and rows"; if set,
//	          zeros to the byte, 8 bits number of further records, their rows, whole
//	body:     for each four rows that are present at T and now: which of them differ
//	          from T; the differing ones, as differences (delta.Delta);
//	          then, whole, each row that is not present at T, and each differing
//	          row that names entities
//
// A gap of despawns is the number of indexes since the last one. Gap, generation and age are in the Var code of package wire.

// despawnShare is the divisor for despawns: while updates wait too, despawns get a third of a packet. So neither of them starves.
const despawnShare = 3

// endBits is the room for the ends: of the despawns, of the lists, of a run and of the unlisted records.
const endBits = 1 + 1 + 2*15 + 1

// MinPayload is the least room for a snapshot, in bytes. Any despawn fits a third of it.
const MinPayload = 64

// packetWriter is the state of one Write.
type packetWriter struct {
	v      *View
	cache  *EncodeCache
	w      wire.BitWriter
	s      tick.Tick   // S, the packet's own tick
	sent   *sentPacket // the packet's slot in View.sent
	full   int         // most bits of the packet
	most   int         // most bits with what the budget lends, for one entity or group that is larger than full
	tight  bool        // the budget allows less than a packet takes
	limit  int         // most bits up to the end of the part that is written now
	last   uint32      // 1 + index of the last record or despawn; 0: none
	run    openRun
	inList bool      // a list is written
	page   *ackPage  // in a list: the page
	near   tick.Tick // in a list: N of the page; tick.None: the list has none
	lists  lists
	ahead  uint32    // the page behind the last one whose deltas were encoded ahead
	refers bool      // the packet has lists
	upTo   tick.Tick // U: the newest R that lists may have; S without lists
	// gapContext is the context of Codes.Gap: 1 if the packet has lists, else 0.
	gapContext int
	// partial tells that messages or the budget took a part of the packet. Then a record that does not fit may fit the next packet.
	partial bool
	// linked tells that there are group links. Then room is reserved for atomic units: waiting entries of sentPacket, ending bits of
	// despawns, and kept bits of records. headed is the bits between them: the end of the despawns and the head of the lists.
	linked                        bool
	waiting, ending, kept, headed int
	split                         bool // a group is written entity by entity beside units
	filled                        bool // a page of large records did not fit: the packet is full
	// account counts what is sent; nil: nothing is counted. head and despawns are the bits of the header and of despawns.
	account        *bitAccount
	head, despawns int
}

// Write writes one snapshot payload of what the client lacks into dst, and returns its length. seq is the sequence of the packet, and
// must rise from call to call. The payload counts as sent. Write returns 0 if there is nothing to send, between Begin and Commit, or
// if no more packets on their way can be remembered (ViewStats.RingFull).
func (v *View) Write(dst []byte, seq uint64) int {
	return v.WriteWithin(&v.store.cache, dst, len(dst), false, seq)
}

// WriteWithin does what Write does, with a budget: it uses the first room bytes of dst. With lend it uses more for one entity or
// group that is too large for room, if an earlier packet has left it out.
func (v *View) WriteWithin(cache *EncodeCache, dst []byte, room int, lend bool, seq uint64) int {
	if v.store.open {
		return 0
	}
	if v.flushSpawns(); !v.Pending() || room < MinPayload {
		return 0
	}
	if v.payload > 0 && len(dst) > v.payload {
		dst = dst[:v.payload] // the place of a cut must not depend on the packet's header: other clients share the text of the rest
	}
	if cache.deltas.tick != v.store.tick { // the first payload of a tick with this cache
		cache.begin()
	}
	room = min(room, len(dst))
	p := packetWriter{v: v, cache: cache, w: wire.NewBitWriter(dst), s: v.store.tick, upTo: v.store.tick, partial: room < v.payload}
	if p.sent = v.sent.open(seq, p.s, v.overwritten); p.sent == nil {
		v.stats.RingFull++
		return 0
	}
	if v.wrote != p.s { // the client's first payload of a tick
		v.parts, v.part, v.nextPage = v.part, 0, 0
	}
	v.wrote, v.spoke = p.s, p.s
	p.full, p.tight = room*8-endBits, room < len(dst) // writePayload leaves the room for the ends free
	if p.most = p.full; lend {
		p.most = len(dst)*8 - endBits
	}
	p.account = cache.accountOf(v, seq)
	p.writePayload()
	if p.sent.n == 0 && !v.answer { // nothing fitted: there is no packet
		v.sent.cancel(p.sent)
		return 0
	}
	if p.sent.records > 0 {
		v.plan.wrote(p.w.Bits() / p.sent.records)
	}
	v.part++
	v.answer = false
	v.stats.Snapshots++
	written := p.w.Bits()
	n := p.w.Finish()
	if p.filled && !p.tight && v.parts >= leastPadded && len(dst)-n <= mostPadding {
		clear(dst[n:])
		n = len(dst)
	}
	if p.account != nil {
		p.account.endPayload(p.head, p.despawns, written, n)
	}
	return n
}

// writePayload writes a payload: header, despawns, listed records, unlisted records. Atomic units are chosen first, to reserve their
// room; their records are the first unlisted ones. A starved group takes the place of despawns and lists.
func (p *packetWriter) writePayload() {
	v := p.v
	p.w.Write(uint64(p.s.Low()), 16)
	if !v.plain {
		p.writeEpoch()
	}
	p.head = p.w.Bits()
	starved := v.starved.index != 0 && p.takeStarved()
	if !starved {
		p.chooseRefs()
		if v.links.n > 0 {
			p.chooseUnits()
		}
		if v.anyDespawnOwed {
			p.writeDespawns()
		}
	}
	p.w.Bool(false) // no more despawns
	p.despawns = p.w.Bits() - p.head
	p.limit = p.full - p.kept - p.ending
	p.writeListsHead()
	room := !p.refers || p.writeListed()
	p.last = 0
	if p.linked {
		p.writeUnits()
	}
	if starved {
		p.writeStarved()
	}
	if room {
		p.writeUnlisted()
	}
	if p.run.open {
		p.endRun()
	}
	p.writeEnd()
}

// writeEpoch writes the newest resync that was served, if there was one.
func (p *packetWriter) writeEpoch() {
	epoch := p.v.epoch
	if p.w.Bool(epoch != 0); epoch != 0 {
		p.w.Write(uint64(epoch), 16)
	}
}

// writeEnd ends the unlisted records.
func (p *packetWriter) writeEnd() {
	if p.v.plain {
		p.w.Bool(false)
		p.w.Var(0)
		return
	}
	p.symbol(p.v.store.schema.Codes.Gap, p.gapContext, format.GapEnd)
}

// overwritten takes a packet as lost whose slot in the ring is needed for another packet.
func (v *View) overwritten(p *sentPacket) {
	v.stats.Overwritten++
	v.lost(p)
}

// updatesPending reports whether anything but despawns waits.
func (v *View) updatesPending() bool {
	if !v.waits {
		return false
	}
	if w := v.waitWord; !v.anyDespawnOwed && w < len(v.pages) && v.pages[w].unsent != 0 {
		return true // a word that Pending found
	}
	for w := v.seenFrom(0); w < len(v.pages); w = v.seenFrom(w + 1) {
		if v.pages[w].unsent&^v.pages[w].despawnOwed != 0 {
			return true
		}
	}
	return false
}

// writeDespawns writes the despawns that are due, in order of index, up to their share of the packet, and those of the chosen units.
func (p *packetWriter) writeDespawns() {
	v := p.v
	p.last, p.limit = 0, p.full
	if v.updatesPending() {
		p.limit = p.full/despawnShare + p.ending
	}
	plain := p.limit
	for w := v.seenFrom(0); w < len(v.pages); w = v.seenFrom(w + 1) {
		if v.pages[w].despawnOwed == 0 {
			continue
		}
		for word := v.pages[w].despawnOwed & p.despawnMask(w); word != 0; word &= word - 1 {
			index := uint32(w<<6 + bits.TrailingZeros64(word))
			if v.life(index).endedAt > p.s {
				continue // ended after this tick's first packet: sent in the next tick
			}
			if p.limitDespawn(index, plain); !p.tryWrite(func() { p.despawn(index) }) {
				if plain = 0; !p.linked {
					return
				}
				continue
			}
			v.page(index).unsent &^= bitOf(index)
			v.page(index).unacked |= bitOf(index)
			v.flies = true
			v.leavePage(index).went = p.s
			v.sent.addGroup(p.sent, sentGroup{of: 1 << (index % format.PageEntities), word: index / format.PageEntities, despawn: true})
			v.stats.Despawns++
		}
	}
}

// despawn writes that the entity of an index with this generation, or a lower one, has ended.
func (p *packetWriter) despawn(index uint32) {
	p.w.Bool(true)
	p.w.Var(uint64(index - p.last))
	p.last = index + 1
	p.w.Var(uint64(p.v.life(index).shownGeneration))
}

// writeEntity writes an entity, with its group or unit, and reports whether there was room.
func (p *packetWriter) writeEntity(index uint32) bool {
	m := p.v.groupOf(index)
	if p.v.links.n > 0 && (m != nil || p.v.links.has(index)) {
		if done, wrote := p.writeUnit(index); done {
			return wrote
		}
	} else if m != nil && len(m.indexes) > 1 {
		if done, wrote := p.writeGroup(m); done {
			return wrote
		}
	}
	v := p.v
	v.lacking = append(v.lacking[:0], index)
	return p.tryWriteLacking() || p.skipTooLarge(index)
}

// skipTooLarge leaves out an entity that fits no packet, so that others need not wait for it, and counts it in the stats. It returns false
// if the next packet may have room.
func (p *packetWriter) skipTooLarge(index uint32) bool {
	v := p.v
	if p.sent.n > 0 || p.partial {
		return false
	}
	v.stats.Oversize++
	v.stats.OversizeID = wire.NetworkID{Index: index, Generation: v.life(index).generation}
	v.page(index).unsent &^= bitOf(index)
	v.page(index).oversize |= bitOf(index)
	v.anyOversize = true
	v.took(index)
	return true
}

// tryWrite calls write, and takes the written bits back if they pass the limit. It reports whether they fit.
func (p *packetWriter) tryWrite(write func()) bool {
	mark, last, run := p.w, p.last, p.run
	if p.sent.n >= maxRecords-p.waiting {
		return false
	}
	write()
	if p.w.Bits() <= p.limit { // the limit is within the buffer
		return true
	}
	p.w, p.last, p.run = mark, last, run
	return false
}

// symbol writes a symbol of a prefix code.
func (p *packetWriter) symbol(t *delta.Table, context, symbol int) {
	code, n := t.Bits(context, symbol)
	p.w.Write(code, n)
	if watch := p.v.store.watch; watch != nil {
		watch([]delta.DeltaSymbol{{Table: t, Context: context, Symbol: symbol}})
	}
}

// record is one entity in a packet: all rows that the client may see, as of tick S (rule 1).
type record struct {
	index    uint32
	mask     Mask
	base     tick.Tick // T; tick.None: the record is full
	explicit bool      // the record has a header with T or its rows
	known    bool      // T is the tick that the client assumes
	same     bool      // the rows are those of T, and the client has the record of T
	whole    Mask      // rows that are sent whole, behind the delta
	delta    uint32    // number of the delta in deltaCache
	head     int32     // bits of the header, without the gap
}

// prepare decides how the record of an entity is written. It is coded against T if both ends have the versions that this needs (rules
// 2, 3), else it is full.
func (p *packetWriter) prepare(index uint32, r *record) {
	v, s := p.v, p.v.store
	if v.plain {
		p.preparePlain(index, r)
		return
	}
	ack, mask := v.ack(index), v.maskOf(index)
	*r = record{index: index, mask: mask, explicit: true, whole: mask.Minus(s.schema.Tags)}
	base, shown := ack.base, mask
	if p.inList { // T is R
		if base = p.page.ref; v.otherRows(index, base) {
			return // full: other rows than at R
		}
	} else if base == tick.None {
		return // full: the client has acknowledged no record of this lifetime
	} else {
		shown = v.shown(index, mask)
	}
	inWindow := p.s-base < s.cfg.Window // the client still has the record of T, though perhaps not every later one
	if !inWindow && (shown != mask || v.touchedAt(index) > base) {
		return // full: the client has forgotten T, and its rows are not those of now
	}
	whole := Mask{}
	if mask.Overlaps(s.schema.Whole) {
		whole = p.changedWhole(index, base, mask.Intersect(shown))
	}
	previous, known := p.previous(index, &ack)
	if !known {
		return // full: T' is not known
	}
	if r.delta = p.cache.deltas.get(s, index, mask.Intersect(shown), base, previous, whole); p.cache.deltas.entries[r.delta].none {
		return // full: the store has forgotten the version of T
	}
	r.base, r.whole = base, mask.Minus(shown).Minus(s.schema.Tags).Union(whole)
	r.same = inWindow && shown == mask
	r.known = p.inList || ack.newestUpTo(p.upTo)
	r.explicit = !r.same || !r.known
}

// previous returns T' of a record, tick.None if there is none. In a list with N, T' is N if the entity has a record of N. Elsewhere T'
// is the tick that T's own record was coded against. known is false if the server cannot tell which of them the client uses.
func (p *packetWriter) previous(index uint32, ack *ackState) (t tick.Tick, known bool) {
	switch g := p.page; {
	case !p.inList:
	case p.near != tick.None && g.nearOf>>(index%format.PageEntities)&1 != 0:
		return p.near, !p.v.otherRows(index, p.near)
	case p.near != tick.None:
		return tick.None, true
	case ack.base != g.ref: // the ack state has the span of another record than that of R
		return tick.None, false
	}
	return p.v.store.previousOf(ack.base, ack.span), true
}

// previousOf returns the tick that the record of base was coded against, span ticks before it. It returns tick.None if that tick cannot be T'
// now.
func (s *Store) previousOf(base tick.Tick, span uint16) tick.Tick {
	if span == 0 || s.tick-base+tick.Tick(span) >= s.cfg.Window {
		return tick.None
	}
	return base - tick.Tick(span)
}

// changedWhole returns which of the rows that are never coded as deltas changed since T.
func (p *packetWriter) changedWhole(index uint32, base tick.Tick, rows Mask) Mask {
	return p.changedRows(index, base, rows.Intersect(p.v.store.schema.Whole))
}

// changedRows returns which of some rows changed since T. A row that names entities also changes when these come into the client's sight or
// leave it.
func (p *packetWriter) changedRows(index uint32, base tick.Tick, rows Mask) (changed Mask) {
	s, personal := p.v.store, p.v.touchedAt(index) > base
	for m := rows; !m.IsZero(); m = m.Rest() {
		row := m.Lowest()
		later := false
		if s.schema.Refs.Has(row) {
			later = personal || p.v.overrides.sinceOf(index, row) > base
		} else {
			later = s.past.changedAfter(row, index, base)
		}
		if later {
			changed = changed.With(row)
		}
	}
	return changed
}

// writeUnlisted writes the entities that wait and were in no list, in order of index, from where the last packet was full. With a
// plan, it repeats this for each part that the plan chooses.
func (p *packetWriter) writeUnlisted() {
	v := p.v
	for again := len(v.pages) > 0; again; again = v.plan.active && v.plan.advanced {
		v.plan.advanced = false
		start := int(v.cursor >> 6)
		if start >= len(v.pages) {
			start, v.cursor = 0, 0
		}
		low := uint64(1)<<(v.cursor&63) - 1 // bits before the cursor, in its word
		for w := v.seenFrom(start); w < len(v.pages); w = v.seenFrom(w + 1) {
			word := v.pages[w].unsent &^ v.pages[w].despawnOwed
			if w == start {
				word &^= low
			}
			if word != 0 && !p.writeWord(w, word) { // most words are empty: their entities are in a list
				return
			}
		}
		for w := v.seenFrom(0); w <= start && w < len(v.pages); w = v.seenFrom(w + 1) {
			word := v.pages[w].unsent &^ v.pages[w].despawnOwed
			if w == start {
				word &= low
			}
			if word != 0 && !p.writeWord(w, word) {
				return
			}
		}
		v.cursor = 0
	}
}

// writeWord writes some entities of word w. It returns false if the packet is full.
func (p *packetWriter) writeWord(w int, word uint64) bool {
	v := p.v
	word &= v.allows(v.pages[w])
	bound := word & p.unitMask(w)
	if !v.plan.active {
		word &^= bound
	}
	for ; word != 0; word &= word - 1 {
		index := firstOf(uint32(w), word)
		switch {
		case v.page(index).unsent&bitOf(index) == 0: // written before, with its group
		case bound>>(index&63)&1 != 0 && !p.split || !p.candidate(index):
			v.took(index) // sent with its despawns, or in the next tick
		case !p.writeEntity(index) && !p.skipUnderBudget(index):
			v.cursor = index
			p.noteStarved(index)
			return false
		}
		if p.split {
			word |= bound >> (index & 63) >> 1 << 1 << (index & 63) // the unit's other entities behind this one are written one by one
		}
	}
	return true
}

// candidate reports whether an index waits and may be sent in this tick. An entity that was shown after this tick's first packet is
// sent in the next tick. An entity has at most one record in a tick (rule 1).
func (p *packetWriter) candidate(index uint32) bool {
	v := p.v
	w, bit := index>>6, uint64(1)<<(index&63)
	if v.pages[w].unsent&^v.pages[w].despawnOwed&bit == 0 || v.plan.active && v.pages[w].chosen&bit == 0 {
		return false
	}
	ack := v.ack(index)
	return ack.went != p.s && (ack.base != tick.None || v.life(index).firstTick <= p.s)
}

// writeAt writes an unlisted record with its gap. A record that continues the open run is written as its rows alone.
func (p *packetWriter) writeAt(r *record) {
	if p.v.plain {
		p.writePlain(r)
		return
	}
	generation := p.v.life(r.index).generation
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
	if u.open {
		p.endRun()
	}
	symbol, raw, n := format.GapSymbol(r.index-p.last, r.explicit) // modulo 2^32: behind the highest index the order starts at the lowest
	p.symbol(p.v.store.schema.Codes.Gap, p.gapContext, symbol)
	p.w.Write(raw, n)
	p.last = r.index + 1
	p.writeRecord(r)
	if r.base == tick.None && p.v.store.schema.OnlyFloats(r.mask) {
		*u = openRun{open: true, generation: generation, mask: r.mask}
	}
}

// openRun is a run of full records with neighbouring indexes that the next record may continue. Its end is not written yet.
type openRun struct {
	open       bool
	generation uint32
	mask       Mask
	n          int  // records behind the first
	at         int  // position in bytes of their number
	any, full  bool // of plain records: there was one; it was a full one
	sent       Mask // of plain records: the rows that it had
}

// endRun writes the end of a run.
func (p *packetWriter) endRun() {
	if u := &p.run; u.n == 0 {
		p.w.Bool(false)
	} else {
		p.w.Patch(u.at, byte(u.n))
	}
	p.run = openRun{}
}

// writeRecord writes a record without its gap.
func (p *packetWriter) writeRecord(r *record) {
	schema, start := p.v.store.schema, p.w.Bits()
	if r.base == tick.None {
		p.w.Bool(false)
		p.w.Var(uint64(p.v.life(r.index).generation))
		schema.WriteMask(&p.w, r.mask, p.v.unknown)
		r.head = int32(p.w.Bits() - start)
		p.writeRows(r)
		return
	}
	if r.explicit {
		p.w.Bool(true)
		p.w.Bool(r.known)
		if !r.known {
			p.w.Var(uint64(p.s-r.base) - 1)
		}
		p.w.Bool(r.same)
		if !r.same {
			schema.WriteMask(&p.w, r.mask, p.v.unknown)
		}
		r.head = int32(p.w.Bits() - start)
	}
	if d := &p.cache.deltas.entries[r.delta]; d.bits <= 64 {
		p.w.Write(d.word, uint(d.bits))
	} else {
		p.w.Words(p.cache.deltas.words(d), int(d.bits))
	}
	if !r.whole.IsZero() {
		p.writeRows(r)
	}
}

// writeRows writes the rows of a record that are sent whole. A field that names an entity which this client does not see is written as
// nil.
func (p *packetWriter) writeRows(r *record) {
	v, s := p.v, p.v.store
	for m := r.whole; !m.IsZero(); m = m.Rest() {
		row := m.Lowest()
		plan, lanes := s.schema.Plan(row), s.rows.row(r.index, row)
		if s.schema.Refs.Has(row) {
			v.lanes = append(v.lanes[:0], lanes...)
			v.clearUnseen(plan, v.lanes, p.s)
			lanes = v.lanes
		}
		plan.WriteRow(&p.w, lanes)
	}
}

// recordSent notes that a record is in the packet.
func (p *packetWriter) recordSent(r *record) {
	v, w := p.v, r.index/format.PageEntities
	if p.account != nil {
		p.account.record(p, r)
	}
	if !v.changedLater(r.index, p.s) {
		v.pages[w].unsent &^= bitOf(r.index)
	}
	if v.plan.active {
		v.planSent(r.index)
	}
	g := sentGroup{of: bitOf(r.index), rows: r.mask, word: w}
	if r.same {
		g.span = spanOf(p.s - r.base)
	}
	p.groupSent(g, 1)
	p.entitiesSent(w, g.of)
	v.stats.Rows += uint64(r.whole.Count())
	if r.base == tick.None {
		v.life(r.index).shownGeneration = v.life(r.index).generation // a record against T comes after a full one, which set it
		v.stats.Spawns++
		return
	}
	v.stats.Updates++
	if !v.plain {
		d := &p.cache.deltas.entries[r.delta]
		v.stats.Deltas += uint64(d.deltas)
		v.stats.Unchanged += uint64(d.same)
	}
}

// changedLater reports whether a change for this client came after the first packet of tick t. It is sent in the next tick.
func (v *View) changedLater(index uint32, t tick.Tick) bool {
	return v.overrides.lastTouched > t && v.touchedAt(index) > t
}

// entitiesSent notes that the packet has records of some entities of a page. groupSent notes their groups.
func (p *packetWriter) entitiesSent(w uint32, of uint64) {
	v := p.v
	v.pages[w].unacked |= of
	v.flies = true
	if v.anyOversize {
		v.pages[w].oversize &^= of
	}
	v.noteSentAcks(w, of, p.s)
}

// groupSent notes that the packet has a group of n records.
func (p *packetWriter) groupSent(g sentGroup, n int) {
	p.v.pages[g.word].preferEven = p.v.store.views >= leastSharing && p.v.store.largeRows(g.rows)
	p.v.noteSentRefs(g.word, p.s, g.of, p.v.sent.addGroup(p.sent, g))
	p.sent.records += n
}

// mostInRun is the most records of a run behind the first.
const mostInRun = 255
