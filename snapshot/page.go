package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/wire"
)

// A page is written at once where its records are as usual (page_texts.go), else entity by entity, as here. Both come to the
// same bytes.

// member is an entity of a page that is written one by one.
type member struct {
	index uint32
	bit   uint64
	usual bool      // the record is nothing but its body, which is shared
	body  bodyEntry // then
	of    *bodies   // where its bits are
	full  record    // else
}

// grouped returns which of some entities of a page are sent with others, and so not in a list.
func (v *View) grouped(w uint32, of uint64) (in uint64) {
	if v.ties.n == 0 {
		of &= v.store.groups.in(w)
	}
	for ; of != 0; of &= of - 1 {
		if index := firstOf(w, of); v.groupOf(index) != nil || v.ties.has(index) {
			in |= of & -of
		}
	}
	return in
}

// pageApart is page for entities of which something has to be asked one by one. What is not as usual is left to the others.
func (p *packetWriter) pageApart(g *ackPage, w uint32, wait uint64) (room bool) {
	v := p.v
	p.makeAheadOfPages(w, wait)
	p.listPage = g
	list := v.listed[:0]
	for ; wait != 0; wait &= wait - 1 {
		index := firstOf(w, wait)
		if !p.candidate(index) {
			continue
		}
		if list = p.join(list, index); len(list) == maxRecords-p.waiting-p.sent.n {
			break
		}
	}
	v.listed = list[:0]
	if len(list) == 0 {
		p.pass(g, w)
		return true
	}
	n := p.members(g, w, list)
	for i := range list[:n] {
		if m := &list[i]; m.usual {
			p.wroteUsual(m.index, &m.body)
		} else {
			p.wrote(&m.full)
		}
	}
	p.gone()
	if n == len(list) {
		return true
	}
	return n == 0 && p.tooLarge(list[0].index) || p.passes(list[n].index)
}

// join adds an entity of a page to those that are to be written, if its record is as usual.
func (p *packetWriter) join(list []member, index uint32) []member {
	n := len(list)
	if n == cap(list) {
		list = append(list, member{})
	}
	list = list[:n+1]
	m := &list[n]
	m.index, m.bit, m.usual = index, 1<<(index%pageEntities), false
	if body := p.usual(index); body != nil {
		m.body, m.of, m.usual = *body, p.bodies, true
		return list
	}
	if p.prepare(index, &m.full); m.full.odd {
		return list[:n]
	}
	return list
}

// cutBits is how many bits lie between two places of a page where a packet may end: then few different rests exist, and
// clients with other packets still share them. A place lies behind a four.
const cutBits = 768

// listCut is how far a page has come behind some of its fours.
type listCut struct {
	w       wire.BitWriter
	at      int // members that were written
	context int
	last    bool // the list has nobody behind it
}

// members writes records of entities of a page and returns of how many there was room: of all, or of those before a cut.
func (p *packetWriter) members(g *ackPage, w uint32, list []member) (n int) {
	mark, before := p.w, p.lists
	if p.begin(g, w); len(list) == bits.OnesCount64(g.refOf) {
		all := p.w
		p.w.Write(pageAll, pageAllBits)
		for i := range list {
			p.member(&list[i])
		}
		if p.fitsPage() {
			return len(list)
		}
		p.w = all
	}
	p.w.Write(pageSome, pageSomeBits)
	all, cut := p.some(g, list)
	switch {
	case all:
		return len(list)
	case cut.at == 0:
		p.w, p.lists = mark, before
		return 0
	}
	if p.w = cut.w; !cut.last {
		p.symbol(p.v.store.schema.codes.four, cut.context, fourNone)
	}
	return cut.at
}

// some writes records of some entities of a page. If there is no room for all of them it returns how far it came.
func (p *packetWriter) some(g *ackPage, list []member) (all bool, cut listCut) {
	coarse, fine := listCut{w: p.w, context: afterAll}, listCut{w: p.w, context: afterAll}
	c, passed, place := listCut{context: afterAll}, 0, p.w.Bits()
	fineLeft, large := g.refOf, p.large(list[0].index)
	for left := g.refOf; left != 0 && c.at < len(list); {
		symbol, end := 0, c.at
		for i := 0; i < fourSize && left != 0; i, left = i+1, left&(left-1) {
			if end < len(list) && list[end].bit == left&-left {
				symbol, end = symbol|1<<i, end+1
			}
		}
		if symbol == 0 {
			passed++
			continue
		}
		p.four(&c, passed, symbol, list[c.at:end])
		if passed = 0; left == 0 && p.fitsPage() {
			return true, c
		}
		if c.w = p.w; left != 0 && (large && p.fitsCut() || !large && p.fitsEnd()) {
			fine, fineLeft = c, left
		}
		if at := p.w.Bits(); at-place >= cutBits {
			if place = at; fine.at == c.at {
				coarse = fine
			}
		}
	}
	if c.at == len(list) && c.at == fine.at { // behind it the page has others
		p.symbol(p.v.store.schema.codes.four, c.context, fourNone)
		return true, c
	}
	switch {
	case large:
		p.filled = true
		return false, p.finest(fine, fineLeft, list)
	case p.sent.n == 0 || p.short || p.v.plan.active:
		return false, fine
	}
	return false, coarse
}

// finest adds to a cut behind a four as many records of the next four as there is room for, but not the last of all. Left is the list behind the cut.
func (p *packetWriter) finest(cut listCut, left uint64, list []member) listCut {
	var symbols [fourSize]int // which records the four has up to each
	n, passed := 0, 0
	for end := cut.at; n == 0 && left != 0; {
		for i := 0; i < fourSize && left != 0; i, left = i+1, left&(left-1) {
			if end < len(list) && list[end].bit == left&-left {
				symbols[n] = 1 << i
				if n > 0 {
					symbols[n] |= symbols[n-1]
				}
				n, end = n+1, end+1
			}
		}
		if n == 0 {
			passed++
		}
	}
	if cut.at+n == len(list) { // there is no room for all, with what may follow them
		n--
	}
	for ; n > 0; n-- {
		c := cut
		p.w = cut.w
		p.four(&c, passed, symbols[n-1], list[c.at:c.at+n])
		if c.w, c.last = p.w, left == 0; p.fitsCut() {
			return c
		}
	}
	return cut
}

// four writes a four of a page, behind some without any record.
func (p *packetWriter) four(c *listCut, passed, symbol int, of []member) {
	t := p.v.store.schema.codes.four
	for range passed {
		p.symbol(t, c.context, 0)
		c.context = afterNone
	}
	p.symbol(t, c.context, symbol)
	for i := range of {
		p.member(&of[i])
	}
	c.at, c.context = c.at+len(of), afterFour(symbol)
}

// fitsEnd reports whether what was written fits, with the symbol that ends a page.
func (p *packetWriter) fitsEnd() bool {
	return !p.w.Overflowed() && p.w.Bits()+delta.MaxCodeLength <= p.limit
}

// member writes the record of an entity of a page.
func (p *packetWriter) member(m *member) {
	if m.usual {
		p.writeBody(&m.body, m.of)
	} else {
		p.entity(&m.full)
	}
}

// fitsPage reports whether what was written fits, with the end of the list.
func (p *packetWriter) fitsPage() bool {
	return !p.w.Overflowed() && p.w.Bits() <= p.limit
}
