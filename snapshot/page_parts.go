package snapshot

import "math/bits"

// Exact floats make large records: a page of them takes more than a packet. Such a page is cut behind any of its records, so
// that packets are full, and full packets are padded to one size (docs/adr/0033). What is left of the page is copied from the
// same text into the next packet.

const (
	// largeRow is how many bits of exact floats make a record large: six floats.
	largeRow = 192
	// mostPadding is how many bytes a full packet of large records is padded by at most.
	mostPadding = 64
	// leastPadded is from how many payloads in a tick on full ones are padded: of few, a kernel has little to cut.
	leastPadded = 6
	// leastSharing is from how many views on R of large records is an even tick: each gives bytes, and all of them gain time.
	leastSharing = 4
)

// pageSpan is where the body of a record is in a text, in bits from its start.
type pageSpan struct {
	from, to     uint32
	deltas, same uint16 // rows of the text up to this record
	at           uint8  // the entity
	symbol       uint8  // of its four, where the record is the last of that; else 0
	left         uint64 // then: the entities of the list behind the four
}

// cutText is the text whose first records the packet before has, the rest of which the next one begins with, most likely.
type cutText struct {
	text int32 // its number, plus one; 0: there is none
	n    int   // records that were copied
}

// large reports whether a page that begins with a record of an index is cut behind any record.
func (p *packetWriter) large(index uint32) bool {
	return p.v.store.large(p.v.maskOf(index))
}

// large reports whether records of some rows are large. What a trainer sees is cut as if none were, as for the tables that ship.
func (s *Store) large(rows Mask) bool { return s.watch == nil && s.schema.large(rows) }

// spansOf returns the spans of a text.
func (c *pageTexts) spansOf(t *pageText) []pageSpan {
	return c.spans[t.spans:][:bits.OnesCount64(t.of)]
}

// behind returns the entities of a text behind the first n.
func (c *pageTexts) behind(t *pageText, n int) uint64 {
	if n == 0 {
		return t.of
	}
	return t.of &^ (2<<c.spans[t.spans+n-1].at - 1)
}

// rest returns the text of which a key is the rest, and how many of its records the packets before have; nil if there is none.
func (c *pageTexts) rest(k *pageKey) (t *pageText, from int) {
	if c.cut.text == 0 {
		return nil, 0
	}
	t, from = &c.texts[c.cut.text-1], c.cut.n
	of := pageKey{page: t.page, lean: t.lean, ref: t.ref, near: t.near, list: t.list, of: c.behind(t, from)}
	if of.nearOf = t.nearOf & of.of; of.nearOf == 0 {
		of.near = k.near
	}
	if of != *k {
		return nil, 0
	}
	return t, from
}

// copyText writes the text of a key, up to a cut if there is no room for all of it. It reports whether it wrote all, or some. If
// it wrote none, all says that there is no such text.
func (p *packetWriter) copyText(g *ackPage, k *pageKey) (all, some bool) {
	t := p.text(k)
	if t == nil {
		return true, false
	}
	if p.fitsText(t, t.size, t.tail) {
		p.w.Words(p.desk.texts.code.All()[t.at:], t.size)
		p.copied(g, t, &pageCut{of: k.of, deltas: t.deltas, same: t.same})
		return true, true
	}
	if k.all {
		k.all = false
		if t = p.text(k); p.fitsText(t, t.size, t.tail) { // never: it is longer
			panic("snapshot: a page with more symbols is shorter")
		}
	}
	if p.copyCut(g, t) {
		return false, true
	}
	return false, false
}

// copyCut writes a text up to the last of its cuts that fits. It reports whether one did.
func (p *packetWriter) copyCut(g *ackPage, t *pageText) bool {
	c := &p.desk.texts
	for i := t.cut + t.cuts - 1; i >= t.cut; i-- {
		if cut := &c.cuts[i]; p.fitsText(t, cut.bits+1, 1) {
			p.w.Words(c.code.All()[t.at:], cut.bits)
			p.copied(g, t, cut)
			p.symbol(p.v.store.schema.codes.four, cut.context, fourNone)
			return true
		}
	}
	return false
}

// copyLarge is copyText for large records. Its texts have symbols, also where a page that fits needs none.
func (p *packetWriter) copyLarge(g *ackPage, k *pageKey) (all, some bool) {
	c, whole := &p.desk.texts, k.all
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
		cut, more := p.part(t, from, n)
		if more && p.fitsCut() || !more && p.fitsPage() {
			p.endPart(g, t, &cut, more)
			return true, true
		}
		p.w = mark
	}
	p.filled = true
	return false, p.copySome(g, t, from)
}

// copySome writes as many records of a text as there is room for, from one on but not up to the last. It reports whether there
// was room for any.
func (p *packetWriter) copySome(g *ackPage, t *pageText, from int) bool {
	c, mark := &p.desk.texts, p.w
	spans := c.spansOf(t)
	most := p.limit + p.reserve() - p.w.Bits() // of the records: symbols take more, and that of the last four may be longer in the text
	to := len(spans) - 1
	for to > from && int(spans[to-1].to-spans[from].from) > most {
		to--
	}
	for ; to > from && p.fitsGroups(t); to-- {
		if cut, more := p.part(t, from, to); p.fitsCut() {
			p.endPart(g, t, &cut, more)
			c.cut = cutText{t.number, to}
			return true
		}
		p.w = mark
	}
	return false
}

// endPart ends a page of which a part of a text was written, and notes its records.
func (p *packetWriter) endPart(g *ackPage, t *pageText, cut *pageCut, more bool) {
	if more {
		p.symbol(p.v.store.schema.codes.four, cut.context, fourNone)
	}
	p.copied(g, t, cut)
}

// reserve returns the part of endBits that a packet does not use if nothing follows its lists.
func (p *packetWriter) reserve() int {
	_, end := p.v.store.schema.codes.gap.Bits(p.gapContext, gapEnd)
	return endBits - pageEndBits - 1 - int(end)
}

// fitsCut is fitsEnd for a page of large records, behind which the packet has nothing.
func (p *packetWriter) fitsCut() bool {
	return !p.w.Overflowed() && p.w.Bits()+p.v.store.schema.codes.end <= p.limit+p.reserve()
}

// fitsGroups reports whether the packet can note the groups of a text.
func (p *packetWriter) fitsGroups(t *pageText) bool {
	return p.sent.n+t.groups <= maxRecords-p.waiting
}

// partAll writes all records of a text as those of a page of which there are all.
func (p *packetWriter) partAll(t *pageText) {
	spans, words := p.desk.texts.spansOf(t), p.desk.texts.code.All()[t.at:]
	p.w.Write(pageAll, pageAllBits)
	for from, i := 0, 0; i < len(spans); i++ {
		if spans[i].symbol != 0 { // the last of a four
			p.w.WordsFrom(words, int(spans[from].from), int(spans[i].to-spans[from].from))
			from = i + 1
		}
	}
}

// part writes the records of a text from one on up to another. It returns which these are, and whether the list of the page has
// entities behind the last four.
func (p *packetWriter) part(t *pageText, from, to int) (cut pageCut, more bool) {
	c, four := &p.desk.texts, p.v.store.schema.codes.four
	spans, words := c.spansOf(t), c.code.All()[t.at:]
	p.w.Write(pageSome, pageSomeBits)
	cut = pageCut{of: c.behind(t, from) &^ c.behind(t, to), context: afterAll, deltas: int(spans[to-1].deltas), same: int(spans[to-1].same)}
	if from > 0 {
		cut.deltas, cut.same = cut.deltas-int(spans[from-1].deltas), cut.same-int(spans[from-1].same)
	}
	left, at := t.list, from
	for rest := cut.of; rest != 0; {
		symbol, in, n := 0, left, 0
		for i := 0; i < fourSize && left != 0; i, left = i+1, left&(left-1) {
			if rest&left&-left != 0 {
				symbol, n = symbol|1<<i, n+1
			}
		}
		if p.symbol(four, cut.context, symbol); symbol == 0 {
			cut.context = afterNone
			continue
		}
		rest &^= in &^ left
		cut.context = afterFour(symbol)
		p.w.WordsFrom(words, int(spans[at].from), int(spans[at+n-1].to-spans[at].from))
		if at += n; int(spans[at-1].symbol) != symbol {
			continue
		}
		end := to // the fours from here on up to the last whole one are in the text as they are to be written
		for end > at && spans[end-1].symbol == 0 {
			end--
		}
		if end > at {
			last := &spans[end-1]
			p.w.WordsFrom(words, int(spans[at-1].to), int(last.to-spans[at-1].to))
			cut.context, left, at = afterFour(int(last.symbol)), last.left, end
			rest &= left
		}
	}
	return cut, left != 0
}
