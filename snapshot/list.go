package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Which entities a packet has records of costs as much as what the records tell. Most entities that move now moved a moment
// ago too. So a packet names earlier ticks whose records the client holds, page by page, and tells which of the entities of
// such a tick it has records of. The others follow by index.
//
// A list is pages that follow each other and have the same R and N (ackPage).

// The code of a page of a list: which of the entities of R it has records of.
const (
	pageAll  = 0b1   // of each; 1 bit
	pageSome = 0b10  // of some: a symbol of Codes.Nibble for each four of them; 2 bits
	pageNone = 0b100 // of none; 3 bits
	pageEnd  = 0b000 // the list ends before this page; 3 bits

	pageAllBits  = 1
	pageSomeBits = 2
	pageNoneBits = 3
	pageEndBits  = 3
)

// lists is the state of the lists of a packet.
type lists struct {
	open      bool // a list has begun
	ref, near tick.Tick
	next      uint32 // the page behind the last one that was written
	none      int    // pages of the list since, without a code so far
}

// chooseRefs finds out whether the packet has lists, and up to which tick they refer to. The R and N of each page were chosen when
// acknowledgements came (View.ackedAt). It steps to the first page with somebody to list.
func (p *packetWriter) chooseRefs() {
	v := p.v
	if !v.updatesPending() || v.short && !v.plan.active { // who is listed was sent lately: those that wait longer come first
		return
	}
	if v.refTick != p.s {
		v.refTick, v.newestRef, v.listed = p.s, tick.None, 0
		for w := range v.pages {
			if g := &v.pages[w]; v.unsent[w]&g.refOf != 0 && g.ref < p.s {
				v.newestRef = max(v.newestRef, g.ref)
				v.listed += bits.OnesCount64(v.unsent[w] & g.refOf)
			}
		}
	}
	if v.newestRef == tick.None || p.s-v.newestRef >= v.store.cfg.Window {
		return
	}
	for ; v.nextPage < len(v.pages); v.nextPage++ {
		if p.waitsIn(uint32(v.nextPage)) != 0 {
			p.refers, p.upTo, p.gapContext = true, v.newestRef, 1
			return
		}
	}
}

// waitsIn returns which entities of a page have to be sent and have a record of its R.
func (p *packetWriter) waitsIn(w uint32) uint64 {
	v := p.v
	g := &v.pages[w]
	wait := v.unsent[w] & g.refOf &^ v.despawnOwed[w] & v.plan.allows(int(w))
	if wait == 0 || g.ref > v.newestRef || p.s-g.ref >= v.store.cfg.Window {
		return 0
	}
	return wait
}

// writeListsHead writes whether the packet has lists.
func (p *packetWriter) writeListsHead() {
	p.w.Bool(p.refers)
	if p.refers {
		p.w.Var(uint64(p.s-p.upTo) - 1)
	}
}

// writeListed writes records of entities of earlier ticks, page by page, from where the packet before ended. It reports whether
// there is room for more.
func (p *packetWriter) writeListed() (room bool) {
	v := p.v
	p.inList, room = true, true
	for v.nextPage < len(v.pages) {
		w := uint32(v.nextPage)
		g := &v.pages[w]
		if wait := p.waitsIn(w); wait != 0 {
			if room = p.writePage(g, w, wait); !room {
				break
			}
		} else {
			p.passPage(g, w)
		}
		v.nextPage++
	}
	p.endList()
	p.w.Bool(false)
	p.inList = false
	return room
}

// passPage steps over a page without a record in the packet.
func (p *packetWriter) passPage(g *ackPage, w uint32) {
	l := &p.lists
	switch {
	case !l.open:
	case g.ref == l.ref:
		l.none++
	case !p.v.recent.has(l.ref) || p.v.recent.at(l.ref, w) != nil:
		p.endList() // nobody knows what the client holds of it
	}
}

// endList ends the list that is open.
func (p *packetWriter) endList() {
	if p.lists.open {
		p.w.Write(pageEnd, pageEndBits)
		p.lists.open, p.lists.none = false, 0
	}
}

// setPage makes a page the one that is written.
func (p *packetWriter) setPage(g *ackPage) {
	if p.page, p.near = g, g.near; p.s-g.near >= p.v.store.cfg.Window {
		p.near = tick.None
	}
}

// beginPage writes what stands before the code of a page: the head of a list, or the codes of pages without records.
func (p *packetWriter) beginPage(g *ackPage, w uint32) {
	l, near := &p.lists, p.near
	if l.open && l.ref == g.ref && l.near == near {
		for ; l.none > 0; l.none-- {
			p.w.Write(pageNone, pageNoneBits)
		}
	} else {
		p.endList()
		p.w.Bool(true)
		age := tick.Tick(0)
		if near != tick.None {
			age = g.ref - near
		}
		usual := g.ref == p.upTo && age == 1 && w == l.next
		if p.w.Bool(usual); !usual {
			p.w.Var(uint64(p.upTo - g.ref))
			p.w.Var(uint64(age))
			p.w.Var(uint64(w - l.next))
		}
		l.open, l.ref, l.near = true, g.ref, near
	}
	l.next = w + 1
}

// writePage writes records of the entities of a page that wait. It reports whether there was room for all of them.
func (p *packetWriter) writePage(g *ackPage, w uint32, wait uint64) (room bool) {
	v := p.v
	if v.ties.n > 0 || len(v.store.groups.any) > 0 {
		if wait &^= v.grouped(w, wait); wait == 0 {
			p.passPage(g, w)
			return true
		}
	}
	if p.sent.n > 0 && p.sent.n > maxRecords-p.waiting-format.PageEntities {
		return false // each entity may need a group of its own
	}
	p.setPage(g)
	of, usual := p.usualIn(g, w, wait)
	if usual {
		if wait = of; wait == 0 {
			p.passPage(g, w)
			return true
		}
		if few := bits.OnesCount64(wait) < fewEntities; !(p.cache.alone && few && !p.large(firstOf(w, wait))) { // else no other client is likely to need the text
			if room, done := p.copyPage(g, w, wait); done {
				return room
			}
		}
	}
	if !plain.On && v.listed >= leastTogether {
		p.encodePagesAhead(w, wait)
		p.setPage(g)
	}
	list, usual := p.prepareList(g, w, wait, usual)
	if len(list) == 0 {
		p.passPage(g, w)
		return true
	}
	n := p.writeMembers(g, w, list)
	if usual {
		p.listSent(g, w, list[:n])
	} else {
		for i := range list[:n] {
			p.recordSent(&list[i])
		}
	}
	if n == len(list) {
		return true
	}
	return n == 0 && p.tooLarge(list[0].index) || p.passes(list[n].index)
}

// prepareList prepares the records of entities of a page that can be in its list, as many as the packet can note. It says usual if all are.
func (p *packetWriter) prepareList(g *ackPage, w uint32, wait uint64, usual bool) ([]record, bool) {
	list := p.v.records[:0]
	for ; wait != 0 && len(list) < maxRecords-p.waiting-p.sent.n; wait &= wait - 1 {
		index := firstOf(w, wait)
		if !usual && !p.candidate(index) {
			continue
		}
		if len(list) == cap(list) {
			list = append(list, record{})
		} else {
			list = list[:len(list)+1]
		}
		if r := &list[len(list)-1]; !usual || !p.prepareUsual(g, index, r) {
			usual = false
			if p.prepare(index, r); r.explicit {
				list = list[:len(list)-1] // a list has implicit records only
			}
		}
	}
	p.v.records = list[:0]
	return list, usual
}

// prepareUsual is prepare for a record that is as usual. It says false where the entity has rows that may be written whole, or a
// baseline is not held any more.
func (p *packetWriter) prepareUsual(g *ackPage, index uint32, r *record) bool {
	d, mask := &p.cache.deltas, p.v.maskOf(index)
	if mask.Overlaps(p.v.store.schema.Whole) {
		return false
	}
	number := d.get(p.v.store, index, mask, g.ref, p.usualBefore(g, index), Mask{})
	*r = record{index: index, mask: mask, base: g.ref, known: true, same: true, delta: number}
	return !d.entries[number].none
}

// listSent is recordSent for usual records of a page.
func (p *packetWriter) listSent(g *ackPage, w uint32, list []record) {
	all, deltas, same := uint64(0), 0, 0
	for len(list) > 0 {
		of, n, rows := uint64(0), 0, list[0].mask
		for ; n < len(list) && list[n].mask == rows; n++ {
			d := &p.cache.deltas.entries[list[n].delta]
			of |= 1 << (list[n].index % format.PageEntities)
			deltas, same = deltas+int(d.deltas), same+int(d.same)
		}
		p.groupSent(sentGroup{of: of, rows: rows, word: w, span: spanOf(p.s - g.ref)}, n)
		list, all = list[n:], all|of
	}
	p.usualSent(w, all, deltas, same)
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

// cutBits is the number of bits between two places of a page where a packet may end. Few different rests exist then, and clients with
// other packets still share them. A place lies behind a four.
const cutBits = 768

// listCut is the state of a page behind one of its fours.
type listCut struct {
	w       wire.BitWriter
	at      int // members that were written
	context int
	last    bool // the list has nobody behind it
}

// writeMembers writes records of entities of a page and returns of how many there was room: of all, or of those before a cut.
func (p *packetWriter) writeMembers(g *ackPage, w uint32, list []record) (n int) {
	mark, before := p.w, p.lists
	if p.beginPage(g, w); len(list) == bits.OnesCount64(g.refOf) {
		all := p.w
		p.w.Write(pageAll, pageAllBits)
		for i := range list {
			p.writeRecord(&list[i])
		}
		if p.w.Bits() <= p.limit {
			return len(list)
		}
		p.w = all
	}
	p.w.Write(pageSome, pageSomeBits)
	all, cut := p.writeSome(g, list)
	switch {
	case all:
		return len(list)
	case cut.at == 0:
		p.w, p.lists = mark, before
		return 0
	}
	if p.w = cut.w; !cut.last {
		p.symbol(p.v.store.schema.Codes.Nibble, cut.context, format.NibbleEnd)
	}
	return cut.at
}

// nibble returns which of the next four entities of a page some entities are, as a symbol and as a set, and the entities behind the four.
// Left is the list of the page from there on.
func nibble(left, of uint64) (symbol int, in, behind uint64) {
	for i := 0; i < format.NibbleSize && left != 0; i, left = i+1, left&(left-1) {
		if bit := left & -left; of&bit != 0 {
			symbol, in = symbol|1<<i, in|bit
		}
	}
	return symbol, in, left
}

// writeSome writes records of some entities of a page. If there is no room for all of them it returns how far it came.
func (p *packetWriter) writeSome(g *ackPage, list []record) (all bool, cut listCut) {
	coarse, fine := listCut{w: p.w, context: format.AfterAll}, listCut{w: p.w, context: format.AfterAll}
	c, passed, place := listCut{context: format.AfterAll}, 0, p.w.Bits()
	fineLeft, large, of := g.refOf, p.large(list[0].index), uint64(0)
	for i := range list {
		of |= 1 << (list[i].index % format.PageEntities)
	}
	for left := g.refOf; left != 0 && c.at < len(list); {
		symbol, in, behind := nibble(left, of)
		if left = behind; symbol == 0 {
			passed++
			continue
		}
		p.writeFour(&c, passed, symbol, list[c.at:c.at+bits.OnesCount64(in)])
		if passed = 0; left == 0 && p.w.Bits() <= p.limit {
			return true, c
		}
		if c.w = p.w; left != 0 && (large && p.fitsCut() || !large && p.w.Bits()+delta.MaxCodeLength <= p.limit) {
			fine, fineLeft = c, left
		}
		if at := p.w.Bits(); at-place >= cutBits {
			if place = at; fine.at == c.at {
				coarse = fine
			}
		}
	}
	if c.at == len(list) && c.at == fine.at { // behind it the page has others
		p.symbol(p.v.store.schema.Codes.Nibble, c.context, format.NibbleEnd)
		return true, c
	}
	switch {
	case large:
		p.filled = true
		return false, p.writeFinest(fine, fineLeft, list)
	case p.short || p.v.plan.active || p.sent.n == 0 && coarse.at == 0:
		return false, fine
	}
	return false, coarse
}

// writeFinest adds to a cut behind a four as many records of the next four as there is room for, but not the last of all. Left is the list behind the cut.
func (p *packetWriter) writeFinest(cut listCut, left uint64, list []record) listCut {
	var symbols [format.NibbleSize]int // which records the four has up to each
	n, passed := 0, 0
	for end := cut.at; n == 0 && left != 0; {
		for i := 0; i < format.NibbleSize && left != 0; i, left = i+1, left&(left-1) {
			if end < len(list) && list[end].index%format.PageEntities == uint32(bits.TrailingZeros64(left)) {
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
		p.writeFour(&c, passed, symbols[n-1], list[c.at:c.at+n])
		if c.w, c.last = p.w, left == 0; p.fitsCut() {
			return c
		}
	}
	return cut
}

// writeFour writes a four of a page, behind some without any record.
func (p *packetWriter) writeFour(c *listCut, passed, symbol int, of []record) {
	t := p.v.store.schema.Codes.Nibble
	for range passed {
		p.symbol(t, c.context, 0)
		c.context = format.AfterNone
	}
	p.symbol(t, c.context, symbol)
	for i := range of {
		p.writeRecord(&of[i])
	}
	c.at, c.context = c.at+len(of), format.AfterNibble(symbol)
}
