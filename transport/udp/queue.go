package udp

import (
	"net/netip"
	"sync/atomic"
)

// queue is a ring of datagrams between the goroutine that reads the socket and the one that calls Receive: one may put,
// one may take, neither waits for the other. It never grows.
type queue struct {
	slots []slot // its length is a power of two
	size  int    // bytes of one slot
	bytes []byte // the slots' memory, in one piece
	head  atomic.Uint64
	tail  atomic.Uint64
}

type slot struct {
	from netip.AddrPort
	n    int
}

func newQueue(slots, size int) queue {
	n := 1
	for n < slots {
		n *= 2
	}
	return queue{slots: make([]slot, n), size: size, bytes: make([]byte, n*size)}
}

// put copies a datagram in and reports whether there was room. It is at most as long as a slot.
func (q *queue) put(from netip.AddrPort, datagram []byte) bool {
	head := q.head.Load()
	if head-q.tail.Load() == uint64(len(q.slots)) {
		return false
	}
	i := int(head & uint64(len(q.slots)-1))
	q.slots[i] = slot{from: from, n: copy(q.bytes[i*q.size:(i+1)*q.size], datagram)}
	q.head.Store(head + 1)
	return true
}

// take copies the oldest datagram out and returns its whole length: more than len(buf) if it did not fit, 0 if none waits.
func (q *queue) take(buf []byte) (int, netip.AddrPort) {
	tail := q.tail.Load()
	if tail == q.head.Load() {
		return 0, netip.AddrPort{}
	}
	i := int(tail & uint64(len(q.slots)-1))
	s := q.slots[i]
	copy(buf, q.bytes[i*q.size:i*q.size+s.n])
	q.tail.Store(tail + 1)
	return s.n, s.from
}
