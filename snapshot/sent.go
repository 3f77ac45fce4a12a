package snapshot

import (
	"math"

	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// sentGroup is records of one page that a packet carries, all with the same rows and the same age of the baseline; or one
// despawn.
type sentGroup struct {
	of   uint64 // entities of the page
	rows Mask   // that each record has
	word uint32 // number of the page
	// span is the ticks from the baseline of the records to the packet's tick; 0: they have none, or one with other rows, or one
	// that lies too far back for a record against these to use it.
	span    uint16
	despawn bool
}

// spanOf returns a span as a group has it.
func spanOf(ticks tick.Tick) uint16 {
	if ticks > maxSpan {
		return 0
	}
	return uint16(ticks)
}

// sentPacket says what a packet carried, until its slot is used again.
type sentPacket struct {
	seq     uint64 // 0 = never used
	tick    tick.Tick
	first   uint64 // position of its first group in the ring of groups
	n       int    // groups
	records int    // in them
	part    int    // payloads of the same tick before it
	pending bool   // neither acknowledged nor lost
	acked   bool
}

// sentRing remembers what the last packets carried, in bounded memory: an
// acknowledgement turns a packet's records into baselines, a loss puts them
// back into unsent. Where that memory is full of pending packets nothing is sent.
type sentRing struct {
	packets []sentPacket // by sequence modulo length, a power of two
	groups  []sentGroup  // by position modulo length, a power of two
	most    int          // packets that are remembered at most; of groups, as many as they have on average
	next    uint64       // position of the next group
	held    uint64       // and of the first one of the oldest packet whose entries are held
	oldest  uint64       // sequence of the oldest packet whose entries are held
	newest  uint64
}

// entriesPerPacket is the average that the entry ring has room for; a packet
// may carry up to maxRecords.
const (
	entriesPerPacket = 32
	maxRecords       = 1024
	firstEntries     = 128 // the room there is at first: little memory stays in the processor's cache from tick to tick
	firstPackets     = 64
	maxSpan          = math.MaxUint16
)

func newSentRing(packets int) sentRing {
	for packets&(packets-1) != 0 {
		packets++ // as the connection's own ring, so that both forget together
	}
	return sentRing{packets: make([]sentPacket, min(firstPackets, packets)), groups: make([]sentGroup, firstEntries), most: packets}
}

// get finds a packet that is still remembered.
func (r *sentRing) get(seq uint64) *sentPacket {
	p := &r.packets[seq&uint64(len(r.packets)-1)]
	if p.seq != seq || seq == 0 || seq < r.oldest {
		return nil
	}
	return p
}

// open makes the slot of a new packet and room for maxRecords entries. It returns
// nil where a pending packet would have to be forgotten for the entries, or one of
// the same tick: what it carried would be sent again, and its acknowledgement would
// say nothing, for ever where a round trip is longer than what there is room for.
//
// The slots follow the connection's ring, which lets no packet go out that takes
// the place of a pending one; overwritten is told if one does so all the same.
func (r *sentRing) open(seq uint64, t tick.Tick, overwritten func(*sentPacket)) *sentPacket {
	if r.newest == 0 {
		r.oldest = seq
	}
	for ; r.oldest < r.newest; r.oldest++ { // of the oldest that are acknowledged nothing is asked any more
		if p := r.get(r.oldest); p != nil && !p.acked {
			break
		}
	}
	for r.oldest < seq {
		p, remembered := r.get(r.oldest), seq-r.oldest < uint64(len(r.packets))
		if remembered && p != nil && r.next+maxRecords-p.first <= r.mostEntries() {
			break
		}
		if !remembered && r.remember() {
			continue
		}
		if p != nil && p.pending {
			if remembered || p.tick == t {
				return nil
			}
			overwritten(p)
		}
		r.oldest++
	}
	r.newest = seq
	p := &r.packets[seq&uint64(len(r.packets)-1)]
	*p = sentPacket{seq: seq, tick: t, first: r.next, pending: true}
	r.held = r.packets[r.oldest&uint64(len(r.packets)-1)].first
	return p
}

// mostEntries is the most room for entries: as much as the most packets take on average.
func (r *sentRing) mostEntries() uint64 { return uint64(max(4*maxRecords, r.most*entriesPerPacket)) }

// remember doubles the room for packets, up to the most.
func (r *sentRing) remember() bool {
	n := len(r.packets)
	if n >= r.most {
		return false
	}
	old := r.packets
	r.packets = make([]sentPacket, 2*n)
	for _, p := range old {
		if p.seq != 0 {
			r.packets[p.seq%uint64(2*n)] = p
		}
	}
	return true
}

// addGroup notes records of some entities of a page in the packet that was opened last. It reports whether that made a group.
func (r *sentRing) addGroup(p *sentPacket, e sentGroup) (made bool) {
	if !e.despawn {
		for i := p.n - 1; i >= 0; i-- {
			g := r.group(p, i)
			if g.word != e.word || g.despawn {
				break // the groups of a page are next to each other
			}
			if g.rows == e.rows && g.span == e.span {
				g.of |= e.of
				return false
			}
		}
	}
	if r.next-r.held == uint64(len(r.groups)) {
		r.groups = append(append(make([]sentGroup, 0, 2*len(r.groups)), r.groups...), r.groups...) // a position is now in the one half or in the other
	}
	r.groups[r.next&uint64(len(r.groups)-1)] = e
	r.next++
	p.n++
	return true
}

// group is the i-th group of a packet.
func (r *sentRing) group(p *sentPacket, i int) *sentGroup {
	return &r.groups[(p.first+uint64(i))&uint64(len(r.groups)-1)]
}

// cancel forgets a packet that was opened and then not sent after all.
func (r *sentRing) cancel(p *sentPacket) {
	r.next = p.first
	*p = sentPacket{}
}

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

// slot returns the place of a tick.
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
	i := int(t) & (len(s.ticks) - 1)
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
		v.findRefs(w, t)
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
	case plain.On || g.even || g.ref != g.top:
		v.findRefs(w, max(t, g.top))
	case t > g.ref:
		if g.near, g.nearOf = tick.None, 0; g.ref != tick.None && t-g.ref <= format.MaxNear {
			g.near, g.nearOf = g.ref, g.refOf
		}
		g.ref, g.refOf = t, b.of
		g.top, g.topOf = g.ref, g.refOf
	case t > g.near && t < g.ref && g.ref-t <= format.MaxNear:
		g.near, g.nearOf = t, b.of
	}
}

// complete reports whether the client holds every record of the page of a tick, and nothing else of the page of that tick.
func (g *ackPage) complete(b *sentPage, t tick.Tick) bool { return b.acked == b.sent && t > g.lost }

// findRefs finds R and N of a page anew: of the ticks up to now.
func (v *View) findRefs(w uint32, now tick.Tick) {
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
		case g.ref-t <= format.MaxNear:
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
