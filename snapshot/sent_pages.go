package snapshot

import "github.com/arche-netcode/netcode/tick"

// sentPage is the records of a page that were sent in one tick.
type sentPage struct {
	of          uint64 // their entities
	sent, acked uint16 // groups of records in packets, and how many of them were acknowledged
}

// sentPages remembers, for the newest ticks of a View, the records of each page. A tick's pages lie side by side, since they
// are sent together and acknowledged together.
type sentPages struct {
	ticks []tick.Tick  // by tick modulo their number: which tick it is; their number is a power of two
	pages [][]sentPage // by the same, and page
}

const (
	// firstTicks and mostTicks bound how many ticks are remembered: more than acknowledgements take.
	firstTicks = 32
	mostTicks  = 256
)

// slot is where a tick is, or would be.
func (s *sentPages) slot(t tick.Tick) int { return int(t) & (len(s.ticks) - 1) }

// has reports whether the records of a tick are remembered.
func (s *sentPages) has(t tick.Tick) bool { return len(s.ticks) > 0 && s.ticks[s.slot(t)] == t }

// at returns the records of a page of a tick, nil where there are none or they are forgotten.
func (s *sentPages) at(t tick.Tick, w uint32) *sentPage {
	if !s.has(t) {
		return nil
	}
	if pages := s.pages[s.slot(t)]; int(w) < len(pages) && pages[w].of != 0 {
		return &pages[w]
	}
	return nil
}

// pageOf returns a page of a tick, the newest there is. It forgets the tick that had its place.
func (s *sentPages) pageOf(t tick.Tick, w uint32, count, want int) *sentPage {
	if len(s.ticks) == 0 {
		s.ticks, s.pages = make([]tick.Tick, firstTicks), make([][]sentPage, firstTicks)
	}
	i := s.slot(t)
	if s.ticks[i] != t {
		s.ticks[i] = t
		clear(s.pages[i])
	}
	s.pages[i] = grown(s.pages[i], count, want)
	return &s.pages[i][w]
}

// late makes room for more ticks where an acknowledgement took so many.
func (s *sentPages) late(ticks tick.Tick) {
	n := len(s.ticks)
	if n == 0 || n == mostTicks || ticks < tick.Tick(n) {
		return
	}
	old := *s
	s.ticks, s.pages = make([]tick.Tick, 2*n), make([][]sentPage, 2*n)
	for i, t := range old.ticks {
		s.ticks[s.slot(t)], s.pages[s.slot(t)] = t, old.pages[i]
	}
}

// sentAt notes that a packet of this tick has records of some entities of a page: more of a group that it has, or one group more.
func (v *View) sentAt(w uint32, t tick.Tick, of uint64, group bool) {
	b := v.recent.pageOf(t, w, len(v.pages), cap(v.pages))
	b.of |= of
	if !group {
		return
	}
	b.sent++
	if g := &v.pages[w]; b.acked > 0 && (g.top == t || g.ref == t || g.near == t) { // a packet of this tick was acknowledged already
		v.chooseRefs(w, t)
	}
}

// ackedAt notes that a group of records of tick t of a page was acknowledged.
func (v *View) ackedAt(w uint32, t tick.Tick) {
	b := v.recent.at(t, w)
	if b == nil {
		return
	}
	b.acked++
	g := &v.pages[w]
	if !g.complete(b, t) {
		return
	}
	switch {
	case g.even || g.ref != g.top:
		v.chooseRefs(w, max(t, g.top))
	case t > g.ref:
		if g.near, g.nearOf = tick.None, 0; g.ref != tick.None && t-g.ref <= mostNear {
			g.near, g.nearOf = g.ref, g.refOf
		}
		g.ref, g.refOf = t, b.of
		g.top, g.topOf = g.ref, g.refOf
	case t > g.near && t < g.ref && g.ref-t <= mostNear:
		g.near, g.nearOf = t, b.of
	}
}

// complete reports whether the client holds every record of the page of a tick, and nothing else of the page of that tick.
func (g *ackPage) complete(b *sentPage, t tick.Tick) bool { return b.acked == b.sent && t > g.lost }

// chooseRefs finds R and N of a page anew: of the ticks up to now.
func (v *View) chooseRefs(w uint32, now tick.Tick) {
	g := &v.pages[w]
	g.none()
	for t := now; t > g.lost && now-t < mostTicks; t-- {
		b := v.recent.at(t, w)
		switch {
		case b == nil || !g.complete(b, t):
		case g.ref == tick.None:
			g.ref, g.refOf = t, b.of
			if g.top == tick.None {
				g.top, g.topOf = t, b.of
				if e := v.recent.at(t-1, w); g.even && t%2 != 0 && e != nil && g.complete(e, t-1) {
					g.ref, g.refOf = tick.None, 0 // but the one before
				}
			}
		case g.ref-t <= mostNear:
			g.near, g.nearOf = t, b.of
			return
		default:
			return
		}
	}
}

// forget makes no tick up to now one that records can be coded against.
func (g *ackPage) forget(now tick.Tick) {
	g.lost = now
	g.none()
}

// none says that no tick of a page is complete.
func (g *ackPage) none() {
	g.top, g.topOf, g.ref, g.refOf, g.near, g.nearOf = tick.None, 0, tick.None, 0, tick.None, 0
}
