package udp

import (
	"errors"
	"net"
	"net/netip"
	"time"
)

const (
	// patience is how many faults in a row are taken without a pause: single ones, say from ICMP messages, come between
	// good datagrams. A socket that only fails must leave the processor to the game, and be back before a peer's timeout.
	patience = 16
	minPause = time.Millisecond
	maxPause = 100 * time.Millisecond
)

// read is the goroutine of a connection. Only the end of the socket ends it: an ICMP message that a stranger provoked, or
// a kernel short of memory, must not deafen a server.
func (c *Conn) read() {
	defer close(c.ended)
	// One byte more than a datagram may have: one that fills it was cut.
	buffer := make([]byte, c.largest+1)
	faults := 0 // in a row
	for {
		n, from, err := c.socket.ReadFromUDPAddrPort(buffer)
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
		switch {
		case n > c.largest:
			c.stats.tooLarge.Add(1)
		case n == 0:
			c.stats.empty.Add(1)
		case c.queue.put(netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), buffer[:n]):
			c.stats.received.Add(1)
			c.stats.bytesReceived.Add(uint64(n))
		default:
			c.stats.overflowed.Add(1)
		}
	}
}

// pause grows with each fault in a row.
func pause(faults int) time.Duration {
	return min(minPause<<min(faults-1, 10), maxPause)
}

// rest waits and reports false when the connection was closed meanwhile.
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
