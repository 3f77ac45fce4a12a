package snapshot

import (
	"math"

	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// sentGroup is the records of one page in a packet that have the same rows and the same span; or one despawn.
type sentGroup struct {
	of   uint64 // entities of the page
	rows Mask   // rows of each record
	word uint32 // number of the page
	// span is the packet's tick minus the base tick of the records, at most maxSpan. It is 0 if there is no base tick, if that is
	// further back, or if the rows were others there.
	span    uint16
	despawn bool
}

// spanOf returns a number of ticks as sentGroup.span stores it.
func spanOf(ticks tick.Tick) uint16 {
	if ticks > maxSpan {
		return 0
	}
	return uint16(ticks)
}

// sentPacket is the content of a sent packet. It is valid until another packet takes its slot.
type sentPacket struct {
	seq     uint64    // sequence of the packet; 0: the slot was never used
	tick    tick.Tick // S
	first   uint64    // position of its first group in the ring of groups
	n       int       // number of groups
	records int       // number of records in the groups
	part    int       // payloads of the same tick before this one
	pending bool      // neither acknowledged nor lost
	acked   bool
}

// sentRing stores the contents of the newest packets, in bounded memory. An acknowledgement turns the records of a packet into
// baselines; a loss puts their entities back into unsent. While the memory is full of pending packets, no snapshot is sent.
type sentRing struct {
	packets []sentPacket // by sequence modulo the length, a power of two
	groups  []sentGroup  // by position modulo the length, a power of two
	most    int          // most packets to remember; the most groups are entriesPerPacket times as many
	next    uint64       // position of the next group
	held    uint64       // position of the first group of the oldest packet
	oldest  uint64       // sequence of the oldest packet that is remembered
	newest  uint64       // sequence of the newest packet
}

// entriesPerPacket is the average number of groups of a packet that there is room for. One packet may have up to maxRecords.
const (
	entriesPerPacket = 32
	maxRecords       = 1024
	firstEntries     = 128 // the first room for groups; small, so that it stays in the processor's cache from tick to tick
	firstPackets     = 64
	maxSpan          = math.MaxUint16
)

// newSentRing returns an empty ring for at most so many packets, rounded up to a power of two.
func newSentRing(packets int) sentRing {
	for packets&(packets-1) != 0 {
		packets++ // as long as the connection's ring, so that both forget a packet together
	}
	return sentRing{packets: make([]sentPacket, min(firstPackets, packets)), groups: make([]sentGroup, firstEntries), most: packets}
}

// get returns a packet that is remembered, nil for any other sequence.
func (r *sentRing) get(seq uint64) *sentPacket {
	p := &r.packets[seq&uint64(len(r.packets)-1)]
	if p.seq != seq || seq == 0 || seq < r.oldest {
		return nil
	}
	return p
}

// open takes the slot of a new packet and makes room for maxRecords groups. It returns nil if there is no room without forgetting a
// pending packet, or one of the same tick. To forget these would be worse: their entities would be sent again, and their
// acknowledgements would make no baseline. With a round trip longer than the ring that would never end.
//
// The slots follow the connection's ring, which sends no packet in the place of a pending one. If that happens all the same,
// overwritten is called with the pending packet.
func (r *sentRing) open(seq uint64, t tick.Tick, overwritten func(*sentPacket)) *sentPacket {
	if r.newest == 0 {
		r.oldest = seq
	}
	for ; r.oldest < r.newest; r.oldest++ { // the oldest acknowledged packets are not needed any more
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

// mostEntries returns the most groups to remember.
func (r *sentRing) mostEntries() uint64 { return uint64(max(4*maxRecords, r.most*entriesPerPacket)) }

// remember doubles the number of packets to remember. It returns false if that is the most already.
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

// addGroup adds records of some entities of a page to the packet that was opened last. It joins them with a group that has the same
// rows and span. It reports whether it made a new group.
func (r *sentRing) addGroup(p *sentPacket, e sentGroup) (made bool) {
	if !e.despawn {
		for i := p.n - 1; i >= 0; i-- {
			g := r.group(p, i)
			if g.word != e.word || g.despawn {
				break // the groups of a page are neighbours
			}
			if g.rows == e.rows && g.span == e.span {
				g.of |= e.of
				return false
			}
		}
	}
	if r.next-r.held == uint64(len(r.groups)) {
		// The content twice: each position finds its group in one of the halves.
		r.groups = append(append(make([]sentGroup, 0, 2*len(r.groups)), r.groups...), r.groups...)
	}
	r.groups[r.next&uint64(len(r.groups)-1)] = e
	r.next++
	p.n++
	return true
}

// group returns the i-th group of a packet.
func (r *sentRing) group(p *sentPacket, i int) *sentGroup {
	return &r.groups[(p.first+uint64(i))&uint64(len(r.groups)-1)]
}

// cancel forgets the packet that was opened last, which is not sent.
func (r *sentRing) cancel(p *sentPacket) {
	r.next = p.first
	*p = sentPacket{}
}

// sentPage is the records of one page in all packets of one tick.
type sentPage struct {
	of          uint64 // entities with a record
	sent, acked uint16 // groups that were sent, and groups that were acknowledged
}

// sentPages stores the sentPage of each page for the newest ticks of a View. The pages of a tick are neighbours in memory, since they
// are sent and acknowledged together.
type sentPages struct {
	ticks []tick.Tick  // by tick modulo the length, a power of two: the tick in this slot
	pages [][]sentPage // by slot and page
}

const (
	// firstTicks and mostTicks bound the number of ticks: it is larger than the ticks that an acknowledgement takes.
	firstTicks = 32
	mostTicks  = 256
)

// slot returns the slot of a tick.
func (s *sentPages) slot(t tick.Tick) int { return int(t) & (len(s.ticks) - 1) }

// has reports whether the records of a tick are remembered.
func (s *sentPages) has(t tick.Tick) bool { return len(s.ticks) > 0 && s.ticks[s.slot(t)] == t }

// at returns the records of a page of a tick. It returns nil if there are none or the tick is forgotten.
func (s *sentPages) at(t tick.Tick, w uint32) *sentPage {
	if !s.has(t) {
		return nil
	}
	if pages := s.pages[s.slot(t)]; int(w) < len(pages) && pages[w].of != 0 {
		return &pages[w]
	}
	return nil
}

// pageOf returns a page of the newest tick, for changes. It forgets the tick that had the slot before.
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

// late doubles the number of ticks if an acknowledgement came as many ticks late.
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

// sentAt notes records of tick t of some entities of a page. group tells that they are a new group of a packet, else they joined one.
func (v *View) sentAt(w uint32, t tick.Tick, of uint64, group bool) {
	b := v.recent.pageOf(t, w, len(v.pages), cap(v.pages))
	b.of |= of
	if !group {
		return
	}
	b.sent++
	// A packet of this tick was acknowledged before, and its page is no longer complete.
	if g := &v.pages[w]; b.acked > 0 && (g.top == t || g.ref == t || g.near == t) {
		v.findRefs(w, t)
	}
}

// ackedAt notes the acknowledgement of one group of tick t of a page. If the tick is complete by that, it updates R and N.
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

// complete reports whether every group of tick t of the page was acknowledged, after the newest resync.
func (g *ackPage) complete(b *sentPage, t tick.Tick) bool { return b.acked == b.sent && t > g.lost }

// findRefs searches R and N of a page among the ticks up to now.
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
					g.ref, g.refOf = tick.None, 0 // R is the even tick before
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

// forget makes every tick up to now unusable as R.
func (g *ackPage) forget(now tick.Tick) {
	g.lost = now
	g.none()
}

// none clears the newest complete tick, R and N.
func (g *ackPage) none() {
	g.top, g.topOf, g.ref, g.refOf, g.near, g.nearOf = tick.None, 0, tick.None, 0, tick.None, 0
}
