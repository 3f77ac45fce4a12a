package snapshot

import (
	"math"

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
	n       int       // number of groups; 0 as well if it was acknowledged and compact dropped them
	records int       // number of records in the groups
	pending bool      // neither acknowledged nor lost
	acked   bool
}

// sentRing stores the contents of the newest packets, in bounded memory. An acknowledgement turns the records of a packet into
// baselines; a loss puts their entities back into unsent. While the memory is full of pending packets, no snapshot is sent.
type sentRing struct {
	packets     []sentPacket // by sequence modulo the length, a power of two
	groups      []sentGroup  // by position modulo the length, a power of two
	most        int          // most packets to remember; the most groups are entriesPerPacket times as many
	window      tick.Tick    // W: a lost packet that is older makes no baseline any more, and is forgotten
	next        uint64       // position of the next group
	oldestGroup uint64       // position of the first group of the oldest packet
	oldest      uint64       // sequence of the oldest packet that is remembered
	newest      uint64       // sequence of the newest packet
	acked       uint64       // sequence of the newest acknowledged packet
}

// entriesPerPacket is the average number of groups of a packet that there is room for. One packet may have up to maxRecords.
const (
	entriesPerPacket = 32
	maxRecords       = 1024
	firstEntries     = 128 // the first room for groups; small, so that it stays in the processor's cache from tick to tick
	firstPackets     = 64
	maxSpan          = math.MaxUint16
	// ackedBehind is the number of packets before an acknowledged one that later acknowledgements may name. The packet layer names 32 of
	// them; others are for acknowledgements that were overtaken.
	ackedBehind = 48
)

// newSentRing returns an empty ring for at most so many packets, rounded up to a power of two.
func newSentRing(packets int, window tick.Tick) sentRing {
	for packets&(packets-1) != 0 {
		packets++ // as long as the connection's ring, so that both forget a packet together
	}
	return sentRing{packets: make([]sentPacket, min(firstPackets, packets)), groups: make([]sentGroup, firstEntries), most: packets, window: window}
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
		if p := r.get(r.oldest); p != nil && !p.acked && !r.useless(p, t) {
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
	r.oldestGroup = r.packets[r.oldest&uint64(len(r.packets)-1)].first
	return p
}

// useless reports whether a packet is lost and makes no baseline any more: it is W old, or no acknowledgement can name it.
func (r *sentRing) useless(p *sentPacket, t tick.Tick) bool {
	return !p.pending && (t-p.tick >= r.window || p.seq+ackedBehind < r.acked)
}

// since returns the tick of the oldest packet that is remembered and not acknowledged, the highest of all without one.
func (r *sentRing) since() tick.Tick {
	for seq := r.oldest; seq <= r.newest; seq++ {
		if p := r.get(seq); p != nil && !p.acked {
			return p.tick
		}
	}
	return math.MaxInt64
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
	if n := len(r.groups); r.next-r.oldestGroup == uint64(n) {
		r.compact(p.tick)
		switch used := int(r.next - r.oldestGroup); {
		case used > n-n/8:
			r.resize(2 * n)
		case used <= n/3 && n > firstEntries: // the room was for the first sight of a world, or for a long loss
			r.resize(n / 2)
		}
	}
	r.groups[r.next&uint64(len(r.groups)-1)] = e
	r.next++
	p.n++
	return true
}

// resize changes the room for groups to n, a power of two.
func (r *sentRing) resize(n int) {
	groups := make([]sentGroup, n)
	for at := r.oldestGroup; at < r.next; at++ {
		groups[at&uint64(n-1)] = r.groups[at&uint64(len(r.groups)-1)]
	}
	r.groups = groups
}

// compact drops the groups of acknowledged packets, and useless packets, which lie between those of lost ones.
func (r *sentRing) compact(t tick.Tick) {
	to := r.oldestGroup
	for seq := r.oldest; seq <= r.newest; seq++ {
		p := r.get(seq)
		if p == nil {
			continue
		}
		if !p.acked && r.useless(p, t) {
			*p = sentPacket{}
			continue
		}
		from := *p
		if p.first = to; p.acked {
			p.n = 0
		}
		for i := range p.n {
			*r.group(p, i) = *r.group(&from, i)
		}
		to += uint64(p.n)
	}
	r.next = to
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
