package snapshot

import (
	"cmp"
	"math/bits"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/tick"
)

// The records of a page depend on R, N and on which entities they are of, and on nothing else that is a client's own. So they
// are encoded once a tick and copied for every other client that needs the same.

// pageKey is all that the text of a page depends on.
type pageKey struct {
	page     uint32
	all      bool      // a record of each entity of R
	lean     uint16    // R - T' where no N is named; 0: none
	ref      tick.Tick // R
	near     tick.Tick // N, tick.None where no record is coded against it
	list, of uint64    // entities with a record of R; those of them that are written
	nearOf   uint64    // those of them that have a record of N
}

// pageText is the bits of a page: its code, the symbols and the records.
type pageText struct {
	pageKey
	at, size     int   // first word, and bits
	rows, groups int   // first of its groups, and how many: which entities have which rows
	number, next int32 // of this text, and of the one of the page that was made before, each plus one
	deltas, same int   // rows
	bits         int   // of the records alone
	spans        int   // first of its spans, of which there is one for each record
	used         bool  // a packet has it
	none         bool  // it cannot be shared: a client's own rows are in it, or a baseline is not held any more
	tail         int   // bits of the symbol that ends the page, 0: there is none
	cut, cuts    int   // first of its cuts, and how many
}

// pageCut is how far a text has come behind one of its fours, where it may be cut.
type pageCut struct {
	bits         int
	of           uint64
	context      int // of the symbol that follows
	deltas, same int
}

// pageGroup is which entities of a page have which rows.
type pageGroup struct {
	rows Mask
	of   uint64
}

// pageTexts is those of one tick.
type pageTexts struct {
	tick   tick.Tick
	table  []int32 // by hash: number of a text, plus one
	texts  []pageText
	groups []pageGroup
	cuts   []pageCut
	spans  []pageSpan
	cut    cutText
	first  []int32 // by page: the text of it that was made last, plus one, if that is of this page
	code   delta.Words
	copied uint64 // since the beginning
	bodies [pageEntities]*bodyEntry
	from   [pageEntities]*bodies
}

// begin forgets the texts of earlier ticks.
func (c *pageTexts) begin(s *Store) {
	c.tick = s.tick
	if len(c.table) == 0 {
		c.table = make([]int32, 1<<10)
	}
	clear(c.table)
	c.texts, c.groups, c.cuts, c.spans, c.cut = c.texts[:0], c.groups[:0], c.cuts[:0], c.spans[:0], cutText{}
	c.first = grown(c.first, len(s.changed), cap(s.changed))
	c.code.Reset()
}

// slot is where a key is in the table, or would be.
func (c *pageTexts) slot(k *pageKey) *int32 {
	h := uint64(k.page)<<40 ^ uint64(k.ref)<<20 ^ uint64(k.near)<<8 ^ uint64(k.lean) ^ k.of*0x9E3779B97F4A7C15
	h *= 0xD6E8FEB86659FD93
	mask := uint64(len(c.table) - 1)
	for i := h >> 32 & mask; ; i = (i + 1) & mask {
		if n := c.table[i]; n == 0 || c.texts[n-1].pageKey == *k {
			return &c.table[i]
		}
	}
}

// add makes room for a text.
func (c *pageTexts) add(k *pageKey) *pageText {
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
	*t = pageText{pageKey: *k, number: int32(n + 1), rows: len(c.groups), cut: len(c.cuts)}
	if f := c.first[k.page]; f > 0 && int(f) <= n && c.texts[f-1].page == k.page {
		t.next = f
	}
	c.first[k.page] = int32(n + 1)
	return t
}

// encoded reports whether deltas of a page against the same baselines were made for another text.
func (c *pageTexts) encoded(t *pageText) bool {
	for n := t.next; n > 0; n = c.texts[n-1].next {
		if o := &c.texts[n-1]; o.ref == t.ref && (o.near == t.near || o.lean == t.lean) {
			return true
		}
	}
	return false
}

// alike returns those of the entities of a page that wait whose records are as usual, so that all clients that need them can
// have the same bits. It says false where pageApart has to ask about each.
func (p *packetWriter) alike(g *ackPage, w uint32, wait uint64) (of uint64, ok bool) {
	v := p.v
	if g.sending != 0 && g.sentTo != p.s {
		v.settlePage(w)
	}
	if b := v.recent.at(p.s, w); b != nil && b.of&wait != 0 || p.desk.apart {
		return 0, false
	}
	switch {
	case p.short || v.store.watch != nil || v.plan.active:
		return 0, false
	case int(w) < len(v.own.masked) && v.own.masked[w]&wait != 0:
		return 0, false
	}
	near := p.nearOf(g)
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

// key is what the text of some entities of a page depends on.
func (p *packetWriter) key(g *ackPage, w uint32, of uint64) pageKey {
	k := pageKey{page: w, all: of == g.refOf, ref: g.ref, list: g.refOf, of: of}
	switch near := p.nearOf(g); {
	case near == tick.None:
		if p.v.store.own(g.base, g.lean) != tick.None {
			k.lean = g.lean
		}
	case g.nearOf&of != 0:
		k.near, k.nearOf = near, g.nearOf&of
	}
	return k
}

// pageAtOnce is page for entities that are alike: it writes what pageApart writes.
func (p *packetWriter) pageAtOnce(g *ackPage, w uint32, wait uint64) (room bool) {
	if c := &p.desk.texts; c.tick != p.s {
		c.begin(p.v.store)
	}
	mark, before := p.w, p.lists
	p.begin(g, w)
	k := p.key(g, w, wait)
	var all, some bool
	if p.large(firstOf(w, wait)) {
		all, some = p.copyLarge(g, &k)
	} else {
		all, some = p.copyText(g, &k)
	}
	if some {
		return all
	}
	if p.w, p.lists = mark, before; p.sent.n > 0 && !all {
		return false // the next packet has room
	}
	return p.pageApart(g, w, wait)
}

// fitsText reports whether so many bits of a text fit, of which the last are a symbol that ends the page: that may need the
// room of the longest.
func (p *packetWriter) fitsText(t *pageText, size, tail int) bool {
	if tail > 0 {
		size += delta.MaxCodeLength - tail
	}
	return p.w.Bits()+size <= p.limit && p.sent.n+t.groups <= maxRecords-p.waiting
}

// copied notes which records of a text the packet has.
func (p *packetWriter) copied(g *ackPage, t *pageText, cut *pageCut) {
	v, c := p.v, &p.desk.texts
	if t.used {
		c.copied++
		p.desk.bodies.shared += uint64(bits.OnesCount64(cut.of))
	}
	t.used = true
	span := p.s - t.ref
	if span > maxSpan {
		span = 0
	}
	for i := range t.groups {
		e := &c.groups[t.rows+i]
		if of := e.of & cut.of; of != 0 {
			p.has(sentGroup{of: of, rows: e.rows, word: t.page, span: uint16(span)}, bits.OnesCount64(of))
		}
	}
	v.unsent[t.page] &^= cut.of
	v.unacked[t.page] |= cut.of
	if v.big {
		v.tooBig[t.page] &^= cut.of
	}
	v.sentPage(t.page, cut.of, p.s)
	v.stats.Updates += uint64(bits.OnesCount64(cut.of))
	v.stats.Deltas += uint64(cut.deltas)
	v.stats.Unchanged += uint64(cut.same)
}

// text returns the text of a page, made now if it was not yet; nil where it is none that can be shared.
func (p *packetWriter) text(k *pageKey) *pageText {
	c := &p.desk.texts
	if n := *c.slot(k); n > 0 {
		t := &c.texts[n-1]
		if t.none {
			return nil
		}
		return t
	}
	t := c.add(k)
	if t.none = !p.encode(t); t.none {
		return nil
	}
	p.composeText(t)
	return t
}

// encode makes the bodies of the records of a text, in the order of the entities. It says false where they cannot be shared.
func (p *packetWriter) encode(t *pageText) bool {
	c, d, s := &p.desk.texts, p.desk, p.v.store
	d.ready()
	known := d.first != nil && d.first.tick == s.tick || c.encoded(t)
	own := s.own(t.ref, t.lean)
	d.bodies.of(firstOf(t.page, t.of)).room(s, bits.OnesCount64(t.of)) // so that none of them moves
	for left := t.of; left != 0; {
		first := firstOf(t.page, left)
		mask, before := s.rows.masks[first], own
		if mask&s.schema.whole != 0 {
			return false
		}
		of := left
		if near := t.nearOf & left; near>>(first%pageEntities)&1 != 0 {
			before, of = t.near, near
		} else {
			of &^= t.nearOf
		}
		done := d.encodeSome(t.page, of, mask, t.ref, before, known)
		if done == 0 {
			return false
		}
		c.group(t, mask, done)
		left &^= done
	}
	return true
}

// encodeSome makes the bodies of those of some entities of a page that have such rows, and returns which these are; 0 where
// a baseline is not held any more.
func (d *Desk) encodeSome(w uint32, of uint64, mask Mask, ref, before tick.Tick, known bool) (done uint64) {
	s, b, c := d.store, &d.sheaf, &d.texts
	together := s.schema.together(mask &^ s.schema.tags)
	b.n, b.mask, b.t, b.before = 0, mask, ref, before
	for ; of != 0; of &= of - 1 {
		index := firstOf(w, of)
		if s.rows.masks[index] != mask {
			continue
		}
		done |= of & -of
		at := index % pageEntities
		c.bodies[at] = nil
		if known {
			c.bodies[at], c.from[at] = d.madeBody(index, mask, ref, before)
		}
		switch {
		case c.bodies[at] != nil:
			d.used(c.bodies[at], c.from[at])
		case together:
			b.index[b.n], b.at[b.n] = index, uint8(b.n)
			if b.n++; b.n == delta.MaxStrands && !d.encodeBatch() {
				return 0
			}
		default:
			c.bodies[at], c.from[at] = d.bodies.add(s, index, mask, ref, before), &d.bodies
		}
		if e := c.bodies[at]; e != nil && e.none {
			return 0
		}
	}
	if b.n > 0 && !d.encodeBatch() {
		return 0
	}
	return done
}

// encodeBatch makes the bodies of the entities that were gathered. It says false where a baseline is not held any more.
func (d *Desk) encodeBatch() bool {
	b, c := &d.sheaf, &d.texts
	clear(b.bodies[:b.n])
	b.taken = true
	d.bodies.addAll(d.store, b)
	b.taken = false
	for k, index := range b.index[:b.n] {
		e := b.bodies[k]
		if e == nil {
			return false
		}
		c.bodies[index%pageEntities], c.from[index%pageEntities] = e, &d.bodies
	}
	b.n = 0
	return true
}

// group adds entities with the same rows to a text.
func (c *pageTexts) group(t *pageText, rows Mask, of uint64) {
	for i := range t.groups {
		if g := &c.groups[t.rows+i]; g.rows == rows {
			g.of |= of
			return
		}
	}
	c.groups = append(room(c.groups, 1, 256), pageGroup{rows, of})
	t.groups++
}

// composeText puts the text together.
func (p *packetWriter) composeText(t *pageText) {
	c, four := &p.desk.texts, p.v.store.schema.codes.four
	w := &c.code
	w.Finish()
	w.Reserve(pageEntities)
	t.at = w.Bits() / 64
	t.spans, c.spans = len(c.spans), room(c.spans, bits.OnesCount64(t.of), 1024)
	start := w.Bits()
	if t.all {
		w.Write(pageAll, pageAllBits)
		for left := t.of; left != 0; left &= left - 1 {
			c.body(t, left)
		}
		t.size = w.Bits() - start
		w.Finish()
		return
	}
	w.Write(pageSome, pageSomeBits)
	context, passed, place := afterAll, 0, w.Bits()
	left, rest := t.list, t.of
	for left != 0 && rest != 0 {
		symbol, members := 0, uint64(0)
		for i := 0; i < fourSize && left != 0; i, left = i+1, left&(left-1) {
			if bit := left & -left; rest&bit != 0 {
				symbol, members = symbol|1<<i, members|bit
			}
		}
		if symbol == 0 {
			passed++
			continue
		}
		for ; passed > 0; passed-- {
			w.Symbol(four, context, 0)
			context = afterNone
		}
		w.Symbol(four, context, symbol)
		for m := members; m != 0; m &= m - 1 {
			c.body(t, m)
		}
		last := &c.spans[len(c.spans)-1]
		last.symbol, last.left = uint8(symbol), left
		context = afterFour(symbol)
		rest &^= members
		if at := w.Bits(); at-place >= cutBits {
			place, t.cuts = at, t.cuts+1
			c.cuts = append(room(c.cuts, 1, 1024), pageCut{bits: at - start, of: t.of &^ rest, context: context, deltas: t.deltas, same: t.same})
		}
	}
	if t.size = w.Bits() - start; left != 0 {
		w.Symbol(four, context, fourNone)
		t.tail = w.Bits() - start - t.size
		t.size += t.tail
	}
	w.Finish()
}

// body adds the body of the first of some entities.
func (c *pageTexts) body(t *pageText, of uint64) {
	at := bits.TrailingZeros64(of)
	e := c.bodies[at]
	from := uint32(c.code.Bits() - 64*t.at)
	t.deltas, t.same, t.bits = t.deltas+int(e.deltas), t.same+int(e.same), t.bits+int(e.bits)
	c.spans = append(c.spans, pageSpan{from: from, to: from + e.bits, deltas: uint16(t.deltas), same: uint16(t.same), at: uint8(at)})
	if e.bits <= 64 {
		c.code.Write(e.word, uint(e.bits))
	} else {
		c.code.Append(c.from[at].wordsOf(e), int(e.bits))
	}
}
