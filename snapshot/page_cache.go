package snapshot

import (
	"cmp"
	"math/bits"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// The records of a page in a list depend only on R, N and the set of entities, not on anything of one client. So they are encoded once
// a tick. The encoded bits are called the text of the page, and are copied into the packets of all clients with the same pageKey.
//
// Two kinds of pages are cut differently at the end of a packet. copyText cuts behind a nibble, at places at least cutBits apart.
// copyLarge cuts a page of large records behind any record.

// pageKey is everything that the text of a page depends on.
type pageKey struct {
	page     uint32
	all      bool      // every entity of R has a record
	span     uint16    // R - T' if there is no N; 0: no T'
	ref      tick.Tick // R
	near     tick.Tick // N; tick.None if no record is coded against it
	list, of uint64    // entities with a record of R; those of them with a record in this text
	nearOf   uint64    // entities of the text with a record of N
	hidden   Mask      // rows that no record of the text has
	own      uint64    // View.number if one of the entities has other hidden rows, so that the text is this client's own; else 0
}

// cachedPage is the text of a page: its code, nibbles and records.
type cachedPage struct {
	pageKey
	at, size     int   // first word in pageCache.code, and length in bits
	rows, groups int   // its pageGroups: the first one, and their number
	number, next int32 // 1 + its place in pageCache.texts, and that of the text of the same page made before it; 0: none
	deltas, same int   // rows that differ from R, and that do not
	bits         int   // bits of the records alone
	spans        int   // its pageSpans, one for each record: the first one
	used         bool  // a packet has it
	none         bool  // it cannot be shared: it has rows of one client, or a baseline is no longer in the history
	tail         int   // bits of the symbol that ends the page; 0: there is none
	cut, cuts    int   // its pageCuts: the first one, and their number
}

// pageCut is a place behind a nibble where a text may be cut: the state of the writer there.
type pageCut struct {
	bits         int    // bits of the text before the cut
	of           uint64 // entities with a record before the cut
	context      int    // context of the next nibble
	deltas, same int    // as in cachedPage, before the cut
}

// pageGroup is the entities of a text with the same rows.
type pageGroup struct {
	rows Mask
	of   uint64
}

// pageCache stores the texts of one tick.
type pageCache struct {
	tick   tick.Tick
	table  []int32 // hash table: 1 + place in texts; 0: empty
	texts  []cachedPage
	groups []pageGroup
	cuts   []pageCut
	spans  []pageSpan
	cut    cutText
	first  []int32 // by page: 1 + place of its newest text in texts; valid only if that text is of this page
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
	c.texts, c.groups, c.cuts, c.spans, c.cut = c.texts[:0], c.groups[:0], c.cuts[:0], c.spans[:0], cutText{}
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
func (c *pageCache) addText(k *pageKey) *cachedPage {
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
	*t = cachedPage{pageKey: *k, number: int32(n + 1), rows: len(c.groups), cut: len(c.cuts)}
	if f := c.first[k.page]; f > 0 && int(f) <= n && c.texts[f-1].page == k.page {
		t.next = f
	}
	c.first[k.page] = int32(n + 1)
	return t
}

// encoded reports whether another text of the page has deltas against the same baselines.
func (c *pageCache) encoded(t *cachedPage) bool {
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
	if plain.On || p.cache.plain || p.tight || v.store.watch != nil || v.plan.active {
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
	k := pageKey{page: w, all: of == g.refOf, ref: g.ref, list: g.refOf, of: of, hidden: p.v.overrides.usual}
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

// copyPage writes the usual records of a page from a shared text, as writePage would. If it returns done false it has written nothing.
// room reports whether the packet has room for more pages.
func (p *packetWriter) copyPage(g *ackPage, w uint32, wait uint64) (room, done bool) {
	if c := &p.cache.pages; c.tick != p.s {
		c.reset(p.v.store)
	}
	mark, before := p.w, p.lists
	p.beginPage(g, w)
	k := p.key(g, w, wait)
	var all, some bool
	if p.largeRecord(firstOf(w, wait)) {
		all, some = p.copyLarge(g, &k)
	} else {
		all, some = p.copyText(g, &k)
	}
	if some {
		return all, true
	}
	p.w, p.lists = mark, before
	return false, p.sent.n > 0 && !all // an existing text that does not fit waits for the next packet
}

// fitsText reports whether size bits of a text fit. The last tail bits are a symbol that ends the page, and count as the longest code:
// writeSome asks for the same room.
func (p *packetWriter) fitsText(t *cachedPage, size, tail int) bool {
	if tail > 0 {
		size += delta.MaxCodeLength - tail
	}
	return p.w.Bits()+size <= p.limit && p.fitsGroups(t)
}

// copied notes that the packet has the records of a text up to a cut.
func (p *packetWriter) copied(g *ackPage, t *cachedPage, cut *pageCut) {
	c := &p.cache.pages
	if t.used {
		c.copied++
	}
	t.used = true
	if p.account != nil {
		p.account.text(p, t, cut.of)
	}
	p.cache.deltas.used += uint64(bits.OnesCount64(cut.of))
	for i := range t.groups {
		e := &c.groups[t.rows+i]
		if of := e.of & cut.of; of != 0 {
			p.groupSent(sentGroup{of: of, rows: e.rows, word: t.page, span: spanOf(p.s - t.ref)}, bits.OnesCount64(of))
		}
	}
	p.usualSent(t.page, cut.of, cut.deltas, cut.same)
}

// usualSent notes that usual records of a page are in the packet. groupSent notes their groups.
func (p *packetWriter) usualSent(w uint32, of uint64, deltas, same int) {
	v := p.v
	v.pages[w].unsent &^= of
	v.pages[w].unacked |= of
	v.flies = true
	if v.anyOversize {
		v.pages[w].oversize &^= of
	}
	v.noteSentAcks(w, of, p.s)
	v.stats.Updates += uint64(bits.OnesCount64(of))
	v.stats.Deltas += uint64(deltas)
	v.stats.Unchanged += uint64(same)
}

// text returns the text of a key, and makes it if needed. It returns nil if the text cannot be shared.
func (p *packetWriter) text(k *pageKey) *cachedPage {
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
func (p *packetWriter) encode(t *cachedPage, known bool) bool {
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
func (t *cachedPage) maskOf(v *View, index uint32) Mask {
	if t.own != 0 {
		return v.maskOf(index)
	}
	return v.store.rows.masks[index].Minus(t.hidden)
}

// encodeSome makes the deltas of those entities of a text that have the rows of mask, and returns them. It returns 0 if a baseline is
// no longer in the history.
func (d *EncodeCache) encodeSome(t *cachedPage, v *View, of uint64, mask Mask, previous tick.Tick, known bool) (done uint64) {
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
func (c *pageCache) group(t *cachedPage, rows Mask, of uint64) {
	for i := range t.groups {
		if g := &c.groups[t.rows+i]; g.rows == rows {
			g.of |= of
			return
		}
	}
	c.groups = append(room(c.groups, 1, 256), pageGroup{rows, of})
	t.groups++
}

// composeText writes the code, the nibbles and the records of a text.
func (p *packetWriter) composeText(t *cachedPage) {
	c, four := &p.cache.pages, p.v.store.schema.Codes.Nibble
	w := &c.code
	w.Finish()
	w.Reserve(format.PageEntities)
	t.at = w.Bits() / 64
	t.spans, c.spans = len(c.spans), room(c.spans, bits.OnesCount64(t.of), 1024)
	start := w.Bits()
	if t.all {
		w.Write(pageAll, pageAllBits)
		for left := t.of; left != 0; left &= left - 1 {
			p.cache.body(t, left)
		}
		t.size = w.Bits() - start
		w.Finish()
		return
	}
	w.Write(pageSome, pageSomeBits)
	context, passed, place := format.AfterAll, 0, w.Bits()
	left, rest := t.list, t.of
	for left != 0 && rest != 0 {
		symbol, members, behind := nibble(left, rest)
		if left = behind; symbol == 0 {
			passed++
			continue
		}
		for ; passed > 0; passed-- {
			w.Symbol(four, context, 0)
			context = format.AfterNone
		}
		w.Symbol(four, context, symbol)
		for m := members; m != 0; m &= m - 1 {
			p.cache.body(t, m)
		}
		last := &c.spans[len(c.spans)-1]
		last.symbol, last.left = uint8(symbol), left
		context = format.AfterNibble(symbol)
		rest &^= members
		if at := w.Bits(); at-place >= cutBits {
			place, t.cuts = at, t.cuts+1
			c.cuts = append(room(c.cuts, 1, 1024), pageCut{bits: at - start, of: t.of &^ rest, context: context, deltas: t.deltas, same: t.same})
		}
	}
	if t.size = w.Bits() - start; left != 0 {
		w.Symbol(four, context, format.NibbleEnd)
		t.tail = w.Bits() - start - t.size
		t.size += t.tail
	}
	w.Finish()
}

// body writes the delta of the first entity in of.
func (d *EncodeCache) body(t *cachedPage, of uint64) {
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
	to := c.code.Bits()
	t.bits += to - from
	c.spans = append(c.spans, pageSpan{
		from: uint32(from - 64*t.at), to: uint32(to - 64*t.at), deltas: uint16(t.deltas), same: uint16(t.same), at: uint8(at),
	})
}

// Exact floats make large records: a page of them is larger than a packet. Such a page is cut behind any record, to fill packets. Full
// packets are padded to one size, so that a kernel can cut them from one buffer (docs/adr/0033). The rest of the page is copied from
// the same text into the next packet.

const (
	// mostPadding is the most bytes of padding of a full packet of large records.
	mostPadding = 64
	// leastPadded is the least number of payloads in the last tick for which full ones are padded: fewer are not worth a kernel's
	// work.
	leastPadded = 6
	// leastSharing is the least number of views for which R of large records is an even tick (ackPage): an older R costs bytes and
	// saves encoding time.
	leastSharing = 4
)

// pageSpan is the place of a record's delta in a text, in bits from the start of the text.
type pageSpan struct {
	from, to     uint32
	deltas, same uint16 // as in cachedPage, up to and with this record
	at           uint8  // the entity, as its bit in the page
	symbol       uint8  // of the last record of a nibble: the nibble; else 0
	left         uint64 // of the last record of a nibble: the entities of R behind the nibble
}

// cutText is the text that the last packet ended in, behind its first n records. The next packet most likely begins with the rest.
type cutText struct {
	text int32 // cachedPage.number; 0: none
	n    int   // records that were copied
}

// largeRecord reports whether an index has large records, so that its page is cut behind any record.
func (p *packetWriter) largeRecord(index uint32) bool {
	return p.v.store.largeRows(p.v.maskOf(index))
}

// largeRows reports whether records with these rows are large (Schema.Large). It is false while a trainer watches: the shipped tables were
// trained without such cuts.
func (s *Store) largeRows(rows Mask) bool { return s.watch == nil && s.schema.Large(rows) }

// spansOf returns the spans of a text.
func (c *pageCache) spansOf(t *cachedPage) []pageSpan {
	return c.spans[t.spans:][:bits.OnesCount64(t.of)]
}

// behind returns the entities of a text behind the first n records.
func (c *pageCache) behind(t *cachedPage, n int) uint64 {
	if n == 0 {
		return t.of
	}
	return t.of &^ (2<<c.spans[t.spans+n-1].at - 1)
}

// rest returns the text whose rest the key names, and how many of its records the packets before have. It returns nil if there is
// none.
func (c *pageCache) rest(k *pageKey) (t *cachedPage, from int) {
	if c.cut.text == 0 {
		return nil, 0
	}
	t, from = &c.texts[c.cut.text-1], c.cut.n
	of := pageKey{page: t.page, span: t.span, ref: t.ref, near: t.near, list: t.list, of: c.behind(t, from), hidden: t.hidden, own: t.own}
	if of.nearOf = t.nearOf & of.of; of.nearOf == 0 {
		of.near = k.near
	}
	if of != *k {
		return nil, 0
	}
	return t, from
}

// copyText writes the text of a key, up to a cut if there is no room for all of it. It reports whether it wrote all of the text, or
// some. If it wrote nothing, all true means that there is no shared text.
func (p *packetWriter) copyText(g *ackPage, k *pageKey) (all, some bool) {
	t := p.text(k)
	if t == nil {
		return true, false
	}
	if p.fitsText(t, t.size, t.tail) {
		p.w.Words(p.cache.pages.code.All()[t.at:], t.size)
		p.copied(g, t, &pageCut{of: k.of, deltas: t.deltas, same: t.same})
		return true, true
	}
	if k.all {
		k.all = false
		if t = p.text(k); p.fitsText(t, t.size, t.tail) { // never true: the text with nibbles is longer
			panic("snapshot: a page with more symbols is shorter")
		}
	}
	if p.copyCut(g, t) {
		return false, true
	}
	return false, false
}

// copyCut writes a text up to the last cut that fits. It returns false if none does.
func (p *packetWriter) copyCut(g *ackPage, t *cachedPage) bool {
	c := &p.cache.pages
	for i := t.cut + t.cuts - 1; i >= t.cut; i-- {
		if cut := &c.cuts[i]; p.fitsText(t, cut.bits+1, 1) {
			p.w.Words(c.code.All()[t.at:], cut.bits)
			p.copied(g, t, cut)
			p.symbol(p.v.store.schema.Codes.Nibble, cut.context, format.NibbleEnd)
			return true
		}
	}
	return false
}

// copyLarge does what copyText does for large records. It uses the text with nibbles even if every entity of R has a record.
func (p *packetWriter) copyLarge(g *ackPage, k *pageKey) (all, some bool) {
	c, whole := &p.cache.pages, k.all
	t, from := c.rest(k)
	if t == nil {
		k.all = false
		if t = p.text(k); t == nil {
			return true, false
		}
	}
	mark, n := p.w, bits.OnesCount64(t.of)
	if whole && p.fitsText(t, pageAllBits+t.bits, 0) {
		p.partAll(t)
		p.copied(g, t, &pageCut{of: k.of, deltas: t.deltas, same: t.same})
		return true, true
	}
	if p.w.Bits()+int(c.spans[t.spans+n-1].to-c.spans[t.spans+from].from) <= p.limit+p.reserve() && p.fitsGroups(t) {
		cut, more := p.writePart(t, from, n)
		if more && p.fitsCut() || !more && p.w.Bits() <= p.limit {
			p.endPart(g, t, &cut, more)
			return true, true
		}
		p.w = mark
	}
	p.filled = true
	return false, p.copySome(g, t, from)
}

// copySome writes the records of a text from number from on, as many as fit but never the last one. It returns false if none fits.
func (p *packetWriter) copySome(g *ackPage, t *cachedPage, from int) bool {
	c, mark := &p.cache.pages, p.w
	spans := c.spansOf(t)
	most := p.limit + p.reserve() - p.w.Bits() // an upper bound for the bits of the records, without their nibbles
	to := len(spans) - 1
	for to > from && int(spans[to-1].to-spans[from].from) > most {
		to--
	}
	for ; to > from && p.fitsGroups(t); to-- {
		if cut, more := p.writePart(t, from, to); p.fitsCut() {
			p.endPart(g, t, &cut, more)
			c.cut = cutText{t.number, to}
			return true
		}
		p.w = mark
	}
	return false
}

// endPart ends a page with a part of a text, and notes its records.
func (p *packetWriter) endPart(g *ackPage, t *cachedPage, cut *pageCut, more bool) {
	if more {
		p.symbol(p.v.store.schema.Codes.Nibble, cut.context, format.NibbleEnd)
	}
	p.copied(g, t, cut)
}

// reserve returns how many bits of endBits a packet does not need if nothing follows its lists.
func (p *packetWriter) reserve() int {
	_, end := p.v.store.schema.Codes.Gap.Bits(p.gapContext, format.GapEnd)
	return endBits - pageEndBits - 1 - int(end)
}

// fitsCut reports whether the written bits fit, with the symbol that ends a page of large records. Nothing follows that page in the
// packet.
func (p *packetWriter) fitsCut() bool {
	return p.w.Bits()+p.v.store.schema.Codes.PageEnd <= p.limit+p.reserve()
}

// fitsGroups reports whether sentPacket can note the groups of a text. It is false only for the first page of a packet that waits for
// more than 960 despawns: any later page begins with room for 64 groups.
func (p *packetWriter) fitsGroups(t *cachedPage) bool {
	return p.sent.n+t.groups <= maxRecords-p.waiting
}

// partAll writes all records of a text without nibbles, as the page's code is pageAll.
func (p *packetWriter) partAll(t *cachedPage) {
	spans, words := p.cache.pages.spansOf(t), p.cache.pages.code.All()[t.at:]
	p.w.Write(pageAll, pageAllBits)
	for from, i := 0, 0; i < len(spans); i++ {
		if spans[i].symbol != 0 { // the last record of a nibble
			p.w.WordsFrom(words, int(spans[from].from), int(spans[i].to-spans[from].from))
			from = i + 1
		}
	}
}

// writePart writes the records from number from to number to of a text. It returns them as a cut, and whether R has entities behind the
// last nibble.
func (p *packetWriter) writePart(t *cachedPage, from, to int) (cut pageCut, more bool) {
	c, four := &p.cache.pages, p.v.store.schema.Codes.Nibble
	spans, words := c.spansOf(t), c.code.All()[t.at:]
	p.w.Write(pageSome, pageSomeBits)
	cut = pageCut{of: c.behind(t, from) &^ c.behind(t, to), context: format.AfterAll, deltas: int(spans[to-1].deltas), same: int(spans[to-1].same)}
	if from > 0 {
		cut.deltas, cut.same = cut.deltas-int(spans[from-1].deltas), cut.same-int(spans[from-1].same)
	}
	left, at := t.list, from
	for rest := cut.of; rest != 0; {
		symbol, of, behind := nibble(left, rest)
		left = behind
		if p.symbol(four, cut.context, symbol); symbol == 0 {
			cut.context = format.AfterNone
			continue
		}
		n := bits.OnesCount64(of)
		rest &^= of
		cut.context = format.AfterNibble(symbol)
		p.w.WordsFrom(words, int(spans[at].from), int(spans[at+n-1].to-spans[at].from))
		if at += n; int(spans[at-1].symbol) != symbol {
			continue
		}
		end := to // from here to the last whole nibble, the text has the bits as they are to be written
		for end > at && spans[end-1].symbol == 0 {
			end--
		}
		if end > at {
			last := &spans[end-1]
			p.w.WordsFrom(words, int(spans[at-1].to), int(last.to-spans[at-1].to))
			cut.context, left, at = format.AfterNibble(int(last.symbol)), last.left, end
			rest &= left
		}
	}
	return cut, left != 0
}
