package snapshot

import "math/bits"

// Exact floats make large records: a page of them takes more than a packet. Such a page is cut behind any of its records, so
// that packets are full, and full packets are padded to one size (docs/adr/0033). What is left of the page is copied from the
// same text into the next packet.

const (
	// largeRows is from how many bits on rows are large. Quantised bodies have about 128, exact ones 320.
	largeRows = 192
	// mostPadding is how many bytes a full packet of large records is padded by at most.
	mostPadding = 64
)

// pageSpan is where the body of a record is in a text, in bits from its start.
type pageSpan struct {
	from, to     uint32
	deltas, same uint8  // rows
	symbol       uint8  // of its four, where the record is the last of that; else 0
	left         uint64 // then: the entities of the list behind the four
}

// cutText is the text whose first records a packet has, the rest of which the next packet of the same client begins with.
type cutText struct {
	view *View
	text int32 // its number, plus one; 0: there is none
	n    int   // records that were copied
}

// large reports whether a page that begins with a record of an index is cut behind any record.
func (p *packetWriter) large(index uint32) bool {
	return p.v.store.schema.bits(p.v.maskOf(index)) >= largeRows
}

// rest returns the text of which a key is the rest, and how many of its records the packets before have; nil if there is none.
func (c *pageTexts) rest(v *View, k *pageKey) (t *pageText, from int) {
	if c.cut.text == 0 || c.cut.view != v {
		return nil, 0
	}
	t, from = &c.texts[c.cut.text-1], c.cut.n
	of := pageKey{page: t.page, lean: t.lean, ref: t.ref, near: t.near, list: t.list, of: dropped(t.of, from)}
	if of.nearOf = t.nearOf & of.of; of.nearOf == 0 {
		of.near = k.near
	}
	if of != *k {
		return nil, 0
	}
	return t, from
}

// dropped returns some entities but for the first n.
func dropped(of uint64, n int) uint64 {
	for ; n > 0; n-- {
		of &= of - 1
	}
	return of
}

// copyRest writes what is left of a text behind some records. It reports whether there was room for it.
func (p *packetWriter) copyRest(g *ackPage, t *pageText, from int) bool {
	mark := p.w
	cut, more := p.part(t, from, bits.OnesCount64(t.of))
	if more && !p.fitsEnd() || !p.fitsPage() || !p.fitsGroups(t) {
		p.w = mark
		return false
	}
	if more {
		p.symbol(p.v.store.schema.codes.four, cut.context, fourNone)
	}
	p.copied(g, t, &cut)
	return true
}

// copySome writes as many records of a text as there is room for, from one on but not up to the last. It reports whether there
// was room for any.
func (p *packetWriter) copySome(g *ackPage, t *pageText, from int) bool {
	c, mark := &p.desk.texts, p.w
	n := bits.OnesCount64(t.of)
	spans := c.spans[t.spans:][:n]
	most := p.limit - p.w.Bits() - pageSomeBits // of the records: symbols take more, and that of the last four may be longer in the text
	to := n - 1
	for to > from && int(spans[to-1].to-spans[from].from) > most {
		to--
	}
	for ; to > from && p.fitsGroups(t); to-- {
		if cut, more := p.part(t, from, to); p.fitsEnd() {
			if more {
				p.symbol(p.v.store.schema.codes.four, cut.context, fourNone)
			}
			p.copied(g, t, &cut)
			c.cut = cutText{p.v, t.number, to}
			return true
		}
		p.w = mark
	}
	return false
}

// fitsGroups reports whether the packet can note the groups of a text.
func (p *packetWriter) fitsGroups(t *pageText) bool {
	return p.sent.n+t.groups <= maxRecords-p.waiting
}

// part writes the records of a text from one on up to another. It returns which these are, and whether the list of the page has
// entities behind the last four.
func (p *packetWriter) part(t *pageText, from, to int) (cut pageCut, more bool) {
	c, four := &p.desk.texts, p.v.store.schema.codes.four
	spans, words := c.spans[t.spans:][:bits.OnesCount64(t.of)], c.code.All()[t.at:]
	p.w.Write(pageSome, pageSomeBits)
	cut.context = afterAll
	cut.of = dropped(t.of, from)
	cut.of &^= dropped(cut.of, to-from)
	for i := range spans[from:to] {
		cut.deltas, cut.same = cut.deltas+int(spans[from+i].deltas), cut.same+int(spans[from+i].same)
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
