package snapshot

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// The records of a page in a list are written from a text. Mostly they depend only on R, N and the set of entities, not on anything of one
// client. Then they are encoded once a tick, and the text is copied into the packets of all clients with the same pageKey. Any other text
// is one client's own: ownText prepares its records, and writeRecord writes them.

// pageKey is everything that the bits of a text depend on.
type pageKey struct {
	page     uint32
	span     uint16    // R - T' if there is no N; 0: no T'
	ref      tick.Tick // R
	near     tick.Tick // N; tick.None if no record is coded against it
	list, of uint64    // entities with a record of R; those of them with a record in this text
	nearOf   uint64    // entities of the text with a record of N
	hidden   Mask      // rows that no record of the text has
	own      uint64    // View.number if one of the entities has other hidden rows, so that the text is this client's own; else 0
}

// pageText is the records of a page, with their nibbles if not every entity of R has one.
type pageText struct {
	pageKey
	at, size     int        // first word in pageCache.code, and length in bits
	bodies       int        // length in bits of the records without nibbles
	rows, groups int        // its pageGroups: the first one, and their number
	number, next int32      // 1 + its place in pageCache.texts, and that of the text of the same page made before it; 0: none
	deltas, same int        // rows that differ from R, and that do not, of the records composed so far
	spans        []pageSpan // where each record is
	used         bool       // a packet has it
	none         bool       // it cannot be shared: it has rows of one client, or a baseline is no longer in the history
	nibbles      bool       // it has nibbles
	more         bool       // R has entities behind the last nibble
}

// pageSpan is the place of a record in a text, in bits from the start of the text.
type pageSpan struct {
	from, to     uint32
	deltas, same uint16 // as in pageText, up to and with this record
	at           uint8  // the entity, as its bit in the page
	symbol       uint8  // of the last record of a nibble: the nibble; else 0
	left         uint64 // of the last record of a nibble: the entities of R behind the nibble
}

// addSpan adds a record to a text.
func (t *pageText) addSpan(from, to int, index uint32) {
	t.bodies += to - from
	t.spans = append(t.spans, pageSpan{
		from: uint32(from), to: uint32(to), deltas: uint16(t.deltas), same: uint16(t.same), at: uint8(index % format.PageEntities),
	})
}

// behind returns the entities of a text behind the first n records.
func (t *pageText) behind(n int) uint64 {
	if n == 0 {
		return t.of
	}
	return t.of &^ (2<<t.spans[n-1].at - 1)
}

// bits returns the bits from record number from to number to.
func (t *pageText) bits(from, to int) int { return int(t.spans[to-1].to - t.spans[from].from) }

// rowsUpTo returns how many rows of the first n records differ from R, and how many do not.
func (t *pageText) rowsUpTo(n int) (deltas, same int) {
	if n == 0 {
		return 0, 0
	}
	return int(t.spans[n-1].deltas), int(t.spans[n-1].same)
}

// pageGroup is the entities of a text with the same rows.
type pageGroup struct {
	rows Mask
	of   uint64
}

// lastText is the text that the last packet ended in, behind its first n records. The next packet most likely begins with the rest.
type lastText struct {
	number int32 // pageText.number; 0: none
	n      int   // records that were copied
}

// pageCache stores the texts of one tick.
type pageCache struct {
	tick   tick.Tick
	table  []int32 // hash table: 1 + place in texts; 0: empty
	texts  []pageText
	groups []pageGroup
	spans  []pageSpan
	last   lastText
	own    pageText // the text of one client that is written now
	first  []int32  // by page: 1 + place of its newest text in texts; valid only if that text is of this page
	code   delta.BitBuffer
	copied uint64                      // texts that were used again, since the start
	deltas [format.PageEntities]uint32 // by entity: number of its delta, for the text that is composed
}

// reset forgets the texts of earlier ticks.
func (c *pageCache) reset(s *Store) {
	c.tick = s.tick
	if len(c.table) == 0 {
		c.table = make([]int32, 1<<10)
	}
	clear(c.table)
	c.texts, c.groups, c.spans, c.last = c.texts[:0], c.groups[:0], c.spans[:0], lastText{}
	c.first = grown(c.first, len(s.changed), cap(s.changed))
	c.code.Reset()
}

// hash mixes the fields in which texts of a page differ.
func (k *pageKey) hash() uint64 {
	h := uint64(k.page)<<40 ^ uint64(k.ref)<<20 ^ uint64(k.near)<<8 ^ uint64(k.span) ^ k.of*0x9E3779B97F4A7C15
	h = (h ^ k.hidden.Hash() ^ k.own) * 0xD6E8FEB86659FD93
	h = (h ^ h>>32) * 0xD6E8FEB86659FD93
	return h >> 32
}

// slot returns the place of a key in the table. It is 0 if the table does not have the key.
func (c *pageCache) slot(k *pageKey) *int32 {
	mask := uint64(len(c.table) - 1)
	for i := k.hash() & mask; ; i = (i + 1) & mask {
		if n := c.table[i]; n == 0 || c.texts[n-1].pageKey == *k {
			return &c.table[i]
		}
	}
}

// addText adds an empty text for a key.
func (c *pageCache) addText(k *pageKey) *pageText {
	if 2*(len(c.texts)+1) > len(c.table) {
		c.table = make([]int32, 2*len(c.table))
		for i := range c.texts {
			*c.slot(&c.texts[i].pageKey) = int32(i + 1)
		}
	}
	n := len(c.texts)
	c.texts = room(c.texts, 1, 256)[:n+1]
	*c.slot(k) = int32(n + 1)
	t := &c.texts[n]
	*t = pageText{pageKey: *k, number: int32(n + 1), rows: len(c.groups)}
	if f := c.first[k.page]; f > 0 && int(f) <= n && c.texts[f-1].page == k.page {
		t.next = f
	}
	c.first[k.page] = int32(n + 1)
	return t
}

// encoded reports whether another text of the page has deltas against the same baselines.
func (c *pageCache) encoded(t *pageText) bool {
	for n := t.next; n > 0; n = c.texts[n-1].next {
		if o := &c.texts[n-1]; o.ref == t.ref && (o.near == t.near || o.span == t.span) {
			return true
		}
	}
	return false
}

// usualIn returns those entities of a page that wait whose records are as usual: T is R, and the entity has had the same rows since R
// and N. Such records are equal for all clients that need them. It returns ok false if writePage has to look at each entity.
func (p *packetWriter) usualIn(g *ackPage, w uint32, wait uint64) (of uint64, ok bool) {
	v := p.v
	if plain.On || p.cache.plain || p.tight || v.store.watch != nil || v.plan.active || p.waiting > maxRecords-format.PageEntities-p.sent.n {
		return 0, false
	}
	if g.sending != 0 && g.sentTo != p.s {
		v.flushSending(w)
	}
	if v.part > 0 {
		if v.recent.of(p.s, g.slot)&wait != 0 {
			return 0, false
		}
	}
	near := p.near
	if near == tick.None && (wait&^g.members != 0 || g.base != g.ref) {
		return 0, false
	}
	of, rest := wait, wait
	if v.rowsSincePage(w) <= cmp.Or(near, g.ref) {
		rest = 0
	}
	for ; rest != 0; rest &= rest - 1 {
		bit, most := rest&-rest, g.ref
		if near != tick.None && g.nearOf&bit != 0 {
			most = near
		}
		if v.otherRows(firstOf(w, rest), most) {
			of &^= bit
		}
	}
	return of, true
}

// usualPrevious returns T' of a record that is as usual, as packetWriter.previous does.
func (p *packetWriter) usualPrevious(g *ackPage, index uint32) tick.Tick {
	switch {
	case p.near == tick.None:
		return p.v.store.previousOf(g.base, g.span)
	case g.nearOf>>(index%format.PageEntities)&1 != 0:
		return p.near
	}
	return tick.None
}

// key returns everything that the text of some entities of a page depends on.
func (p *packetWriter) key(g *ackPage, w uint32, of uint64) pageKey {
	k := pageKey{page: w, ref: g.ref, list: g.refOf, of: of, hidden: p.v.overrides.usual}
	if !p.v.usuallySeen(w, of) {
		k.own = p.v.number
	}
	switch near := p.near; {
	case near == tick.None:
		if p.v.store.previousOf(g.base, g.span) != tick.None {
			k.span = g.span
		}
	case g.nearOf&of != 0:
		k.near, k.nearOf = near, g.nearOf&of
	}
	return k
}

// pageText returns a text for entities of a page that wait, and how many of its records earlier packets have. Its set of is empty if none
// of the entities can be in a list.
func (p *packetWriter) pageText(g *ackPage, w uint32, wait uint64) (t *pageText, from int) {
	c := &p.cache.pages
	if c.tick != p.s {
		c.reset(p.v.store)
	}
	of, usual := p.usualIn(g, w, wait)
	if usual = usual && of != 0; usual {
		if few := bits.OnesCount64(of) < fewEntities; p.cache.alone && few && !p.largeRecord(firstOf(w, of)) {
			wait = of // the last tick shared little
		} else {
			k := p.key(g, w, of)
			if t, from = c.rest(&k); t == nil {
				t = p.sharedText(&k)
			}
			if usual = false; t != nil {
				return t, from
			}
		}
	}
	if !plain.On && p.v.listed >= leastTogether {
		p.encodePagesAhead(w, wait)
		p.setPage(g)
	}
	return p.ownText(g, w, wait, usual), 0
}

// rest returns the text whose rest a key names, and how many of its records the last packet has. It returns nil if there is none.
func (c *pageCache) rest(k *pageKey) (t *pageText, from int) {
	if c.last.number == 0 {
		return nil, 0
	}
	t, from = &c.texts[c.last.number-1], c.last.n
	of := t.pageKey
	of.of, of.nearOf = t.behind(from), t.nearOf&t.behind(from)
	if of.nearOf == 0 {
		of.near = tick.None
	}
	if of != *k {
		return nil, 0
	}
	return t, from
}

// ownText prepares the implicit records of entities of a page for one client, at most as many as sentPacket can note. usual tells that all
// of them are as usual (usualIn).
func (p *packetWriter) ownText(g *ackPage, w uint32, wait uint64, usual bool) *pageText {
	c, v := &p.cache.pages, p.v
	t := &c.own
	// The other fields are always zero: clearing all of them would take as long as a record.
	t.page, t.ref, t.list, t.of, t.spans = w, g.ref, g.refOf, 0, t.spans[:0]
	t.rows, t.groups, t.size, t.bodies, t.deltas, t.same = len(c.groups), 0, 0, 0, 0, 0
	v.records = slices.Grow(v.records[:0], bits.OnesCount64(wait))
	for ; wait != 0 && len(v.records) < maxRecords-p.waiting-p.sent.n; wait &= wait - 1 {
		index, n := firstOf(w, wait), len(v.records)
		if !usual && !p.candidate(index) {
			continue
		}
		v.records = v.records[:n+1]
		r := &v.records[n]
		if !usual || !p.prepareUsual(g, index, r) {
			p.prepare(index, r)
		}
		if r.explicit {
			v.records = v.records[:n] // the entity is written among the unlisted ones
			continue
		}
		from, mark, d := t.size, p.w, &p.cache.deltas.entries[r.delta]
		t.size, t.deltas, t.same = from+int(d.bits), t.deltas+int(d.deltas), t.same+int(d.same)
		if !r.whole.IsZero() {
			p.writeRows(r)
			t.size += p.w.Bits() - mark.Bits()
			p.w = mark
		}
		t.of |= bitOf(index)
		t.addSpan(from, t.size, index)
		c.group(t, r.mask, bitOf(index))
	}
	return t
}

// prepareUsual does what prepare does for a record that is as usual. It returns false if the entity has rows that may be sent whole, or if
// a baseline is no longer in the history.
func (p *packetWriter) prepareUsual(g *ackPage, index uint32, r *record) bool {
	d, mask := &p.cache.deltas, p.v.maskOf(index)
	if mask.Overlaps(p.v.store.schema.Whole) {
		return false
	}
	number := d.get(p.v.store, index, mask, g.ref, p.usualPrevious(g, index), Mask{})
	*r = record{index: index, mask: mask, base: g.ref, known: true, same: true, delta: number}
	return !d.entries[number].none
}

// largeRecord reports whether an index has large records, so that its page is cut behind any record.
func (p *packetWriter) largeRecord(index uint32) bool {
	return p.v.store.largeRows(p.v.maskOf(index))
}

// largeRows reports whether records with these rows are large (Schema.Large). It is false while a trainer watches: the shipped tables were
// trained without such cuts.
func (s *Store) largeRows(rows Mask) bool { return s.watch == nil && s.schema.Large(rows) }

// sharedText returns the text of a key, and makes it if needed. It returns nil if the text cannot be shared.
func (p *packetWriter) sharedText(k *pageKey) *pageText {
	c := &p.cache.pages
	if n := *c.slot(k); n > 0 {
		t := &c.texts[n-1]
		if t.none {
			return nil
		}
		return t
	}
	few := bits.OnesCount64(k.of) < fewEntities && !p.largeRecord(firstOf(k.page, k.of))
	if few {
		p.encodePagesAhead(k.page, k.of)
		p.setPage(p.v.pages[k.page])
	}
	t := c.addText(k)
	if f := &p.cache.floats; f.beginText(p.cache, t, p.v) {
		p.composeText(t)
		t.none = f.missing
	} else if t.none = !p.encode(t, few || c.encoded(t)); !t.none {
		p.composeText(t)
	}
	if t.none {
		return nil
	}
	return t
}

// encode makes the deltas of the records of a text, in the order of the entities. It returns false if they cannot be shared. known
// tells that some of them may exist already.
func (p *packetWriter) encode(t *pageText, known bool) bool {
	c, d, s := &p.cache.pages, p.cache, p.v.store
	own := s.previousOf(t.ref, t.span)
	for left := t.of; left != 0; {
		first := firstOf(t.page, left)
		mask, previous := t.maskOf(p.v, first), own
		if mask.Overlaps(s.schema.Whole) {
			return false
		}
		of := left
		if near := t.nearOf & left; near>>(first%format.PageEntities)&1 != 0 {
			previous, of = t.near, near
		} else {
			of &^= t.nearOf
		}
		done := d.encodeSome(t, p.v, of, mask, previous, known)
		if done == 0 {
			return false
		}
		c.group(t, mask, done)
		left &^= done
	}
	return true
}

// maskOf returns the rows of an entity in the records of a text that is made for a client.
func (t *pageText) maskOf(v *View, index uint32) Mask {
	if t.own != 0 {
		return v.maskOf(index)
	}
	return v.store.rows.masks[index].Minus(t.hidden)
}

// encodeSome makes the deltas of those entities of a text that have the rows of mask, and returns them. It returns 0 if a baseline is
// no longer in the history.
func (d *EncodeCache) encodeSome(t *pageText, v *View, of uint64, mask Mask, previous tick.Tick, known bool) (done uint64) {
	s, b, c, w, ref := d.store, &d.batch, &d.pages, t.page, t.ref
	together := together(s.schema, mask.Minus(s.schema.Tags))
	b.n, b.mask, b.t, b.previous = 0, mask, ref, previous
	for ; of != 0; of &= of - 1 {
		index := firstOf(w, of)
		if t.maskOf(v, index) != mask {
			continue
		}
		done |= of & -of
		at := index % format.PageEntities
		c.deltas[at] = 0
		if known {
			c.deltas[at] = d.deltas.find(index, mask, ref, previous)
		}
		switch {
		case c.deltas[at] != 0:
		case together:
			b.index[b.n] = index
			if b.n++; b.n == delta.MaxStreams && !d.encodeBatch() {
				return 0
			}
		default:
			c.deltas[at] = d.deltas.encode(s, index, mask, ref, previous, Mask{})
		}
		if d.deltas.entries[c.deltas[at]].none {
			return 0
		}
	}
	if b.n > 0 && !d.encodeBatch() {
		return 0
	}
	return done
}

// encodeBatch makes the deltas of the batch. It returns false if a baseline is no longer in the history.
func (d *EncodeCache) encodeBatch() bool {
	b, c := &d.batch, &d.pages
	d.deltas.addAll(d.store, b)
	for k, index := range b.index[:b.n] {
		if b.made[k] == 0 {
			return false
		}
		c.deltas[index%format.PageEntities] = b.made[k]
	}
	b.n = 0
	return true
}

// group adds entities with the same rows to a text.
func (c *pageCache) group(t *pageText, rows Mask, of uint64) {
	for i := range t.groups {
		if g := &c.groups[t.rows+i]; g.rows == rows {
			g.of |= of
			return
		}
	}
	c.groups = append(room(c.groups, 1, 256), pageGroup{rows, of})
	t.groups++
}

// composeText writes the records of a text. It writes their nibbles too if not every entity of R has a record, or if the page will be cut.
func (p *packetWriter) composeText(t *pageText) {
	c, four := &p.cache.pages, p.v.store.schema.Codes.Nibble
	w := &c.code
	w.Finish()
	w.Reserve(format.PageEntities)
	t.at, t.nibbles = w.Bits()/64, t.of != t.list || p.largeRecord(firstOf(t.page, t.of))
	c.spans = room(c.spans, bits.OnesCount64(t.of), 1024)
	t.spans = c.spans[len(c.spans):]
	context := format.AfterAll
	for left, rest := t.list, t.of; rest != 0; {
		symbol, members, behind := nibble(left, rest)
		if left = behind; t.nibbles {
			w.Symbol(four, context, symbol)
			if context = format.AfterNone; symbol == 0 {
				continue
			}
			context = format.AfterNibble(symbol)
		}
		for rest &^= members; members != 0; members &= members - 1 {
			p.cache.body(t, members)
		}
		if t.more = left != 0; t.nibbles {
			last := &t.spans[len(t.spans)-1]
			last.symbol, last.left = uint8(symbol), left
		}
	}
	c.spans, t.size = c.spans[:len(c.spans)+len(t.spans)], w.Bits()-64*t.at
	w.Finish()
}

// body writes the delta of the first entity in of.
func (d *EncodeCache) body(t *pageText, of uint64) {
	c, at := &d.pages, bits.TrailingZeros64(of)
	from := c.code.Bits()
	if d.floats.on {
		rows := d.floats.append(d, t, at)
		t.deltas, t.same = t.deltas+rows, t.same+len(d.floats.columns)-rows
	} else {
		e := &d.deltas.entries[c.deltas[at]]
		t.deltas, t.same = t.deltas+int(e.deltas), t.same+int(e.same)
		if e.bits <= 64 {
			c.code.Write(e.word, uint(e.bits))
		} else {
			c.code.Append(d.deltas.words(e), int(e.bits))
		}
	}
	t.addSpan(from-64*t.at, c.code.Bits()-64*t.at, uint32(at))
}

const (
	// mostPadding is the most bytes of padding of a full packet of large records (docs/adr/0033).
	mostPadding = 64
	// leastPadded is the least number of payloads in the last tick for which full ones are padded: fewer are not worth a kernel's
	// work.
	leastPadded = 6
	// leastSharing is the least number of views for which R of large records is an even tick (ackPage): an older R costs bytes and
	// saves encoding time.
	leastSharing = 4
)
