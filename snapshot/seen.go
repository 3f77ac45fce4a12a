package snapshot

import (
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// seenLife is the present lifetime of an entity at one client, when anything of it was hidden, and its score.
type seenLife struct {
	ackLifetime
	sightState
	hidden hiddenAt
	score  int64 // accumulated by sendPlan
}

// pageStates is the states of those entities of a page that the client sees, or saw a short time ago, in order of index. acks and lives are
// apart since a packet needs the acks alone.
type pageStates struct {
	held uint64 // the entities
	stateLists
}

// stateLists is the memory of states: both lists have room for the same power of two, or none.
type stateLists struct {
	acks  []ackRecord
	lives []seenLife
}

// pageSets is sets of the entities of a page.
type pageSets struct {
	visible     uint64 // alive, and the client may see them
	unsent      uint64 // changed, or lost, since they were last sent; also despawns
	unacked     uint64 // sent, and the newest record is not acknowledged
	despawnOwed uint64 // a despawn is due and not acknowledged
	oversize    uint64 // the newest state does not fit a packet, so the client lacks it
	masked      uint64 // with a sightState.veil
	retained    uint64 // out of sight, and the client keeps their last state (Keep)
	chosen      uint64 // of the plan: chosen and not written yet
	waited      uint64 // ranked by the newest plan and not sent since
	urged       uint64 // in View.urged
	vacant      uint64 // in seenPages.vacant
}

// seenPages is the pages with an entity that the client sees, or saw a short time ago. Only these have memory: a client costs what it
// sees, whatever the size of the world. All other pages read as one empty page, which is never written.
type seenPages struct {
	indexes int        // indexes that there is room for
	pages   []*ackPage // by index / 64; &nothing: none of its entities was seen
	seen    bitset     // pages that are not nothing
	count   int        // their number
	nothing ackPage
	noAck   ackRecord // of entities that are not held; never written, as nothing and noLife
	noLife  seenLife
	vacant  []vacancy // entities that have left sight, the oldest first
	slots   int32     // the highest slot that was ever used; see ackPage.slot

	freeSlots  []int32
	sparePages []*ackPage      // without states
	spareLists [7][]stateLists // the n-th: with room for 1 << n states
}

// vacancy is an entity that has left sight, and the tick in which its state is to be forgotten.
type vacancy struct {
	index uint32
	at    tick.Tick
}

// growPages makes room for n indexes.
func (p *seenPages) growPages(n, room int) {
	had := len(p.pages)
	p.indexes = n
	p.pages = grown(p.pages, (n+format.PageEntities-1)/format.PageEntities, (room+format.PageEntities-1)/format.PageEntities)
	for i := had; i < len(p.pages); i++ {
		p.pages[i] = &p.nothing
	}
	p.seen = p.seen.grownTo(len(p.pages))
}

// bitOf returns the bit of an index in the sets of its page.
func bitOf(index uint32) uint64 { return 1 << (index % format.PageEntities) }

// page returns the page of an index. It may be changed only if enter has reached an entity of it.
func (p *seenPages) page(index uint32) *ackPage {
	if w := int(index / format.PageEntities); w < len(p.pages) {
		return p.pages[w]
	}
	return &p.nothing
}

// place returns the place of an entity among those that are held.
func (s *pageStates) place(index uint32) (at int, held bool) {
	bit := bitOf(index)
	return bits.OnesCount64(s.held & (bit - 1)), s.held&bit != 0
}

// life returns the lifetime of an index. It may be changed only for an index that enter has reached, and until the next call of reach.
func (p *seenPages) life(index uint32) *seenLife {
	g := p.pages[index/format.PageEntities]
	if at, held := g.place(index); held {
		return &g.lives[at]
	}
	return &p.noLife
}

// record returns the ack record of an index. It may be changed only for an index that enter has reached, and until the next call of reach.
func (p *seenPages) record(index uint32) *ackRecord {
	g := p.pages[index/format.PageEntities]
	if at, held := g.place(index); held {
		return &g.acks[at]
	}
	return &p.noAck
}

// seenFrom returns the first seen page from w on. It returns the number of all pages if there is none.
func (p *seenPages) seenFrom(w int) int {
	if i := w >> 6; i < len(p.seen) && p.seen[i]>>(w&63) != 0 {
		return w + bits.TrailingZeros64(p.seen[i]>>(w&63))
	}
	return p.seenBehind(w >> 6)
}

// seenBehind returns the first seen page whose bit is in a word of seen behind i.
func (p *seenPages) seenBehind(i int) int {
	for i++; i < len(p.seen); i++ {
		if p.seen[i] != 0 {
			return i<<6 + bits.TrailingZeros64(p.seen[i])
		}
	}
	return len(p.pages)
}

// reach makes room for the state of an index, so that it may be changed.
func (p *seenPages) reach(index uint32) {
	w := index / format.PageEntities
	if p.pages[w] == &p.nothing {
		var g *ackPage
		if n := len(p.sparePages); n > 0 {
			g, p.sparePages = p.sparePages[n-1], p.sparePages[:n-1]
		} else {
			g = &ackPage{}
		}
		p.pages[w] = g
		p.seen.set(w)
		p.count++
	}
	g := p.pages[w]
	if at, held := g.place(index); !held {
		if n := len(g.acks); n == cap(g.acks) {
			p.setRoom(g, bits.Len(uint(n)))
		}
		g.held |= bitOf(index)
		g.acks, g.lives = slices.Insert(g.acks, at, ackRecord{}), slices.Insert(g.lives, at, seenLife{})
	}
}

// setRoom gives a page room for 1 << size states, and keeps its former memory for others.
func (p *seenPages) setRoom(g *ackPage, size int) {
	var next stateLists
	if spare := &p.spareLists[size]; len(*spare) > 0 {
		next, *spare = (*spare)[len(*spare)-1], (*spare)[:len(*spare)-1]
	} else {
		next = stateLists{make([]ackRecord, 0, 1<<size), make([]seenLife, 0, 1<<size)}
	}
	former := g.stateLists
	g.stateLists = stateLists{append(next.acks, former.acks...), append(next.lives, former.lives...)}
	p.spareRoom(former)
}

// spareRoom keeps the memory of states for other pages.
func (p *seenPages) spareRoom(s stateLists) {
	if cap(s.acks) == 0 {
		return
	}
	size := bits.Len(uint(cap(s.acks))) - 1
	if spare := &p.spareLists[size]; len(*spare) < p.spares(size) {
		*spare = append(room(*spare, 1, 1), stateLists{s.acks[:0], s.lives[:0]})
	}
}

// spares is the number of lists with room for 1 << size states that are kept. Where many pages share what a client sees these are few
// and small, so that a join, in which all is seen, leaves nothing behind.
func (p *seenPages) spares(size int) int {
	switch {
	case p.count <= 16:
		return spared / 2
	case size > 4:
		return 0
	}
	return max((p.count/16+4)>>size, 1)
}

// takeSlot gives a page its place in tickRecords.of, when the first record of it is sent.
func (p *seenPages) takeSlot(g *ackPage) {
	if n := len(p.freeSlots); n > 0 {
		g.slot, p.freeSlots = p.freeSlots[n-1], p.freeSlots[:n-1]
		return
	}
	p.slots++
	g.slot = p.slots
}

// spared is the number of pages whose memory is kept for later ones, beside an eighth of those that are seen.
const spared = 8

// dropPage forgets a page without states, and keeps its memory for others.
func (p *seenPages) dropPage(w uint32) {
	g := p.pages[w]
	p.pages[w] = &p.nothing
	p.seen.unset(w)
	p.count--
	if g.slot > 0 {
		p.freeSlots = append(room(p.freeSlots, 1, usualList), g.slot)
	}
	p.spareRoom(g.stateLists)
	for size, spare := range p.spareLists {
		if most := p.spares(size); len(spare) > most {
			clear(spare[most:])
			p.spareLists[size] = spare[:most]
		}
	}
	*g = ackPage{}
	p.sparePages = trimmed(append(room(p.sparePages, 1, spared), g), p.count/8+spared)
}

// trimmed returns the first so many elements of a list, and forgets the others.
func trimmed[T any](s []*T, most int) []*T {
	if len(s) <= most {
		return s
	}
	clear(s[most:])
	return s[:most]
}

// vacate notes that an entity has left sight. Its state, and the page, are forgotten as soon as nothing depends on them.
func (v *View) vacate(index uint32) {
	g := v.page(index)
	at, held := g.place(index)
	if !held || (g.visible|g.pageSets.vacant)&bitOf(index) != 0 {
		return
	}
	if !v.forgettable(g, bitOf(index), at) {
		g.pageSets.vacant |= bitOf(index)
		v.vacant = append(room(v.vacant, 1, usualList), vacancy{index, v.store.tick + v.store.cfg.Window})
		return
	}
	g.held &^= bitOf(index)
	g.acks, g.lives = slices.Delete(g.acks, at, at+1), slices.Delete(g.lives, at, at+1)
	if n := len(g.acks); n > 0 && n <= cap(g.acks)/4 {
		v.setRoom(g, bits.Len(uint(n)))
	}
	if g.held == 0 { // the client has no record of the page that is younger than W
		v.recent.dropPage(g.slot)
		v.dropPage(index / format.PageEntities)
	}
}

// dropVacant forgets entities that left sight a while ago.
func (v *View) dropVacant() {
	n := 0
	for n < len(v.vacant) && v.vacant[n].at <= v.store.tick {
		index := v.vacant[n].index
		v.page(index).pageSets.vacant &^= bitOf(index)
		n++
		v.vacate(index)
	}
	v.vacant = v.vacant[:copy(v.vacant, v.vacant[n:])]
}

// forgettable reports whether the state of an entity may be forgotten: nothing of it waits, the client does not have it, no packet
// with it is remembered (hidSince), and its last lifetime ended W ago: no list names a tick with a record of it, and SawAt
// need not know it.
func (v *View) forgettable(g *ackPage, bit uint64, at int) bool {
	if (g.unsent|g.unacked|g.despawnOwed|g.retained|g.urged)&bit != 0 {
		return false
	}
	e, went := &g.lives[at], g.acks[at].went
	return e.shownGeneration == 0 && (went == tick.None || went < v.sent.since() && v.store.tick-e.lastEnd >= v.store.cfg.Window)
}
