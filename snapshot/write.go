package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// A snapshot payload is one bit string, least significant bit first:
//
//	tick      16 bits, low bits of the packet's own tick S
//	resynced   1 bit, then 16 bits epoch if set
//	despawns  1 bit "one more", gap, generation      … 0
//	lists     1 bit; if set, Var (S - U - 1), then
//	          for each list: 1 bit "one more"; 1 bit "R = U, N = R - 1, skip = 0", or
//	          Var (U - R), Var (R - N) or 0, Var skip
//	          for each page of which there are records of tick R, from the page on
//	          that lies skip pages behind the last one told of: its code, and with
//	          pageSome for each four of those records, as long as there are more: a
//	          symbol of Codes.Nibble, which of them; the usual record of each
//	          … 0
//	others    for each: a symbol of Codes.Gap, record, run; the end
//	zero padding to the byte, or to the end of the payload
//
//	record, usual: against T, with the rows of T: the body. T is R in a list,
//	          and for the others the tick of the newest record of the entity that
//	          is not after U; without lists, of the newest there is
//	odd:      1 bit "against T"
//	  no:     generation, one bit per row of the schema: present;
//	          then each present row, whole
//	  yes:    1 bit "T is the usual one", or age (S-T-1);
//	          1 bit "rows as at T" or one bit per row of the schema: present;
//	          the body
//	run:      behind a record against nothing all of whose rows are exact floats:
//	          1 bit "the next indexes have the same generation and rows"; then
//	          zeros to the byte, 8 bits how many, their rows, whole
//	body:     for each four rows of those at T and now: which of them differ from
//	          T; then those that do, as what differs (delta.Delta)
//	          then, whole, each row that was not at T, and of those that name
//	          entities each that differs
//
// Gaps of despawns count the indexes skipped since the one before. Gap,
// generation and age are in the Var code of wire.

// despawnShare is the part of a packet for despawns while any are owed: a third. So neither they nor updates starve.
const despawnShare = 3

// endBits is the room for the ends: of the despawns, of the lists, of a run and of the unlisted records.
const endBits = 1 + 1 + 2*15 + 1

// MinPayload is the least room for a snapshot, in bytes: any despawn fits a third of it.
const MinPayload = 64

// packetWriter is the state of one Write.
type packetWriter struct {
	v      *View
	cache  *EncodeCache
	w      wire.BitWriter
	s      tick.Tick // S, the packet's own tick
	sent   *sentPacket
	full   int    // bits that the packet may reach
	most   int    // bits that one entity or group may reach that is too large for full
	short  bool   // the budget allows less than a packet takes
	limit  int    // bits that the list being written may reach
	last   uint32 // index of the record before, plus one
	run    openRun
	inList bool      // a list is written
	page   *ackPage  // then: the page,
	near   tick.Tick // and its N for this packet; tick.None where none is to be named
	lists  lists
	ahead  uint32    // behind the last page with deltas made ahead
	refers bool      // the packet has lists
	upTo   tick.Tick // U: the newest R that lists may have, or S without lists
	// gapContext is 1 when the packet has lists.
	gapContext int
	// partial: other messages took some of the packet, or the budget did, so that
	// what does not fit now may fit the next one.
	partial bool
	// tied: there are group links. Then waiting, ending and kept are the entries, and the bits of despawns and of records, that are
	// kept for linked entities; headed is the bits that name the list that the packet continues.
	tied                          bool
	waiting, ending, kept, headed int
	split                         bool // a group went one by one beside ties
	filled                        bool // there is no room for a page of large records
}

// Write fills dst with one snapshot payload of what the client lacks and returns its length, 0 when there is nothing to send.
// seq is the sequence of its packet and must rise from call to call. The payload counts as sent: the caller sends it. It
// returns 0 also when more records on their way could not be remembered (ViewStats.RingFull), and between Begin and Commit.
func (v *View) Write(dst []byte, seq uint64) int { return v.WriteAt(&v.store.cache, dst, seq) }

// WriteAt does what Write does, with another cache of the view's store.
func (v *View) WriteAt(cache *EncodeCache, dst []byte, seq uint64) int {
	return v.WriteWithin(cache, dst, len(dst), false, seq)
}

// WriteWithin does what WriteAt does within a budget: it uses the first room bytes of dst. With lend it uses more for one
// entity or group that is too large for room, if an earlier packet has left it out.
func (v *View) WriteWithin(cache *EncodeCache, dst []byte, room int, lend bool, seq uint64) int {
	if v.store.open {
		return 0 // a tick that is open is not written
	}
	if v.flushSpawns(); !v.Pending() || room < MinPayload {
		return 0
	}
	if v.payload > 0 && len(dst) > v.payload {
		dst = dst[:v.payload] // else what the packet's header happens to take says where the list ends, which others could share
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
	p.sent.part = v.part
	v.wrote, v.spoke = p.s, p.s
	p.full, p.short = room*8-endBits, room < len(dst) // writePayload leaves the room for the ends free
	if p.most = p.full; lend {
		p.most = len(dst)*8 - endBits
	}
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
	n := p.w.Finish()
	if p.filled && !p.short && v.parts >= leastPadded && len(dst)-n <= mostPadding {
		clear(dst[n:])
		n = len(dst)
	}
	return n
}

// writePayload writes a payload: its header, despawns, listed records, unlisted records. A starved group comes in place of the despawns
// and the listed records. Atomic units are chosen before anything, so that their room is kept, and written first of the unlisted records.
func (p *packetWriter) writePayload() {
	v := p.v
	p.w.Write(uint64(p.s.Low()), 16)
	if p.w.Bool(v.epoch != 0); v.epoch != 0 {
		p.w.Write(uint64(v.epoch), 16)
	}
	starved := v.starved.index != 0 && p.beginsWithStarved()
	if !starved {
		p.chooseRefs()
		if v.ties.n > 0 {
			p.chooseUnits()
		}
		if v.anyDespawnOwed {
			p.writeDespawns()
		}
	}
	p.w.Bool(false) // no more despawns
	p.limit = p.full - p.kept - p.ending
	p.writeListsHead()
	room := !p.refers || p.writeListed()
	p.last = 0
	if p.tied {
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
	p.symbol(v.store.schema.Codes.Gap, p.gapContext, format.GapEnd)
}

// overwritten takes a packet as lost whose place in the ring of sent packets another one needs.
func (v *View) overwritten(p *sentPacket) {
	v.stats.Overwritten++
	v.lost(p)
}

// updatesPending reports whether anything but despawns waits.
func (v *View) updatesPending() bool {
	if !v.waits {
		return false
	}
	if w := v.waitWord; !v.anyDespawnOwed && w < len(v.unsent) && v.unsent[w] != 0 {
		return true // where Pending found something
	}
	for w := range v.unsent {
		if v.unsent[w]&^v.despawnOwed[w] != 0 {
			return true
		}
	}
	return false
}

// writeDespawns writes owed despawns by index, up to the limit, with those of atomic units.
func (p *packetWriter) writeDespawns() {
	v := p.v
	p.last, p.limit = 0, p.full
	if v.updatesPending() {
		p.limit = p.full/despawnShare + p.ending
	}
	plain := p.limit
	for w := range v.despawnOwed {
		if v.despawnOwed[w] == 0 {
			continue
		}
		for word := v.despawnOwed[w] & p.despawnMask(w); word != 0; word &= word - 1 {
			index := uint32(w<<6 + bits.TrailingZeros64(word))
			if v.lifetimes[index].ended > p.s {
				continue // ended after this tick's first packets: the next tick's business
			}
			if p.limitDespawn(index, plain); !p.fits(func() { p.despawn(index) }) {
				if plain = 0; !p.tied {
					return
				}
				continue
			}
			v.unsent.unset(index)
			v.unacked.set(index)
			v.alone(index)
			v.acks[index].went = p.s
			v.sent.addGroup(p.sent, sentGroup{of: 1 << (index % format.PageEntities), word: index / format.PageEntities, despawn: true})
			v.stats.Despawns++
		}
	}
}

// despawn writes that this generation of an index and all before it are gone.
func (p *packetWriter) despawn(index uint32) {
	p.w.Bool(true)
	p.w.Var(uint64(index - p.last))
	p.last = index + 1
	p.w.Var(uint64(p.v.lifetimes[index].shown))
}

// writeEntity writes one entity, or its whole group, and reports whether there was room for it.
func (p *packetWriter) writeEntity(index uint32) bool {
	m := p.v.groupOf(index)
	if p.v.ties.n > 0 && (m != nil || p.v.ties.has(index)) {
		if done, wrote := p.writeUnit(index); done {
			return wrote
		}
	} else if m != nil && len(m.indexes) > 1 {
		if done, wrote := p.writeGroup(m); done {
			return wrote
		}
	}
	return p.writeSingle(index)
}

// writeSingle writes one entity and reports whether there was room for it.
func (p *packetWriter) writeSingle(index uint32) bool {
	r := &p.v.single
	p.prepare(index, r)
	if !p.fits(func() { p.writeAt(r) }) {
		return p.tooLarge(index)
	}
	p.recordSent(r)
	return true
}

// tooLarge leaves out an entity that fits no packet, so that nothing waits behind it, and reports it in the stats. It says
// false when the next packet may have room.
func (p *packetWriter) tooLarge(index uint32) bool {
	v := p.v
	if p.sent.n > 0 || p.partial {
		return false
	}
	v.stats.Oversize++
	v.stats.OversizeID = wire.NetworkID{Index: index, Generation: v.lifetimes[index].generation}
	v.unsent.unset(index)
	v.oversize.set(index)
	v.anyOversize = true
	v.plan.took(index)
	return true
}

// fits writes records and takes them back if they pass the limit.
func (p *packetWriter) fits(write func()) bool {
	mark, last, run := p.w, p.last, p.run
	if p.sent.n >= maxRecords-p.waiting {
		return false
	}
	write()
	if p.w.Bits() <= p.limit { // which is within the buffer
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

// record is one entity in a packet: all rows that the client may see, as of the packet's tick (rule 1).
type record struct {
	index    uint32
	mask     Mask
	base     tick.Tick // T; tick.None: the record is full, and depends on nothing
	explicit bool      // the record spells out T or its rows
	known    bool      // T is the tick that the client assumes
	same     bool      // the rows are those of T, and the client is sure to know them
	whole    Mask      // rows that are written whole, behind the delta
	delta    uint32    // number of the delta against T
}

// prepare finds out how the record of an entity is written. It is coded against T if both ends have all that this takes
// (rules 2, 3), and else full.
func (p *packetWriter) prepare(index uint32, r *record) {
	v, s := p.v, p.v.store
	ack, mask := v.ack(index), v.maskOf(index)
	*r = record{index: index, mask: mask, explicit: true, whole: mask.Minus(s.schema.Tags)}
	base, shown := ack.base, mask
	if p.inList { // T is R of the page
		if base = p.page.ref; v.otherRows(index, base) {
			return
		}
	} else if base == tick.None { // the client has acknowledged nothing of it
		return
	} else {
		shown = v.shown(index, mask)
	}
	inWindow := p.s-base < s.cfg.Window // the client is sure to have the record of T itself, though not all later ones
	if !inWindow && (shown != mask || v.touchedAt(index) > base) {
		return
	}
	whole := Mask{}
	if mask.Overlaps(s.schema.Whole) {
		whole = p.changedWhole(index, base, mask.Intersect(shown))
	}
	before, known := p.before(index, &ack)
	if !known {
		return
	}
	if r.delta = p.cache.deltas.get(s, index, mask.Intersect(shown), base, before, whole); p.cache.deltas.entries[r.delta].none {
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
	switch g := p.page; {
	case !p.inList:
	case p.near != tick.None && g.nearOf>>(index%format.PageEntities)&1 != 0:
		return p.near, !p.v.otherRows(index, p.near)
	case p.near != tick.None:
		return tick.None, true
	case ack.base != g.ref: // nobody remembers what the record of R was coded against
		return tick.None, false
	}
	return p.v.store.own(ack.base, ack.span), true
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
func (p *packetWriter) changedWhole(index uint32, base tick.Tick, rows Mask) (changed Mask) {
	s, personal := p.v.store, p.v.touchedAt(index) > base
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

// writeUnlisted writes each entity that waits and was in no list once, by index, from where the packet before was full; then those that
// the plan chooses next.
func (p *packetWriter) writeUnlisted() {
	v := p.v
	for again := len(v.unsent) > 0; again; again = v.plan.active && v.plan.advanced {
		v.plan.advanced = false
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
			word := v.unsent[w] &^ v.despawnOwed[w]
			if i == 0 {
				word &^= low
			} else if i == len(v.unsent) {
				word &= low
			}
			if word != 0 && !p.writeWord(w, word) { // most words: their entities are in a list
				return
			}
		}
		v.cursor = 0
	}
}

// writeWord writes some entities of a word. It says false when the packet is full.
func (p *packetWriter) writeWord(w int, word uint64) bool {
	v := p.v
	word &= v.plan.allows(w)
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
	if u.open {
		p.endRun()
	}
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

// endRun writes the end of a run.
func (p *packetWriter) endRun() {
	if u := &p.run; u.n == 0 {
		p.w.Bool(false)
	} else {
		p.w.Patch(u.at, byte(u.n))
	}
	p.run = openRun{}
}

// writeRecord writes a record behind its place.
func (p *packetWriter) writeRecord(r *record) {
	schema := p.v.store.schema
	if r.base == tick.None {
		p.w.Bool(false)
		p.w.Var(uint64(p.v.lifetimes[r.index].generation))
		schema.WriteMask(&p.w, r.mask, p.v.unknown)
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
	if v.overrides.latest <= p.s || v.touchedAt(r.index) <= p.s { // else something changed after this tick's first packets, and is sent in the next
		v.unsent[w] &^= bit
	}
	if v.anyOversize {
		v.oversize[w] &^= bit
	}
	v.unacked[w] |= bit
	if v.plan.active {
		v.plan.sent(r.index)
	}
	g := sentGroup{of: bit, rows: r.mask, word: w}
	if r.same {
		g.span = spanOf(p.s - r.base)
	}
	p.groupSent(g, 1)
	v.sentPage(w, bit, p.s)
	v.stats.Rows += uint64(r.whole.Count())
	if r.base == tick.None {
		v.lifetimes[r.index].shown = v.lifetimes[r.index].generation // with a base it was shown before
		v.stats.Spawns++
		return
	}
	d := &p.cache.deltas.entries[r.delta]
	v.stats.Deltas += uint64(d.deltas)
	v.stats.Unchanged += uint64(d.same)
	v.stats.Updates++
}

// groupSent notes that the packet has a group of n records.
func (p *packetWriter) groupSent(g sentGroup, n int) {
	p.v.pages[g.word].even = p.v.store.views >= leastSharing && p.v.store.large(g.rows)
	p.v.sentAt(g.word, p.s, g.of, p.v.sent.addGroup(p.sent, g))
	p.sent.records += n
}

// mostInRun is the most records of a run behind the first.
const mostInRun = 255
