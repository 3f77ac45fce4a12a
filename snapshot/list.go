package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/tick"
)

// Which entities a packet has records of costs as much as what the records tell. Most entities that move now moved a moment
// ago too. So a packet names earlier ticks whose records the client holds, page by page, and tells which of the entities of
// such a tick it has records of. The others follow by index.
//
// A list is pages that follow each other and have the same R and N (ackPage).

// The code of a page of a list: which of the entities of R it has records of.
const (
	pageAll  = 0b1   // of each; 1 bit
	pageSome = 0b10  // of some: a symbol of codes.four for each four of them; 2 bits
	pageNone = 0b100 // of none; 3 bits
	pageEnd  = 0b000 // the list ends before this page; 3 bits

	pageAllBits  = 1
	pageSomeBits = 2
	pageNoneBits = 3
	pageEndBits  = 3
)

// lists is how far a packet has come in its lists.
type lists struct {
	open      bool // a list has begun
	ref, near tick.Tick
	next      uint32 // the page behind the last one that was written
	none      int    // pages of the list since, of which no code was written yet
}

// choose finds out whether the packet has lists, and up to which tick they refer to.
func (p *packetWriter) choose() {
	v := p.v
	if !v.updatesPending() || v.short && !v.plan.active { // who is listed was sent lately: those that wait longer come first
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
	p.refers = true
	for p.refers = false; v.nextPage < len(v.pages); v.nextPage++ {
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
	wait := v.unsent[w] & g.refOf &^ v.owed[w] & v.plan.allows(int(w))
	if wait == 0 || g.ref > v.newestRef || p.s-g.ref >= v.store.cfg.Window {
		return 0
	}
	return wait
}

// listsHead writes whether the packet has lists.
func (p *packetWriter) listsHead() {
	p.w.Bool(p.refers)
	if p.refers {
		p.w.Var(uint64(p.s-p.upTo) - 1)
	}
}

// listed writes records of entities of earlier ticks, page by page, from where the packet before ended. It reports whether
// there is room for more.
func (p *packetWriter) listed() (room bool) {
	v := p.v
	if !p.refers {
		return true
	}
	p.again, room = true, true
	for v.nextPage < len(v.pages) {
		w := uint32(v.nextPage)
		g := &v.pages[w]
		if wait := p.waitsIn(w); wait != 0 {
			if room = p.page(g, w, wait); !room {
				break
			}
		} else {
			p.pass(g, w)
		}
		v.nextPage++
	}
	p.endList()
	p.w.Bool(false)
	p.again = false
	return room
}

// pass goes over a page of which the packet has no record.
func (p *packetWriter) pass(g *ackPage, w uint32) {
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

// nearOf returns N of a page for this packet, tick.None where none is to be named.
func (p *packetWriter) nearOf(g *ackPage) tick.Tick {
	if g.near == tick.None || p.s-g.near >= p.v.store.cfg.Window {
		return tick.None
	}
	return g.near
}

// begin writes what stands before the code of a page: the head of a list, or the codes of pages that were passed.
func (p *packetWriter) begin(g *ackPage, w uint32) {
	l, near := &p.lists, p.nearOf(g)
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

// page writes records of those of a page that wait. It reports whether there was room for all of them.
func (p *packetWriter) page(g *ackPage, w uint32, wait uint64) (room bool) {
	if wait &^= p.v.grouped(w, wait); wait == 0 {
		p.pass(g, w)
		return true
	}
	if p.desk.alone && bits.OnesCount64(wait) < fewEntities {
		return p.pageApart(g, w, wait) // no other client is likely to need its text
	}
	of, ok := p.alike(g, w, wait)
	switch {
	case !ok:
		return p.pageApart(g, w, wait)
	case of == 0:
		p.pass(g, w)
		return true
	}
	return p.pageAtOnce(g, w, of)
}

// usual is the body of a record that is nothing but its body, nil where there
// is more to say or to find out. Most are such: all that it takes is looked at
// here, and nothing is copied.
func (p *packetWriter) usual(index uint32) *bodyEntry {
	v, s := p.v, p.v.store
	var room slot
	q := v.slot(index, &room)
	mask, base := v.maskOf(index), q.base
	switch {
	case s.watch != nil || mask&s.schema.whole != 0:
		return nil
	case p.again:
		if base = p.listPage.ref; v.otherRows(index, base) {
			return nil
		}
	case q.mask != mask || !v.newest(index, q, p.upTo):
		return nil
	}
	if base == tick.None || p.s-base >= s.cfg.Window {
		return nil
	}
	before, known := p.before(index, q)
	if !known {
		return nil
	}
	e, of := p.desk.sharedBody(index, mask, base, before)
	if e.none {
		return nil
	}
	p.bodies = of
	return e
}

// put writes a usual record of one of the others behind its place, if there is room.
// Its length is known before anything is written.
func (p *packetWriter) put(place uint64, n uint, index uint32, e *bodyEntry) bool {
	if p.sent.n >= maxRecords-p.waiting || p.w.Bits()+p.run.endBits()+int(n)+int(e.bits) > p.limit {
		return false
	}
	p.endRun()
	p.w.Write(place, n)
	p.writeBody(e, p.bodies)
	p.wroteUsual(index, e)
	return true
}

// writeBody writes the body of a usual record.
func (p *packetWriter) writeBody(e *bodyEntry, of *bodies) {
	if e.bits <= 64 {
		p.w.Write(e.word, uint(e.bits))
	} else {
		p.w.Words(of.wordsOf(e), int(e.bits))
	}
}

// wroteUsual notes that a usual record is in the packet.
func (p *packetWriter) wroteUsual(index uint32, e *bodyEntry) {
	v := p.v
	p.noted(index, e.mask, p.s-e.t)
	v.stats.Deltas += uint64(e.deltas)
	v.stats.Unchanged += uint64(e.same)
	v.stats.Updates++
}

// symbol writes a symbol of the list.
func (p *packetWriter) symbol(t *delta.Table, context, symbol int) {
	t.Write(&p.w, context, symbol)
	if watch := p.v.store.watch; watch != nil {
		watch([]delta.DeltaSymbol{{Table: t, Context: context, Symbol: symbol}})
	}
}
