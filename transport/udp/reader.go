package udp

import (
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"time"
)

const (
	// patience is the number of consecutive errors without a pause. Single errors, such as from ICMP messages, come between good
	// datagrams. A socket that always fails must not use up the processor, and must recover before a peer's timeout.
	patience = 16
	minPause = time.Millisecond
	maxPause = 100 * time.Millisecond
)

// read is the goroutine of a connection. It ends only with the socket: an ICMP message provoked by a stranger, or a kernel short
// of memory, must not stop a server from receiving.
func (c *Conn) read() {
	defer close(c.ended)
	// One byte more than the maximum: a datagram that fills it was cut.
	buffer, control := make([]byte, c.largest+1), []byte(nil)
	if c.coalesced {
		buffer, control = make([]byte, max(largestRead, c.largest+1)), make([]byte, controlRead)
	}
	faults := 0 // consecutive
	for {
		n, size, from, err := c.readOnce(buffer, control)
		if err != nil {
			if c.closed.Load() || errors.Is(err, net.ErrClosed) {
				return
			}
			c.stats.readErrors.Add(1)
			fault := err // a copy, so that err itself stays off the heap
			c.fault.Store(&fault)
			if faults++; faults > patience && !c.rest(pause(faults-patience)) {
				return
			}
			continue
		}
		faults = 0
		at := time.Since(c.start)
		from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		read := buffer[:n]
		if size > 0 && size < n {
			c.stats.runsReceived.Add(1)
		}
		for ; size > 0 && size < len(read); read = read[size:] {
			c.came(from, read[:size], at)
		}
		c.came(from, read, at)
	}
}

const (
	// largestRead is the maximum size of a read with several datagrams.
	largestRead = 1 << 16
	// controlRead is the room for its control data.
	controlRead = 64
)

// readOnce reads one datagram, or several of equal size. size is 0 for a single one.
func (c *Conn) readOnce(buffer, control []byte) (n, size int, from netip.AddrPort, err error) {
	if !c.coalesced {
		n, from, err = c.socket.ReadFromUDPAddrPort(buffer)
		return n, 0, from, err
	}
	n, told, _, from, err := c.socket.ReadMsgUDPAddrPort(buffer, control)
	return n, sizeOf(control[:told]), from, err
}

// came queues a datagram.
func (c *Conn) came(from netip.AddrPort, datagram []byte, at time.Duration) {
	switch n := len(datagram); {
	case n > c.largest:
		c.stats.tooLarge.Add(1)
	case n == 0:
		c.stats.empty.Add(1)
	case c.queue.put(from, datagram, at):
		c.stats.received.Add(1)
		c.stats.bytesReceived.Add(uint64(n))
	default:
		c.stats.overflowed.Add(1)
	}
}

// pause returns the pause after a number of consecutive errors; it grows with the number.
func pause(faults int) time.Duration {
	return min(minPause<<min(faults-1, 10), maxPause)
}

// rest waits. It returns false if the connection was closed meanwhile.
func (c *Conn) rest(pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.closing:
		return false
	}
}

// queue is a ring of datagrams from the reading goroutine to the one that calls Receive. It has one producer and one consumer and
// never blocks. A slot's memory fits the longest datagram that it has stored: a client that receives short datagrams needs
// little.
type queue struct {
	slots []slot // a power of two
	size  int    // maximum bytes of one slot
	head  atomic.Uint64
	tail  atomic.Uint64
}

type slot struct {
	from netip.AddrPort
	at   time.Duration // time of arrival
	data []byte
}

// slotStep is the unit of a slot's memory in bytes.
const slotStep = 128

func newQueue(slots, size int) queue {
	n := 1
	for n < slots {
		n *= 2
	}
	return queue{slots: make([]slot, n), size: size}
}

// put stores a copy of a datagram, at most size bytes, and reports whether there was room.
func (q *queue) put(from netip.AddrPort, datagram []byte, at time.Duration) bool {
	head := q.head.Load()
	if head-q.tail.Load() == uint64(len(q.slots)) {
		return false
	}
	s := &q.slots[head&uint64(len(q.slots)-1)]
	if cap(s.data) < len(datagram) {
		s.data = make([]byte, 0, min((len(datagram)+slotStep-1)/slotStep*slotStep, max(q.size, len(datagram))))
	}
	s.from, s.at, s.data = from, at, append(s.data[:0], datagram...)
	q.head.Store(head + 1)
	return true
}

// take removes the oldest datagram, copies it into buf, and returns its size, sender and time of arrival. The size exceeds
// len(buf) if it did not fit, and is 0 if none is waiting.
func (q *queue) take(buf []byte) (int, netip.AddrPort, time.Duration) {
	tail := q.tail.Load()
	if tail == q.head.Load() {
		return 0, netip.AddrPort{}, 0
	}
	s := &q.slots[tail&uint64(len(q.slots)-1)]
	n, from, at := len(s.data), s.from, s.at
	copy(buf, s.data)
	q.tail.Store(tail + 1)
	return n, from, at
}
