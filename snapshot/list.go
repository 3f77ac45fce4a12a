package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// A packet has to name the entities of its records, and the names would cost as much as the deltas. Most entities that move now moved
// a moment ago too. So the packet names a tick R. The client has every record of the page that was sent in tick R. For each four entities with a record
// of R, one symbol (a nibble) tells which of them have a record in this packet. All other records follow behind the lists, with their
// indexes.
//
// A list is consecutive pages with the same R and N (ackPage).

// Codes of a page in a list: which entities with a record of R have a record in this packet.
const (
	pageAll  = 0b1   // all of them; 1 bit
	pageSome = 0b10  // some: a symbol of Codes.Nibble for each four of them follows; 2 bits
	pageNone = 0b100 // none; 3 bits
	pageEnd  = 0b000 // the list ends before this page; 3 bits

	pageAllBits  = 1
	pageSomeBits = 2
	pageNoneBits = 3
	pageEndBits  = 3
)

// lists is the state of the lists of a packet.
type lists struct {
	open      bool      // a list has begun
	ref, near tick.Tick // R and N of the open list
	next      uint32    // the page behind the last one that was written
	none      int       // pages without records since then, whose codes are not written yet
}

// chooseRefs decides whether the packet has lists, and finds U, the newest R of a page that waits. View.noteAckedRefs chose the R and N of
// each page when acknowledgements came. It moves nextPage to the first page with an entity to list.
func (p *packetWriter) chooseRefs() {
	v := p.v
	// Under a short budget without a plan, entities that waited long come first: listed ones were sent lately.
	if v.plain || !v.updatesPending() || v.backlog && !v.plan.active {
		return
	}
	if v.refTick != p.s {
		v.refTick, v.newestRef, v.listed = p.s, tick.None, 0
		for w := v.seenFrom(0); w < len(v.pages); w = v.seenFrom(w + 1) {
			if g := v.pages[w]; v.pages[w].unsent&g.refOf != 0 && g.ref < p.s {
				v.newestRef = max(v.newestRef, g.ref)
				v.listed += bits.OnesCount64(v.pages[w].unsent & g.refOf)
			}
		}
	}
	if v.newestRef == tick.None || p.s-v.newestRef >= v.store.cfg.Window {
		return
	}
	for v.nextPage = v.seenFrom(v.nextPage); v.nextPage < len(v.pages); v.nextPage = v.seenFrom(v.nextPage + 1) {
		if p.waitsIn(uint32(v.nextPage)) != 0 {
			p.refers, p.upTo, p.gapContext = true, v.newestRef, 1
			return
		}
	}
}

// waitsIn returns the entities of a page that have to be sent and have a record of R. It is empty if R is after U or W or more ticks
// old.
func (p *packetWriter) waitsIn(w uint32) uint64 {
	v := p.v
	g := v.pages[w]
	wait := v.pages[w].unsent & g.refOf &^ v.pages[w].despawnOwed & v.allows(g)
	if wait == 0 || g.ref > v.newestRef || p.s-g.ref >= v.store.cfg.Window {
		return 0
	}
	return wait
}

// writeListsHead writes whether the packet has lists, and U.
func (p *packetWriter) writeListsHead() {
	if p.v.plain {
		return
	}
	p.w.Bool(p.refers)
	if p.refers {
		p.w.Var(uint64(p.s-p.upTo) - 1)
	}
}

// writeListed writes the lists, page by page, from the page where the last packet of this tick ended. Of a page without memory the client
// has no record of R, which is younger than W. It reports whether the packet has room for more.
func (p *packetWriter) writeListed() (room bool) {
	v := p.v
	p.inList, room = true, true
	for v.nextPage = v.seenFrom(v.nextPage); v.nextPage < len(v.pages); v.nextPage = v.seenFrom(v.nextPage + 1) {
		w := uint32(v.nextPage)
		g := v.pages[w]
		if wait := p.waitsIn(w); wait != 0 {
			from, records := p.w.Bits(), p.sent.records
			room = p.writePage(g, w, wait)
			if n := p.sent.records - records; n > 0 && p.near != tick.None {
				g.noteCost(p.w.Bits()-from, n)
			}
			if !room {
				break
			}
		} else {
			p.passPage(g, w)
		}
	}
	p.endList()
	p.w.Bool(false)
	p.inList = false
	return room
}

// passPage steps over a page without a record in this packet.
func (p *packetWriter) passPage(g *ackPage, w uint32) {
	l := &p.lists
	switch {
	case !l.open:
	case g.ref == l.ref:
		l.none++
	case !p.v.recent.has(l.ref) || g.newest >= l.ref && p.v.recent.of(l.ref, g.slot) != 0:
		p.endList() // the server does not know which records of R the client has of this page
	}
}

// endList ends the open list, if there is one.
func (p *packetWriter) endList() {
	if p.lists.open {
		p.w.Write(pageEnd, pageEndBits)
		p.lists.open, p.lists.none = false, 0
	}
}

// setPage sets the page that is written next, and its N for this packet: none if N is W or more ticks old.
func (p *packetWriter) setPage(g *ackPage) {
	if p.page, p.near = g, g.near; p.s-g.near >= p.v.store.cfg.Window {
		p.near = tick.None
	}
}

// beginPage writes the bits before the code of a page: the head of a new list, or the codes of pages without records.
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

// writePage writes records of the entities of a page that wait. It reports whether the packet has room for more pages.
func (p *packetWriter) writePage(g *ackPage, w uint32, wait uint64) (room bool) {
	v := p.v
	if v.links.n > 0 || len(v.store.groups.any) > 0 {
		if wait &^= v.grouped(w, wait); wait == 0 {
			p.passPage(g, w)
			return true
		}
	}
	if p.sent.n > 0 && p.sent.n > maxRecords-p.waiting-format.PageEntities {
		return false // each entity may need a sentGroup of its own
	}
	p.setPage(g)
	t, from := p.pageText(g, w, wait)
	if t.of == 0 {
		p.passPage(g, w)
		return true
	}
	mark, before := p.w, p.lists
	p.beginPage(g, w)
	to := p.writeText(t, from)
	if to > from {
		p.textSent(t, from, to)
	}
	if t.number == 0 {
		p.cache.pages.groups = p.cache.pages.groups[:t.rows]
	}
	if to == from {
		p.w, p.lists = mark, before
		p.passPage(g, w) // pages behind it may find room
		if p.skipTooLarge(firstOf(w, t.behind(from))) {
			return true
		}
	}
	return to == len(t.spans) || p.skipUnderBudget(firstOf(w, t.behind(to)))
}

// grouped returns those of some entities of a page that must be sent together with others. They cannot be in a list.
func (v *View) grouped(w uint32, of uint64) (in uint64) {
	if v.links.n == 0 {
		of &= v.store.groups.in(w)
	}
	for ; of != 0; of &= of - 1 {
		if index := firstOf(w, of); v.groupOf(index) != nil || v.links.has(index) {
			in |= of & -of
		}
	}
	return in
}

// cutBits is the least number of bits between two places where a page may be cut at the end of a packet. Each place is behind a nibble
// and its records. With few places, clients with different packets often cut a page at the same one.
const cutBits = 768

// nibble takes the next four entities of left. It returns those of them that are in of, as a symbol and as a set, and the entities of
// left behind the four.
func nibble(left, of uint64) (symbol int, in, behind uint64) {
	for i := 0; i < format.NibbleSize && left != 0; i, left = i+1, left&(left-1) {
		if bit := left & -left; of&bit != 0 {
			symbol, in = symbol|1<<i, in|bit
		}
	}
	return symbol, in, left
}

// writeText writes the code of a page and the records of a text from number from on: all of them, or those before a cut if there is no
// room. It returns the number of the first one that it did not write.
func (p *packetWriter) writeText(t *pageText, from int) (to int) {
	n, large := len(t.spans), p.largeRecord(firstOf(t.page, t.behind(from)))
	if t.of == t.list && from == 0 {
		if p.w.Bits()+pageAllBits+t.bodies <= p.limit {
			p.w.Write(pageAll, pageAllBits)
			p.writeAll(t)
			return n
		}
	} else if t.nibbles && from == 0 && p.fitsPage(p.w.Bits()+pageSomeBits+t.size, t.more, large) {
		p.writePart(t, 0, n)
		return n
	}
	to = p.cut(t, from, large)
	p.filled = p.filled || large && to < n
	if to > from {
		p.writePart(t, from, to)
	}
	return to
}

// fitsPage reports whether the records of a page may end at so many bits of the packet. more tells that a symbol for the end of the page
// follows. Nothing follows a page of large records in the packet.
func (p *packetWriter) fitsPage(at int, more, large bool) bool {
	switch {
	case !more:
		return at <= p.limit
	case large:
		return at+p.v.store.schema.Codes.PageEnd <= p.limit+p.reserve()
	}
	return at+delta.MaxCodeLength <= p.limit
}

// reserve returns how many bits of endBits a packet does not need if nothing follows its lists.
func (p *packetWriter) reserve() int {
	_, end := p.v.store.schema.Codes.Gap.Bits(p.gapContext, format.GapEnd)
	return endBits - pageEndBits - 1 - int(end)
}

// cut returns the number of the first record of a text, from number from on, that the packet has no room for. A page of large records is
// cut behind any record, but not before the last one. Other pages are cut behind a nibble, at a coarse place: at least cutBits from the one
// before. Any nibble will do if the budget is short, or if an empty packet has no coarse place, and any record of a nibble that is larger than
// an empty packet.
func (p *packetWriter) cut(t *pageText, from int, large bool) (to int) {
	four, n := p.v.store.schema.Codes.Nibble, len(t.spans)
	end, context, left := p.w.Bits()+pageSomeBits, format.AfterAll, t.list
	fine, coarse, place, at := from, from, end, from
	for rest := t.behind(from); rest != 0; {
		symbol, of, behind := nibble(left, rest)
		if left = behind; symbol == 0 {
			end, context = end+four.Length(context, 0), format.AfterNone
			continue
		}
		first, begin := at, end
		at += bits.OnesCount64(of)
		end += four.Length(context, symbol) + t.bits(first, at)
		switch {
		case !large:
			if first == from && p.sent.n == 0 { // four records that fit an empty packet one by one need not fit together
				fine = p.cutFour(t, first, begin, context, symbol, false)
			}
		case at < n && p.fitsPage(end, true, true):
			fine = at
		default:
			if fine = max(fine, p.cutFour(t, first, begin, context, symbol, true)); rest != of {
				return fine // the records that follow are longer than what a packet reserves
			}
		}
		context, rest = format.AfterNibble(symbol), rest&^of
		if !large && left != 0 && p.fitsPage(end, true, false) {
			fine = at
		}
		if end-place >= cutBits {
			if place = end; fine == at {
				coarse = fine
			}
		}
	}
	switch {
	case p.fitsPage(end, left != 0, large):
		return n
	case large || p.tight || p.v.plan.active || p.sent.n == 0 && coarse == from:
		return fine
	}
	return coarse
}

// cutFour returns the number of the first record of a nibble that the packet has no room for: at if it has none at all. The nibble begins at
// so many bits of the packet, with record number at.
func (p *packetWriter) cutFour(t *pageText, at, begin, context, symbol int, large bool) (to int) {
	to = at
	first, part := at, 0
	for m := symbol; m != 0 && at+1 < len(t.spans); m &= m - 1 {
		part, at = part|m&-m, at+1
		if p.fitsPage(begin+p.v.store.schema.Codes.Nibble.Length(context, part)+t.bits(first, at), true, large) {
			to = at
		}
	}
	return to
}

// writePart writes the code of a page, and the records from number from to number to of a text with their nibbles.
func (p *packetWriter) writePart(t *pageText, from, to int) {
	four, context := p.v.store.schema.Codes.Nibble, format.AfterAll
	p.w.Write(pageSome, pageSomeBits)
	left, at := t.list, from
	for rest := t.behind(from) &^ t.behind(to); rest != 0; {
		symbol, of, behind := nibble(left, rest)
		left = behind
		if p.symbol(four, context, symbol); symbol == 0 {
			context = format.AfterNone
			continue
		}
		first := at
		context, rest, at = format.AfterNibble(symbol), rest&^of, at+bits.OnesCount64(of)
		if p.writeBodies(t, first, at); int(t.spans[at-1].symbol) != symbol {
			continue
		}
		end := to // from here to the last whole nibble, the text has the bits as they are to be written
		for end > at && t.spans[end-1].symbol == 0 {
			end--
		}
		if end > at {
			last := &t.spans[end-1]
			p.w.WordsFrom(p.cache.pages.code.All()[t.at:], int(t.spans[at-1].to), int(last.to-t.spans[at-1].to))
			context, left, at = format.AfterNibble(int(last.symbol)), last.left, end
			rest &= left
		}
	}
	if left != 0 {
		p.symbol(four, context, format.NibbleEnd)
	}
}

// writeAll writes all records of a text without their nibbles.
func (p *packetWriter) writeAll(t *pageText) {
	if !t.nibbles {
		p.writeBodies(t, 0, len(t.spans))
		return
	}
	first := 0
	for i := range t.spans {
		if t.spans[i].symbol != 0 { // the last record of a nibble
			p.writeBodies(t, first, i+1)
			first = i + 1
		}
	}
}

// writeBodies writes the records from number from to number to of a text, which are all in one nibble or have no nibbles between them.
func (p *packetWriter) writeBodies(t *pageText, from, to int) {
	if t.number != 0 {
		p.w.WordsFrom(p.cache.pages.code.All()[t.at:], int(t.spans[from].from), t.bits(from, to))
		return
	}
	for i := range p.v.records[from:to] {
		p.writeRecord(&p.v.records[from+i])
	}
}

// textSent notes that the packet has the records from number from to number to of a text.
func (p *packetWriter) textSent(t *pageText, from, to int) {
	c, v, of := &p.cache.pages, p.v, t.behind(from)&^t.behind(to)
	v.pages[t.page].unsent &^= of
	if t.number == 0 {
		p.ownSent(v.records[from:to])
	} else {
		if c.last = (lastText{t.number, to}); t.used {
			c.copied++
		}
		if t.used = true; p.account != nil {
			p.account.text(p, t, of)
		}
		p.cache.deltas.used += uint64(to - from)
	}
	for i := range t.groups {
		if e := &c.groups[t.rows+i]; e.of&of != 0 {
			p.groupSent(sentGroup{of: e.of & of, rows: e.rows, word: t.page, span: spanOf(p.s - t.ref)}, bits.OnesCount64(e.of&of))
		}
	}
	p.entitiesSent(t.page, of)
	v.stats.Updates += uint64(to - from)
	deltas, same := t.rowsUpTo(to)
	lessDeltas, lessSame := t.rowsUpTo(from)
	v.stats.Deltas += uint64(deltas - lessDeltas)
	v.stats.Unchanged += uint64(same - lessSame)
}

// ownSent notes what textSent does not know of records that one client alone has.
func (p *packetWriter) ownSent(list []record) {
	v := p.v
	for i := range list {
		r := &list[i]
		if v.changedLater(r.index, p.s) {
			v.page(r.index).unsent |= bitOf(r.index)
		}
		if p.account != nil {
			p.account.record(p, r)
		}
		if v.plan.active {
			v.planSent(r.index)
		}
		v.stats.Rows += uint64(r.whole.Count())
	}
}
