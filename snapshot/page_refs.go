package snapshot

import (
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// tickRecords is the records of one tick, by ackPage.slot. The pages of a tick are neighbours in memory, since they are sent and
// acknowledged together.
type tickRecords struct {
	tick  tick.Tick
	of    []uint64 // entities of the page with a record
	waits []uint8  // groups of the page that were sent and are not acknowledged; at most 64, since an entity has one record in a tick
}

// recentRecords stores the tickRecords of the newest ticks of a View, by tick modulo the length, a power of two.
type recentRecords []tickRecords

const (
	// firstTicks and mostTicks bound the number of ticks: it is larger than the ticks that an acknowledgement takes.
	firstTicks = 32
	mostTicks  = 256
	// slotsTogether is the number of pages to make room for at once.
	slotsTogether = 16
)

// slot returns the slot of a tick.
func (s recentRecords) slot(t tick.Tick) *tickRecords { return &s[int(t)&(len(s)-1)] }

// has reports whether the records of a tick are remembered.
func (s recentRecords) has(t tick.Tick) bool { return len(s) > 0 && s.slot(t).tick == t }

// at returns the entities of a page with a record of a tick, and the groups of these that are not acknowledged. It returns no entities if
// there are none or the tick is forgotten.
func (s recentRecords) at(t tick.Tick, page int32) (of uint64, waits uint8) {
	if !s.has(t) {
		return 0, 0
	}
	if r := s.slot(t); int(page) < len(r.of) {
		return r.of[page], r.waits[page]
	}
	return 0, 0
}

// of returns the entities of a page with a record of a tick.
func (s recentRecords) of(t tick.Tick, page int32) uint64 {
	of, _ := s.at(t, page)
	return of
}

// dropPage forgets the records of a page.
func (s recentRecords) dropPage(page int32) {
	for i := range s {
		if r := &s[i]; int(page) < len(r.of) {
			r.of[page], r.waits[page] = 0, 0
		}
	}
}

// sent notes records of the newest tick of a page, and the new groups of these. It forgets the tick that had the slot before.
func (s *recentRecords) sent(t tick.Tick, page int32, of uint64, groups uint8, pages int) {
	if len(*s) == 0 {
		*s = make(recentRecords, firstTicks)
	}
	r := s.slot(t)
	if r.tick != t {
		r.tick = t
		clear(r.of)
		clear(r.waits)
	}
	room := (pages + slotsTogether - 1) &^ (slotsTogether - 1)
	r.of, r.waits = grown(r.of, pages, room), grown(r.waits, pages, room)
	r.of[page] |= of
	r.waits[page] += groups
}

// late doubles the number of ticks if an acknowledgement came as many ticks late.
func (s *recentRecords) late(ticks tick.Tick) {
	n := len(*s)
	if n == 0 || n == mostTicks || ticks < tick.Tick(n) {
		return
	}
	old := *s
	*s = make(recentRecords, 2*n)
	for _, r := range old {
		if r.tick != tick.None {
			*s.slot(r.tick) = r
		}
	}
}

// noteSentRefs notes records of tick t of some entities of a page. group tells that they are a new group of a packet, else they joined one.
func (v *View) noteSentRefs(w uint32, t tick.Tick, of uint64, group bool) {
	g := v.pages[w]
	if g.slot == 0 {
		v.takeSlot(g)
	}
	groups := uint8(0)
	if group {
		groups = 1
	}
	v.recent.sent(t, g.slot, of, groups, int(v.slots)+1)
	g.newest = t
	// A packet of this tick was acknowledged before, and its page is no longer complete.
	if group && (g.newestComplete == t || g.ref == t || g.near == t) {
		v.findRefs(w, t)
	}
}

// noteAckedRefs notes the acknowledgement of one group of tick t of a page. If the tick is complete by that, it updates R and N.
func (v *View) noteAckedRefs(w uint32, t tick.Tick) {
	g := v.pages[w]
	if _, waits := v.recent.at(t, g.slot); waits == 0 {
		return
	}
	v.recent.slot(t).waits[g.slot]--
	if v.completeAt(g, t) != 0 {
		v.findRefs(w, max(t, g.newestComplete))
	}
}

// completeAt returns the entities of a page with a record of tick t if the client has acknowledged every group of it.
func (v *View) completeAt(g *ackPage, t tick.Tick) uint64 {
	if of, waits := v.recent.at(t, g.slot); waits == 0 {
		return of
	}
	return 0
}

// findRefs searches R and N of a page among the ticks up to now.
func (v *View) findRefs(w uint32, now tick.Tick) {
	g := v.pages[w]
	was := g.ref
	g.clearRefs()
	for t := now; t > g.resyncedAt && now-t < mostTicks && g.ref == tick.None; t-- {
		of := v.completeAt(g, t)
		if of == 0 {
			continue
		}
		g.ref, g.refOf = t, of
		if g.newestComplete == tick.None {
			g.newestComplete, g.newestCompleteOf = t, of
			if g.preferEven && t%2 != 0 && v.completeAt(g, t-1) != 0 {
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
		if of := v.completeAt(g, t); of != 0 {
			if g.near, g.nearOf = t, of; g.ref-t >= tick.Tick(g.distance) {
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
