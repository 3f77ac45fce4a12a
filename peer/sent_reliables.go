package peer

import (
	"sort"
	"sync"
)

// idRange is a row of items with ids one after the other.
type idRange struct {
	first uint64
	count uint64
}

// packetReliables lists the reliable messages in one packet.
type packetReliables struct {
	packet uint64
	spans  uint64 // number of its first span
	count  uint64 // how many spans
	acked  bool
	lost   bool
}

// sentReliables remembers which reliable messages went in which packet, for as long as the connection remembers the packet. Only
// packets that had some take room. Packets and spans are each a queue in a ring, numbered from 0.
type sentReliables struct {
	packets  ring[packetReliables]
	spans    ring[idRange]
	remember uint64 // how many packet numbers back the connection remembers
}

// maxSpans bounds the memory of spans. It is more than what one packet can have.
const maxSpans = 1 << 14

// firstRing is the first size of a ring, in elements. A packet that is lost for good keeps all after it in the ring for a
// while, so a smaller ring would grow now and then, long after the start.
const firstRing = 128

// ring is a queue whose elements have numbers that stay.
type ring[T any] struct {
	buf         []T // a power of two long
	first, next uint64
}

func (r *ring[T]) at(n uint64) *T { return &r.buf[n&uint64(len(r.buf)-1)] }

func (r *ring[T]) len() uint64 { return r.next - r.first }

func (r *ring[T]) push(v T) {
	if r.len() == uint64(len(r.buf)) {
		old := *r
		r.buf = make([]T, max(firstRing, 2*len(old.buf)))
		for n := r.first; n < r.next; n++ {
			*r.at(n) = *old.at(n)
		}
	}
	r.next++
	*r.at(r.next - 1) = v
}

// packet returns the messages of a packet, nil if nothing is known of it.
func (c *sentReliables) packet(seq uint64) *packetReliables {
	n := c.packets.len()
	i := uint64(sort.Search(int(n), func(i int) bool { return c.packets.at(c.packets.first+uint64(i)).packet >= seq }))
	if i == n || c.packets.at(c.packets.first+i).packet != seq {
		return nil
	}
	return c.packets.at(c.packets.first + i)
}

// open returns the record of the packet seq, the newest, which is being filled. Records that must leave for it have left.
func (c *sentReliables) open(seq uint64) *packetReliables {
	if c.packets.len() > 0 {
		if p := c.packets.at(c.packets.next - 1); p.packet == seq {
			return p
		}
	}
	c.packets.push(packetReliables{packet: seq, spans: c.spans.next})
	return c.packets.at(c.packets.next - 1)
}

// takeBack forgets the newest packet, if seq is its number: another will have it.
func (c *sentReliables) takeBack(seq uint64) {
	if c.packets.len() == 0 {
		return
	}
	if p := c.packets.at(c.packets.next - 1); p.packet == seq {
		c.spans.next = p.spans
		c.packets.next--
	}
}

// note adds an item to what the packet seq has, which is open already.
func (c *sentReliables) note(p *packetReliables, id uint64) {
	if p.count > 0 {
		if s := c.spans.at(c.spans.next - 1); s.first+s.count == id {
			s.count++
			return
		}
	}
	p.count++
	c.spans.push(idRange{first: id, count: 1})
}

// crowded reports whether the oldest packet must leave before the packet seq is filled.
func (c *sentReliables) crowded(seq uint64) bool {
	if c.packets.len() == 0 {
		return false
	}
	oldest := c.packets.at(c.packets.first)
	return oldest.acked || oldest.packet+c.remember <= seq || c.spans.len() >= maxSpans && oldest.packet != seq
}

// drop forgets the oldest packet.
func (c *sentReliables) drop() {
	oldest := c.packets.at(c.packets.first)
	c.spans.first = oldest.spans + oldest.count
	c.packets.first++
}

// arena is the memory of reliable messages, a circle in which each lies in one piece. The first to come is freed first.
type arena struct {
	buf  []byte
	head int  // where the next message goes
	tail int  // where the oldest one lies
	any  bool // there is one
}

// place returns where n bytes can go.
func (a *arena) place(n int) (at int, ok bool) {
	switch {
	case !a.any:
		return 0, n <= len(a.buf)
	case a.head > a.tail && len(a.buf)-a.head >= n:
		return a.head, true
	case a.head > a.tail:
		return 0, a.tail >= n
	}
	return a.head, a.tail-a.head >= n
}

// take notes that n bytes at the place that place returned are in use.
func (a *arena) take(at, n int) {
	if !a.any {
		a.tail, a.any = at, true
	}
	a.head = at + n
}

// free notes that nothing before tail is in use any more.
func (a *arena) free(tail int) { a.tail = tail }

// clear notes that nothing is.
func (a *arena) clear() { a.head, a.tail, a.any = 0, 0, false }

// Pool lends the buffers in which messages wait beyond each peer's own first one. All peers of an end share it, also
// those that fill packets in several goroutines at once.
type Pool struct {
	mutex sync.Mutex
	free  [][]byte
	size  int
	lent  int
}

// poolKeep is the largest size of unused buffers in a pool, in bytes: 64 peers whose queues are full in every
// frame never make it allocate.
const poolKeep = 8 << 20

// NewPool returns an empty pool of buffers for packets of at most packetSize bytes. Peers with larger packets allocate
// theirs.
func NewPool(packetSize int) *Pool { return &Pool{size: packetSize} }

// Lent returns how many buffers are in use.
func (p *Pool) Lent() int { return p.lent }

// take returns an empty buffer of capacity size or more.
func (p *Pool) take(size int) []byte {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.lent++
	n := len(p.free)
	if n == 0 || size > p.size {
		return make([]byte, 0, max(size, p.size))
	}
	b := p.free[n-1]
	p.free = p.free[:n-1]
	return b
}

// giveBack takes a buffer that take returned. One of another size than the pool's is let go.
func (p *Pool) giveBack(b []byte) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.lent--
	if cap(b) == p.size && len(p.free)*p.size < poolKeep {
		p.free = append(p.free, b[:0])
	}
}
