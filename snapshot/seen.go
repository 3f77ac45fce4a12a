package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// seenLife is the present lifetime of an entity at one client, and when anything of it was hidden.
type seenLife struct {
	ackLifetime
	hidden hiddenAt
}

// blockEntities is the number of entities whose states are allocated together.
const (
	blockEntities = 4
	blocksInPage  = format.PageEntities / blockEntities
)

// seenBlock is the states of neighbours by index. acks and lives are apart since a packet needs the acks alone.
type seenBlock struct {
	acks  [blockEntities]ackRecord
	lives [blockEntities]seenLife
}

// seenPages is the pages with an entity that the client sees, or saw a short time ago. Only these have memory: a client costs what it
// sees, whatever the size of the world. All other pages read as one empty page, which is never written.
type seenPages struct {
	indexes int        // indexes that there is room for
	pages   []*ackPage // by index / 64; &nothing: none of its entities was seen
	seen    bitset     // pages that are not nothing
	count   int        // their number
	nothing ackPage
	empty   seenBlock // of entities that were never seen
	vacant  []vacancy // blocks without a visible entity, the oldest first
	slots   int32     // the highest slot that was ever used; see ackPage.slot

	freeSlots   []int32
	sparePages  []*ackPage
	spareBlocks []*seenBlock
}

// vacancy is a block without a visible entity, named by one of its indexes, and the tick in which it is to be forgotten.
type vacancy struct {
	index uint32
	at    tick.Tick
}

// growPages makes room for n indexes.
func (p *seenPages) growPages(n, room int) {
	if p.nothing.blocks[0] == nil {
		for i := range p.nothing.blocks {
			p.nothing.blocks[i] = &p.empty
		}
	}
	had := len(p.pages)
	p.indexes = n
	p.pages = grown(p.pages, (n+format.PageEntities-1)/format.PageEntities, (room+format.PageEntities-1)/format.PageEntities)
	for i := had; i < len(p.pages); i++ {
		p.pages[i] = &p.nothing
	}
	p.seen = p.seen.grownTo(len(p.pages))
}

// life returns the lifetime of an index. It may be changed only for an index that enter has reached.
func (p *seenPages) life(index uint32) *seenLife {
	return &p.pages[index/format.PageEntities].blocks[index/blockEntities%blocksInPage].lives[index%blockEntities]
}

// record returns the ack record of an index. It may be changed only for an index that enter has reached.
func (g *ackPage) record(index uint32) *ackRecord {
	return &g.blocks[index/blockEntities%blocksInPage].acks[index%blockEntities]
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
		*g = ackPage{blocks: p.nothing.blocks}
		p.pages[w] = g
		p.seen.set(w)
		p.count++
	}
	b := &p.pages[w].blocks[index/blockEntities%blocksInPage]
	if *b != &p.empty {
		return
	}
	if n := len(p.spareBlocks); n > 0 {
		*b, p.spareBlocks = p.spareBlocks[n-1], p.spareBlocks[:n-1]
		return
	}
	*b = &seenBlock{}
}

// takeSlot gives a page its place in recentRecords.pages, when the first record of it is sent.
func (p *seenPages) takeSlot(g *ackPage) {
	if n := len(p.freeSlots); n > 0 {
		g.slot, p.freeSlots = p.freeSlots[n-1], p.freeSlots[:n-1]
		return
	}
	p.slots++
	g.slot = p.slots
}

// spared is the number of pages whose memory is kept for later ones, beside half as many as are seen.
const spared = 8

// dropBlock forgets the states of a block of a page, and keeps the memory for others.
func (p *seenPages) dropBlock(b **seenBlock) {
	**b = seenBlock{}
	p.spareBlocks = trimmed(append(room(p.spareBlocks, 1, usualList), *b), p.count+spared)
	*b = &p.empty
}

// dropPage forgets a page without blocks, and keeps its memory for others.
func (p *seenPages) dropPage(w uint32) {
	g := p.pages[w]
	p.pages[w] = &p.nothing
	p.seen.unset(w)
	p.count--
	if g.slot > 0 {
		p.freeSlots = append(room(p.freeSlots, 1, usualList), g.slot)
	}
	p.sparePages = trimmed(append(room(p.sparePages, 1, usualList), g), p.count/2+spared)
}

// trimmed returns the first so many elements of a list, and forgets the others.
func trimmed[T any](s []*T, most int) []*T {
	if len(s) <= most {
		return s
	}
	clear(s[most:])
	return s[:most]
}

// vacate notes that an entity has left sight. The states of its block, and the page, are forgotten as soon as nothing depends on them.
func (v *View) vacate(index uint32) {
	w, i := index/format.PageEntities, index/blockEntities%blocksInPage
	g := v.pages[w]
	of := uint64(1<<blockEntities-1) << (i * blockEntities)
	if v.visible[w]&of != 0 || g.vacant>>i&1 != 0 {
		return
	}
	if !v.forgettable(w, of, g.blocks[i]) {
		g.vacant |= 1 << i
		v.vacant = append(room(v.vacant, 1, usualList), vacancy{index, v.store.tick + v.store.cfg.Window})
		return
	}
	if v.dropBlock(&g.blocks[i]); g.blocks == v.nothing.blocks { // the client has no record of the page that is younger than W
		v.recent.dropPage(g.slot)
		v.dropPage(w)
	}
}

// dropVacant forgets blocks that have been vacant for a while.
func (v *View) dropVacant() {
	n := 0
	for n < len(v.vacant) && v.vacant[n].at <= v.store.tick {
		index := v.vacant[n].index
		v.pages[index/format.PageEntities].vacant &^= 1 << (index / blockEntities % blocksInPage)
		n++
		v.vacate(index)
	}
	v.vacant = v.vacant[:copy(v.vacant, v.vacant[n:])]
}

// forgettable reports whether the states of a block may be forgotten: nothing of its entities waits, the client has none of them, no packet
// with them is remembered (hidSince), and their last lifetimes ended W ago: no list names a tick with a record of them, and SawAt
// need not know them.
func (v *View) forgettable(w uint32, of uint64, b *seenBlock) bool {
	if (v.unsent[w]|v.unacked[w]|v.despawnOwed[w]|v.retained[w])&of != 0 {
		return false
	}
	now, window, since := v.store.tick, v.store.cfg.Window, v.sent.since()
	for i := range b.acks {
		went := b.acks[i].went
		if e := &b.lives[i]; e.shownGeneration != 0 || went != tick.None && (went >= since || now-e.lastEnd < window) {
			return false
		}
	}
	return true
}
