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
// a tick. The encoded bits are called the text of the page, and are copied into the packets of all clients with the same pageKey. The
// plain code that it equals is packetWriter.preparePage.

// pageKey is everything that the text of a page depends on.
type pageKey struct {
	page     uint32
	span     uint16    // R - T' if there is no N; 0: no T'
	ref      tick.Tick // R
	near     tick.Tick // N; tick.None if no record is coded against it
	list, of uint64    // entities with a record of R; those of them with a record in this text
	nearOf   uint64    // entities of the text with a record of N
	hidden   Mask      // rows that no record of the text has
}

// pageText is the text of a page as a packet has it: its code, nibbles and records.
type pageText struct {
	pageKey
	number       int  // its place in pageCache.texts
	at, size     int  // first word in pageCache.code, and length in bits
	spare        int  // as of packetWriter.writeSome
	rows, groups int  // its pageGroups: the first one, and their number
	spans        int  // its pageSpans, one for each record: the first one
	used         bool // a packet has it
	none         bool // it cannot be shared: rows are sent whole, or a baseline is no longer in the history
}

// pageGroup is the entities of a text with the same rows.
type pageGroup struct {
	rows Mask
	of   uint64
}

// pageSpan is the place of a record's delta in a text, in bits from the start of the text. Records of one nibble are neighbours.
type pageSpan struct {
	from, to     uint32
	deltas, same uint16 // rows that differ from R and rows that do not, of the records up to and with this one
}

// pageCache stores the texts of one tick.
type pageCache struct {
	tick   tick.Tick
	table  []int32 // hash table: 1 + place in texts; 0: empty
	texts  []pageText
	groups []pageGroup
	spans  []pageSpan
	cut    pageCut
	code   delta.BitBuffer
	copied uint64                      // texts that were used again, since the start
	deltas [format.PageEntities]uint32 // by entity: number of its delta, for the text that is composed
}

// pageCut is the text that the last packet ended in. The next packet most likely begins with the rest.
type pageCut struct {
	key  pageKey // that of the rest
	text int     // pageText.number
	n    int     // records that packets have; 0: there is no such text
}

// reset forgets the texts of earlier ticks.
func (c *pageCache) reset(now tick.Tick) {
	c.tick = now
	if len(c.table) == 0 {
		c.table = make([]int32, 1<<10)
	}
	clear(c.table)
	c.texts, c.groups, c.spans, c.cut = c.texts[:0], c.groups[:0], c.spans[:0], pageCut{}
	c.code.Reset()
}

// hash mixes the fields in which texts of a page differ.
func (k *pageKey) hash() uint64 {
	h := uint64(k.page)<<40 ^ uint64(k.ref)<<20 ^ uint64(k.near)<<8 ^ uint64(k.span) ^ k.of*0x9E3779B97F4A7C15
	h = (h ^ k.hidden.Hash()) * 0xD6E8FEB86659FD93
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
	c.texts[n] = pageText{pageKey: *k, number: n, rows: len(c.groups), spans: len(c.spans)}
	return &c.texts[n]
}

// spansOf returns the spans of a text.
func (c *pageCache) spansOf(t *pageText) []pageSpan {
	return c.spans[t.spans:][:bits.OnesCount64(t.of)]
}

// words returns the bits of a text.
func (c *pageCache) words(t *pageText) []uint64 { return c.code.All()[t.at:] }

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

// usualIn returns those entities of a page that wait whose records are as usual: T is R, the entity has had the same rows since R and
// N, and no other rows are hidden than at first. Such records are equal for all clients that need them. It returns ok false if
// preparePage has to look at each entity.
func (p *packetWriter) usualIn(g *ackPage, w uint32, wait uint64) (of uint64, ok bool) {
	v := p.v
	if plain.On || p.cache.plain || v.store.watch != nil || v.plan.active || !v.overrides.alike(w, wait) {
		return 0, false
	}
	if g.sending != 0 && g.sentTo != p.s {
		v.flushSending(w)
	}
	if v.part > 0 {
		if b := v.recent.at(p.s, w); b != nil && b.of&wait != 0 {
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

// text returns the text with usual records of some entities of a page, and how many of its records earlier packets have. It returns nil
// if no text can be shared.
func (p *packetWriter) text(g *ackPage, w uint32, of uint64) (t *pageText, from int) {
	c := &p.cache.pages
	if c.tick != p.s {
		c.reset(p.s)
	}
	k := p.key(g, w, of)
	switch n := int(*c.slot(&k)); {
	case c.cut.n > 0 && c.cut.key == k:
		return &c.texts[c.cut.text], c.cut.n
	case n > 0:
		t = &c.texts[n-1]
	default:
		t = p.makeText(g, &k)
	}
	if t.none {
		return nil, 0
	}
	return t, from
}

// makeText encodes the text of a key.
func (p *packetWriter) makeText(g *ackPage, k *pageKey) *pageText {
	d := p.cache
	if bits.OnesCount64(k.of) < fewEntities {
		p.encodePagesAhead(k.page, k.of)
		p.setPage(g)
	}
	t := d.pages.addText(k)
	if d.floats.beginText(d, t) {
		d.composeText(t)
		t.none = d.floats.missing
	} else if t.none = !d.encodeText(t); !t.none {
		d.composeText(t)
	}
	return t
}

// encodeText makes the deltas of the records of a text, in the order of the entities. It returns false if they cannot be shared.
func (d *EncodeCache) encodeText(t *pageText) bool {
	own := d.store.previousOf(t.ref, t.span)
	for left := t.of; left != 0; {
		first := firstOf(t.page, left)
		mask, previous, of := t.maskOf(d.store, first), own, left
		if mask.Overlaps(d.store.schema.Whole) {
			return false
		}
		if near := t.nearOf & left; near>>(first%format.PageEntities)&1 != 0 {
			previous, of = t.near, near
		} else {
			of &^= t.nearOf
		}
		done := d.encodeSome(t, of, mask, previous)
		if done == 0 {
			return false
		}
		d.pages.group(t, mask, done)
		left &^= done
	}
	return true
}

// maskOf returns the rows of an entity in the records of a text.
func (t *pageText) maskOf(s *Store, index uint32) Mask { return s.rows.masks[index].Minus(t.hidden) }

// encodeSome makes the deltas of those entities of a text that have the rows of mask, and returns them. It returns 0 if a baseline is
// no longer in the history.
func (d *EncodeCache) encodeSome(t *pageText, of uint64, mask Mask, previous tick.Tick) (done uint64) {
	s, b, c, w, ref := d.store, &d.batch, &d.pages, t.page, t.ref
	together := together(s.schema, mask.Minus(s.schema.Tags))
	b.n, b.mask, b.t, b.previous = 0, mask, ref, previous
	for ; of != 0; of &= of - 1 {
		index := firstOf(w, of)
		if t.maskOf(s, index) != mask {
			continue
		}
		done |= of & -of
		at := index % format.PageEntities
		c.deltas[at] = d.deltas.find(index, mask, ref, previous)
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

// composeText writes the code of a text, its nibbles and its records.
func (d *EncodeCache) composeText(t *pageText) {
	c, four := &d.pages, d.store.schema.Codes.Nibble
	w := &c.code
	w.Finish()
	w.Reserve(format.PageEntities)
	t.at = w.Bits() / 64
	start := w.Bits()
	if t.of == t.list {
		w.Write(pageAll, pageAllBits)
		d.composeBodies(t, t.of)
	} else {
		w.Write(pageSome, pageSomeBits)
		left, context := t.list, format.AfterAll
		for rest := t.of; rest != 0; {
			symbol, in, behind := nibble(left, rest)
			w.Symbol(four, context, symbol)
			d.composeBodies(t, in)
			left, rest, context = behind, rest&^in, format.AfterNibble(symbol)
		}
		if left != 0 {
			w.Symbol(four, context, format.NibbleEnd)
			_, end := four.Bits(context, format.NibbleEnd)
			t.spare = delta.MaxCodeLength - int(end)
		}
	}
	t.size = w.Bits() - start
	w.Finish()
}

// composeBodies writes the deltas of some entities of a text.
func (d *EncodeCache) composeBodies(t *pageText, of uint64) {
	c := &d.pages
	for ; of != 0; of &= of - 1 {
		at, from, last := bits.TrailingZeros64(of), c.code.Bits(), pageSpan{}
		if n := len(c.spans); n > t.spans {
			last = c.spans[n-1]
		}
		if d.floats.on {
			rows := d.floats.append(d, t, at)
			last.deltas, last.same = last.deltas+uint16(rows), last.same+uint16(len(d.floats.columns)-rows)
		} else {
			e := &d.deltas.entries[c.deltas[at]]
			last.deltas, last.same = last.deltas+uint16(e.deltas), last.same+uint16(e.same)
			if e.bits <= 64 {
				c.code.Write(e.word, uint(e.bits))
			} else {
				c.code.Append(d.deltas.words(e), int(e.bits))
			}
		}
		last.from, last.to = uint32(from-64*t.at), uint32(c.code.Bits()-64*t.at)
		c.spans = append(room(c.spans, 1, 1024), last)
	}
}

// textSent notes that the first n records of a page are in the packet, those of some entities. They are of a text. It equals
// recordSent for each of them.
func (p *packetWriter) textSent(r *pageRecords, of uint64, n int) {
	v, c, t := p.v, &p.cache.pages, r.text
	if t.used {
		c.copied++
	}
	t.used = true
	for _, e := range c.groups[t.rows:][:t.groups] {
		if in := e.of & of; in != 0 {
			p.groupSent(sentGroup{of: in, rows: e.rows, word: t.page, span: spanOf(p.s - t.ref)}, bits.OnesCount64(in))
		}
	}
	v.unsent[t.page] &^= of
	v.unacked[t.page] |= of
	if v.anyOversize {
		v.oversize[t.page] &^= of
	}
	v.sentPage(t.page, of, p.s)
	spans := c.spansOf(t)
	sum := spans[r.from+n-1]
	if r.from > 0 {
		sum.deltas, sum.same = sum.deltas-spans[r.from-1].deltas, sum.same-spans[r.from-1].same
	}
	p.cache.deltas.used += uint64(n)
	v.stats.Updates += uint64(n)
	v.stats.Deltas += uint64(sum.deltas)
	v.stats.Unchanged += uint64(sum.same)
	c.cut = pageCut{}
	if rest := r.of &^ of; rest != 0 {
		c.cut = pageCut{key: t.pageKey, text: t.number, n: r.from + n}
		k := &c.cut.key
		if k.of, k.nearOf = rest, k.nearOf&rest; k.nearOf == 0 {
			k.near = tick.None
		}
	}
}
