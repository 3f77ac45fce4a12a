package snapshot

import (
	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// tickRecords is the records of one page in all packets of one tick.
type tickRecords struct {
	of          uint64 // entities with a record
	sent, acked uint16 // groups that were sent, and groups that were acknowledged
}

// recentRecords stores the tickRecords of each page for the newest ticks of a View. The pages of a tick are neighbours in memory, since they
// are sent and acknowledged together.
type recentRecords struct {
	ticks []tick.Tick     // by tick modulo the length, a power of two: the tick in this slot
	pages [][]tickRecords // by slot and ackPage.slot
}

const (
	// firstTicks and mostTicks bound the number of ticks: it is larger than the ticks that an acknowledgement takes.
	firstTicks = 32
	mostTicks  = 256
	// slotsTogether is the number of pages to make room for at once.
	slotsTogether = 16
)

// slot returns the slot of a tick.
func (s *recentRecords) slot(t tick.Tick) int { return int(t) & (len(s.ticks) - 1) }

// has reports whether the records of a tick are remembered.
func (s *recentRecords) has(t tick.Tick) bool { return len(s.ticks) > 0 && s.ticks[s.slot(t)] == t }

// at returns the records of a page of a tick. It returns nil if there are none or the tick is forgotten.
func (s *recentRecords) at(t tick.Tick, page int32) *tickRecords {
	if !s.has(t) {
		return nil
	}
	if pages := s.pages[s.slot(t)]; int(page) < len(pages) && pages[page].of != 0 {
		return &pages[page]
	}
	return nil
}

// dropPage forgets the records of a page.
func (s *recentRecords) dropPage(page int32) {
	for _, pages := range s.pages {
		if int(page) < len(pages) {
			pages[page] = tickRecords{}
		}
	}
}

// pageOf returns a page of the newest tick, for changes. It forgets the tick that had the slot before.
func (s *recentRecords) pageOf(t tick.Tick, page int32, count int) *tickRecords {
	if len(s.ticks) == 0 {
		s.ticks, s.pages = make([]tick.Tick, firstTicks), make([][]tickRecords, firstTicks)
	}
	i := int(t) & (len(s.ticks) - 1)
	if s.ticks[i] != t {
		s.ticks[i] = t
		clear(s.pages[i])
	}
	s.pages[i] = grown(s.pages[i], count, (count+slotsTogether-1)&^(slotsTogether-1))
	return &s.pages[i][page]
}

// late doubles the number of ticks if an acknowledgement came as many ticks late.
func (s *recentRecords) late(ticks tick.Tick) {
	n := len(s.ticks)
	if n == 0 || n == mostTicks || ticks < tick.Tick(n) {
		return
	}
	old := *s
	s.ticks, s.pages = make([]tick.Tick, 2*n), make([][]tickRecords, 2*n)
	for i, t := range old.ticks {
		s.ticks[s.slot(t)], s.pages[s.slot(t)] = t, old.pages[i]
	}
}

// noteSentRefs notes records of tick t of some entities of a page. group tells that they are a new group of a packet, else they joined one.
func (v *View) noteSentRefs(w uint32, t tick.Tick, of uint64, group bool) {
	g := v.pages[w]
	if g.slot == 0 {
		v.takeSlot(g)
	}
	b := v.recent.pageOf(t, g.slot, int(v.slots)+1)
	b.of |= of
	g.newest = t
	if !group {
		return
	}
	b.sent++
	// A packet of this tick was acknowledged before, and its page is no longer complete.
	if b.acked > 0 && (g.newestComplete == t || g.ref == t || g.near == t) {
		v.findRefs(w, t)
	}
}

// noteAckedRefs notes the acknowledgement of one group of tick t of a page. If the tick is complete by that, it updates R and N. Its switch equals
// findRefs, which plain builds call each time.
func (v *View) noteAckedRefs(w uint32, t tick.Tick) {
	g := v.pages[w]
	b := v.recent.at(t, g.slot)
	if b == nil {
		return
	}
	b.acked++
	if !g.complete(b, t) {
		return
	}
	switch {
	case plain.On || g.preferEven || g.ref != g.newestComplete:
		v.findRefs(w, max(t, g.newestComplete))
	case t > g.ref:
		was, wasOf := g.ref, g.refOf
		g.ref, g.refOf = t, b.of
		g.newestComplete, g.newestCompleteOf = g.ref, g.refOf
		if g.chooseDistance(w); g.distance > 1 {
			v.findNear(w)
		} else if g.near, g.nearOf = tick.None, 0; was != tick.None && t-was <= format.MaxNear {
			g.near, g.nearOf = was, wasOf
		}
	case t < g.ref && g.ref-t <= format.MaxNear:
		v.findNear(w)
	}
}

// complete reports whether every group of tick t of the page was acknowledged, after the newest resync.
func (g *ackPage) complete(b *tickRecords, t tick.Tick) bool {
	return b.acked == b.sent && t > g.resyncedAt
}

// findRefs searches R and N of a page among the ticks up to now.
func (v *View) findRefs(w uint32, now tick.Tick) {
	g := v.pages[w]
	was := g.ref
	g.clearRefs()
	for t := now; t > g.resyncedAt && now-t < mostTicks && g.ref == tick.None; t-- {
		b := v.recent.at(t, g.slot)
		if b == nil || !g.complete(b, t) {
			continue
		}
		g.ref, g.refOf = t, b.of
		if g.newestComplete == tick.None {
			g.newestComplete, g.newestCompleteOf = t, b.of
			if e := v.recent.at(t-1, g.slot); g.preferEven && t%2 != 0 && e != nil && g.complete(e, t-1) {
				g.ref, g.refOf = tick.None, 0 // R is the even tick before
			}
		}
	}
	if g.ref != was {
		g.chooseDistance(w)
	}
	v.findNear(w)
}

// findNear searches N of a page: the newest complete tick that is distance ticks before R or more. Without one it is the oldest complete
// tick before R. N is at most format.MaxNear ticks before R.
func (v *View) findNear(w uint32) {
	g := v.pages[w]
	g.near, g.nearOf = tick.None, 0
	if g.ref == tick.None {
		return
	}
	for t := g.ref - 1; t > g.resyncedAt && g.ref-t <= format.MaxNear; t-- {
		if b := v.recent.at(t, g.slot); b != nil && g.complete(b, t) {
			if g.near, g.nearOf = t, b.of; g.ref-t >= tick.Tick(g.distance) {
				return
			}
		}
	}
}

// forget makes every tick up to now unusable as R.
func (g *ackPage) forget(now tick.Tick) {
	g.resyncedAt = now
	g.clearRefs()
}

// clearRefs clears the newest complete tick, R and N.
func (g *ackPage) clearRefs() {
	g.newestComplete, g.newestCompleteOf, g.ref, g.refOf, g.near, g.nearOf = tick.None, 0, tick.None, 0, tick.None, 0
}
