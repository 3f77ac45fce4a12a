package snapshot

import (
	"math"
	"sync/atomic"

	"github.com/arche-netcode/netcode/tick"
)

// sentEntry is one record that a packet carried.
type sentEntry struct {
	mask  Mask   // the rows that the record has
	index uint32 // of which life is told by the packet's tick
	// span is how many ticks before the packet's the record leant on, 0 when
	// absolute, when T had other rows, or when it lies too far back to extrapolate
	// from.
	span    uint16
	despawn bool
}

// sentPacket says what a packet carried, until its slot is used again.
type sentPacket struct {
	seq     uint64 // 0 = never used
	tick    tick.Tick
	first   uint64 // position of its first entry in the entry ring
	n       int
	records int  // of them not despawns
	part    int  // payloads of the same tick before it
	pending bool // neither acknowledged nor lost
	acked   bool
	// alike, if not nil, is what the packet carried from its at-th entry on, and
	// others too: it is in no ring then, though there is room for it.
	alike *alike
	at    int
}

// alike is what the packets of several clients carried, one record behind the
// other, once for all of them. Nothing of it changes while anybody holds it.
type alike struct {
	entries []sentEntry // usual records of a list, all of one span
	words   []wordOf    // which entities that are, in their order
	holders atomic.Int32
}

// wordOf is some of the indexes of a word.
type wordOf struct {
	word uint32
	of   uint64
}

// sentRing remembers what the last packets carried, in constant memory: an
// acknowledgement turns a packet's entries into baselines, a loss puts them
// back into unsent. Where that memory is full of pending packets nothing is sent.
type sentRing struct {
	packets []sentPacket // by sequence modulo length, a power of two that grows up to the capacity
	entries []sentEntry  // by position modulo length, a power of two; as many again behind them, up to the capacity
	next    uint64       // position of the next entry
	oldest  uint64       // sequence of the oldest packet whose entries are held
	newest  uint64
	desk    *sharedLists // where it was written last: there what nobody holds any more goes
}

// entriesPerPacket is the average that the entry ring has room for; a packet
// may carry up to maxRecords.
const (
	entriesPerPacket = 32
	maxRecords       = 1024
	firstEntries     = 4 * maxRecords // of the room that is used at first: the less of it, the nearer it is
	firstPackets     = 64             // of those
	maxSpan          = math.MaxUint16
)

func newSentRing(packets int) sentRing {
	for packets&(packets-1) != 0 {
		packets++ // as the connection's own ring, so that both forget together
	}
	most := firstEntries
	for most < packets*entriesPerPacket {
		most *= 2
	}
	return sentRing{packets: make([]sentPacket, min(firstPackets, packets), packets), entries: make([]sentEntry, firstEntries, most)}
}

// get finds a packet that is still remembered.
func (r *sentRing) get(seq uint64) *sentPacket {
	p := &r.packets[seq&uint64(len(r.packets)-1)]
	if p.seq != seq || seq == 0 || seq < r.oldest {
		return nil
	}
	return p
}

// release forgets the oldest packets as far as they are acknowledged and of a
// tick before t: of those, nothing is asked any more.
func (r *sentRing) release(t tick.Tick) {
	for ; r.oldest < r.newest; r.oldest++ {
		if p := r.get(r.oldest); p != nil && (!p.acked || p.tick >= t) {
			return
		}
		r.leave(r.oldest)
	}
}

// leave lets go of what a packet that is forgotten carried.
func (r *sentRing) leave(seq uint64) {
	if p := r.get(seq); p != nil && p.alike != nil {
		r.desk.drop(p.alike)
		p.alike = nil
	}
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
	for r.oldest < seq && (seq-r.oldest >= uint64(len(r.packets)) || !r.fits()) {
		remembered := seq-r.oldest < uint64(len(r.packets))
		if !remembered && r.remember() {
			continue
		}
		if remembered && r.grow() {
			continue
		}
		if p := r.get(r.oldest); p != nil && p.pending {
			if remembered || p.tick == t {
				return nil
			}
			overwritten(p)
		}
		r.leave(r.oldest)
		r.oldest++
	}
	r.newest = seq
	p := &r.packets[seq&uint64(len(r.packets)-1)]
	*p = sentPacket{seq: seq, tick: t, first: r.next, pending: true}
	return p
}

// fits reports whether maxRecords more entries fit beside those still held.
func (r *sentRing) fits() bool {
	p := r.get(r.oldest)
	if p == nil {
		return false // a sequence without a snapshot: step over it
	}
	return r.next+maxRecords-p.first <= uint64(len(r.entries))
}

// remember doubles the room for packets, up to what was made at the start.
func (r *sentRing) remember() bool {
	n := len(r.packets)
	if n == cap(r.packets) {
		return false
	}
	r.packets = r.packets[:2*n]
	for i, p := range r.packets[:n] {
		if to := int(p.seq % uint64(2*n)); to != i && p.seq != 0 {
			r.packets[to], r.packets[i] = p, sentPacket{}
		}
	}
	return true
}

// grow doubles the room for entries, up to what was made at the start.
func (r *sentRing) grow() bool {
	n := len(r.entries)
	if r.get(r.oldest) == nil || n == cap(r.entries) {
		return false
	}
	r.entries = r.entries[:2*n]
	copy(r.entries[n:], r.entries[:n]) // a position is now in the one half or in the other
	return true
}

// add records one entry of the packet that was opened last.
func (r *sentRing) add(p *sentPacket, e sentEntry) {
	r.entries[r.next&uint64(len(r.entries)-1)] = e
	r.next++
	p.n++
}

// addAll records again what another packet carried, all of one span, which may be what
// they had there.
func (r *sentRing) addAll(p *sentPacket, entries []sentEntry, span uint16, same bool) {
	p.n += len(entries)
	for len(entries) > 0 {
		to := r.entries[r.next&uint64(len(r.entries)-1):]
		n := copy(to, entries)
		for i := range to[:n] {
			if same {
				break
			}
			to[i].span = span
		}
		r.next += uint64(n)
		entries = entries[n:]
	}
}

// pass keeps room for n entries of the packet that was opened last, which will be of what
// others carry too.
func (r *sentRing) pass(p *sentPacket, n int) {
	r.next += uint64(n)
	p.n += n
}

// addAlike records what another client's packet has too, in the packet that was
// opened last.
func (r *sentRing) addAlike(p *sentPacket, a *alike) {
	r.hold(p, p.n, a)
	r.pass(p, len(a.entries))
}

// hold makes what lies in a packet from an entry on that of others too.
func (r *sentRing) hold(p *sentPacket, at int, a *alike) {
	p.alike, p.at = a, at
	a.holders.Add(1)
}

// following is the entries of a packet from one on, as far as they lie in one
// piece.
func (r *sentRing) following(p *sentPacket, i int) []sentEntry {
	end := p.n
	if a := p.alike; a != nil && i < p.at+len(a.entries) {
		if i >= p.at {
			return a.entries[i-p.at:]
		}
		end = p.at
	}
	at := int((p.first + uint64(i)) & uint64(len(r.entries)-1))
	return r.entries[at:min(at+end-i, len(r.entries))]
}

// cancel forgets a packet that was opened and then not sent after all.
func (r *sentRing) cancel(p *sentPacket) {
	r.next = p.first
	r.leave(p.seq)
	*p = sentPacket{}
}

// entry is the i-th entry of a packet.
func (r *sentRing) entry(p *sentPacket, i int) *sentEntry {
	if a := p.alike; a != nil && uint(i-p.at) < uint(len(a.entries)) {
		return &a.entries[i-p.at]
	}
	return &r.entries[(p.first+uint64(i))&uint64(len(r.entries)-1)]
}
