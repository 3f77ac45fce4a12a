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

// chooseRefs decides whether the packet has lists, and finds U, the newest R of a page that waits. View.ackedAt chose the R and N of
// each page when acknowledgements came. It moves nextPage to the first page with an entity to list.
func (p *packetWriter) chooseRefs() {
	v := p.v
	// Under a short budget without a plan, entities that waited long come first: listed ones were sent lately.
	if !v.updatesPending() || v.short && !v.plan.active {
		return
	}
	if v.refTick != p.s {
		v.refTick, v.newestRef = p.s, tick.None
		for w := range v.pages {
			if g := &v.pages[w]; v.unsent[w]&g.refOf != 0 && g.ref < p.s {
				v.newestRef = max(v.newestRef, g.ref)
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

// waitsIn returns the entities of a page that have to be sent and have a record of R. It is empty if R is after U or W or more ticks
// old.
func (p *packetWriter) waitsIn(w uint32) uint64 {
	v := p.v
	g := &v.pages[w]
	wait := v.unsent[w] & g.refOf &^ v.despawnOwed[w] & v.plan.allows(int(w))
	if wait == 0 || g.ref > v.newestRef || p.s-g.ref >= v.store.cfg.Window {
		return 0
	}
	return wait
}

// writeListsHead writes whether the packet has lists, and U.
func (p *packetWriter) writeListsHead() {
	p.w.Bool(p.refers)
	if p.refers {
		p.w.Var(uint64(p.s-p.upTo) - 1)
	}
}

// writeListed writes the lists, page by page, from the page where the last packet of this tick ended. It reports whether the packet
// has room for more.
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

// passPage steps over a page without a record in this packet.
func (p *packetWriter) passPage(g *ackPage, w uint32) {
	l := &p.lists
	switch {
	case !l.open:
	case g.ref == l.ref:
		l.none++
	case !p.v.recent.has(l.ref) || g.newest >= l.ref && p.v.recent.at(l.ref, w) != nil:
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

// writePage writes the records of the entities of a page that wait, as many as fit. It reports whether the packet has room for more
// pages.
func (p *packetWriter) writePage(g *ackPage, w uint32, wait uint64) (room bool) {
	if p.sent.n > maxRecords-p.waiting-format.PageEntities {
		return false // each entity may need a sentGroup of its own
	}
	p.setPage(g)
	r := p.recordsOf(g, w, wait&^p.v.grouped(w, wait))
	if r.of == 0 {
		p.passPage(g, w)
		return true
	}
	mark, before := p.w, p.lists
	r.large = p.v.store.largeRows(p.v.maskOf(firstOf(w, r.of)))
	p.beginPage(g, w)
	n := p.writeRecords(g, &r)
	rest := uint64(0)
	if n < bits.OnesCount64(r.of) {
		rest = behind(r.of, n)
	}
	switch {
	case n == 0:
		p.w, p.lists = mark, before
	case r.text == nil:
		for i := range n {
			p.recordSent(&p.v.records[i])
		}
	default:
		p.textSent(&r, r.of&^rest, n)
	}
	if rest == 0 {
		return true
	}
	p.filled = r.large
	return n == 0 && p.tooLarge(firstOf(w, rest)) || p.leavesOut(firstOf(w, rest))
}

// pageRecords is the records of a page that a packet has to have.
type pageRecords struct {
	of    uint64    // their entities
	text  *pageText // has the records, from number from on; nil: View.records has them
	from  int
	large bool // exact floats, so that a page of them is larger than a packet
}

// recordsOf returns the records of entities of a page that wait: those of a text that other clients get too, or else prepared ones.
func (p *packetWriter) recordsOf(g *ackPage, w uint32, wait uint64) (r pageRecords) {
	if of, usual := p.usualIn(g, w, wait); usual {
		if of == 0 {
			return r
		}
		if r.text, r.from = p.text(g, w, of); r.text != nil {
			r.of = of
			return r
		}
	}
	p.encodePagesAhead(w, wait)
	p.setPage(g)
	r.of = p.preparePage(w, wait)
	return r
}

// preparePage prepares the records of entities of a page in View.records, and returns their entities. An entity whose record has to be
// explicit is not among them: it is written among the unlisted ones.
func (p *packetWriter) preparePage(w uint32, wait uint64) (of uint64) {
	list := p.v.records[:0]
	for ; wait != 0; wait &= wait - 1 {
		if index := firstOf(w, wait); p.candidate(index) {
			n := len(list)
			list = append(list, record{})
			if p.prepare(index, &list[n]); list[n].explicit {
				list = list[:n]
			} else {
				of |= wait & -wait
			}
		}
	}
	p.v.records = list
	return of
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

// cutBits is the least number of bits between two places where a page may be cut at the end of a packet, behind a nibble. Under a short
// budget, or if an empty packet has no such place, it is cut behind any nibble. A page of large records is cut behind any record.
const cutBits = 768

// writeRecords writes the code of a page and its records: all of them, or those before a cut. It returns how many it wrote.
func (p *packetWriter) writeRecords(g *ackPage, r *pageRecords) (n int) {
	if t := r.text; t != nil && r.from == 0 && p.w.Bits()+t.size+t.spare <= p.limit {
		p.w.Words(p.cache.pages.words(t), t.size)
		return bits.OnesCount64(r.of)
	}
	apart := cutBits
	if p.short || p.v.plan.active {
		apart = 0
	}
	if n = p.writeUpTo(g, r, p.cuts(g, r, apart)); n == 0 && p.sent.n == 0 {
		n = p.writeUpTo(g, r, p.cuts(g, r, 0))
	}
	return n
}

// writeUpTo writes the records of a page up to the last of some cuts that fits.
func (p *packetWriter) writeUpTo(g *ackPage, r *pageRecords, cuts uint64) (n int) {
	for mark := p.w; cuts != 0; cuts &^= 1 << (n - 1) {
		spare := 0
		if n = bits.Len64(cuts); n == bits.OnesCount64(g.refOf) {
			p.w.Write(pageAll, pageAllBits)
			p.writeBodies(r, 0, n)
		} else {
			spare = p.writeSome(g, r, n)
		}
		if p.w.Bits()+spare <= p.limit {
			return n
		}
		p.w = mark
	}
	return 0
}

// cuts returns where a page may be cut, and its end, as far as its records fit without nibbles: bit n stands for n + 1 records. Cuts are
// behind nibbles, and at least so many bits apart.
func (p *packetWriter) cuts(g *ackPage, r *pageRecords, apart int) (cuts uint64) {
	four, context := p.v.store.schema.Codes.Nibble, format.AfterAll
	size, n, room := 0, 0, p.limit-p.w.Bits()
	for left, of := g.refOf, r.of; of != 0; {
		symbol, in, behind := nibble(left, of)
		_, symbolBits := four.Bits(context, symbol)
		size += int(symbolBits)
		for left, of, context = behind, of&^in, format.AfterNibble(symbol); in != 0; in &= in - 1 {
			body := p.bodyBits(r, n)
			if room -= body; room < 0 {
				return cuts
			}
			size += body
			if n++; r.large || in&(in-1) == 0 && (size >= apart || of == 0) {
				cuts |= 1 << (n - 1)
				size = 0
			}
		}
	}
	return cuts
}

// writeSome writes the first n records of a page, a nibble before each four entities with a record of R. The symbol that ends the page
// counts as the longest code: spare is the bits that it is shorter.
func (p *packetWriter) writeSome(g *ackPage, r *pageRecords, n int) (spare int) {
	four, context := p.v.store.schema.Codes.Nibble, format.AfterAll
	p.w.Write(pageSome, pageSomeBits)
	left, of := g.refOf, r.of&^behind(r.of, n)
	for at := 0; at < n; {
		symbol, in, others := nibble(left, of)
		p.symbol(four, context, symbol)
		if symbol != 0 {
			p.writeBodies(r, at, bits.OnesCount64(in))
		}
		left, at, context = others, at+bits.OnesCount64(in), format.AfterNibble(symbol)
	}
	if left != 0 {
		p.symbol(four, context, format.NibbleEnd)
		_, end := four.Bits(context, format.NibbleEnd)
		spare = delta.MaxCodeLength - int(end)
	}
	return spare
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

// writeBodies writes n records of a page from number at on. Those of a text are of one nibble, or all.
func (p *packetWriter) writeBodies(r *pageRecords, at, n int) {
	if t := r.text; t != nil {
		spans := p.cache.pages.spansOf(t)[r.from+at:]
		p.w.WordsFrom(p.cache.pages.words(t), int(spans[0].from), int(spans[n-1].to-spans[0].from))
		return
	}
	for i := range p.v.records[at : at+n] {
		p.writeRecord(&p.v.records[at+i])
	}
}

// bodyBits returns the bits of the record of a page with number at.
func (p *packetWriter) bodyBits(r *pageRecords, at int) int {
	if r.text != nil {
		span := &p.cache.pages.spansOf(r.text)[r.from+at]
		return int(span.to - span.from)
	}
	mark := p.w
	p.writeRecord(&p.v.records[at])
	n := p.w.Bits() - mark.Bits()
	p.w = mark
	return n
}
