package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
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
	of, usual := p.usualIn(g, w, wait)
	if usual {
		if wait = of; wait == 0 {
			p.passPage(g, w)
			return true
		}
		// No shared text for a few small records if the last tick shared little.
		if few := bits.OnesCount64(wait) < fewEntities; !(p.cache.alone && few && !p.largeRecord(firstOf(w, wait))) {
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
	if n == 0 {
		p.passPage(g, w) // pages behind it may find room
		if p.skipTooLarge(list[0].index) {
			return true
		}
	}
	return p.skipUnderBudget(list[n].index)
}

// prepareList prepares the implicit records of entities of a page, at most as many as sentPacket can note. It returns usual true if
// all of them are as usual (usualIn).
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
				list = list[:len(list)-1] // a list has implicit records only; the entity is written among the unlisted ones
			}
		}
	}
	p.v.records = list[:0]
	return list, usual
}

// prepareUsual does what prepare does for a record that is as usual. It returns false if the entity has rows that may be sent whole,
// or if a baseline is no longer in the history.
func (p *packetWriter) prepareUsual(g *ackPage, index uint32, r *record) bool {
	d, mask := &p.cache.deltas, p.v.maskOf(index)
	if mask.Overlaps(p.v.store.schema.Whole) {
		return false
	}
	number := d.get(p.v.store, index, mask, g.ref, p.usualPrevious(g, index), Mask{})
	*r = record{index: index, mask: mask, base: g.ref, known: true, same: true, delta: number}
	return !d.entries[number].none
}

// listSent does what recordSent does, for usual records of one page together.
func (p *packetWriter) listSent(g *ackPage, w uint32, list []record) {
	if p.account != nil {
		p.account.list(p, list)
	}
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
// and its records. With few places, clients with different packets often cut a page at the same one, and share the text of the rest.
const cutBits = 768

// listCut is the state of the writer at a place where a page may be cut.
type listCut struct {
	w       wire.BitWriter
	at      int  // records written before it
	context int  // context of the next nibble
	last    bool // R has no more entities behind it in this page
}

// writeMembers writes records of a page: all of them, or those before a cut if there is no room. It returns how many it wrote.
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

// writeSome writes nibbles with their records. If there is no room for all, it returns a cut. A page of large records is cut behind
// any record (writeFinest). Other pages are cut behind a nibble, at a coarse place: at least cutBits from the one before. Any nibble
// will do if the budget is short, or if an empty packet has no coarse place.
func (p *packetWriter) writeSome(g *ackPage, list []record) (all bool, cut listCut) {
	coarse, fine := listCut{w: p.w, context: format.AfterAll}, listCut{w: p.w, context: format.AfterAll}
	c, passed, place := listCut{context: format.AfterAll}, 0, p.w.Bits()
	fineLeft, large, of := g.refOf, p.largeRecord(list[0].index), uint64(0)
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
	if c.at == len(list) && c.at == fine.at { // all records fit, and R has more entities behind them
		p.symbol(p.v.store.schema.Codes.Nibble, c.context, format.NibbleEnd)
		return true, c
	}
	switch {
	case large:
		p.filled = true
		return false, p.writeFinest(fine, fineLeft, list)
	case p.tight || p.v.plan.active || p.sent.n == 0 && coarse.at == 0:
		return false, fine
	}
	return false, coarse
}

// writeFinest moves a cut forward: it adds as many records of the next four as fit, but never the last record of the list. left is the
// entities of R behind the cut.
func (p *packetWriter) writeFinest(cut listCut, left uint64, list []record) listCut {
	var symbols [format.NibbleSize]int // symbols[k] is the nibble with the first k+1 records of the four
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
	if cut.at+n == len(list) { // all of them, with the end symbol, did not fit
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

// writeFour writes a nibble and its records, behind the empty nibbles that were passed.
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
