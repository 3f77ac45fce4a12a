package udp

import (
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/arche-netcode/netcode/transport"
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
	if c.coalesced || c.told {
		control = make([]byte, controlRead)
	}
	if c.coalesced {
		buffer = make([]byte, max(largestRead, c.largest+1))
	}
	faults := 0 // consecutive
	for {
		n, size, from, local, err := c.readOnce(buffer, control)
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
		read := buffer[:n]
		if size > 0 && size < n {
			c.stats.runsReceived.Add(1)
		}
		for ; size > 0 && size < len(read); read = read[size:] {
			c.came(from, local, read[:size], at)
		}
		c.came(from, local, read, at)
	}
}

const (
	// largestRead is the maximum size of a read with several datagrams.
	largestRead = 1 << 16
	// controlRead is the room for its control data.
	controlRead = 128
)

// readOnce reads one datagram, or several of equal size. size is 0 for a single one. local is the address of this machine to which they
// came, zero if the socket has only one.
func (c *Conn) readOnce(buffer, control []byte) (n, size int, from transport.Addr, local netip.Addr, err error) {
	if control == nil {
		n, at, err := c.socket.ReadFromUDPAddrPort(buffer)
		return n, 0, transport.AddrOf(at), local, err
	}
	n, told, _, at, err := c.socket.ReadMsgUDPAddrPort(buffer, control)
	if err == nil {
		size, local = c.readControl(control[:told])
	}
	return n, size, transport.AddrOf(at), local, err
}

// readControl reads the kernel's control data of a read.
func (c *Conn) readControl(control []byte) (size int, local netip.Addr) {
	for {
		level, kind, data, rest, ok := nextControl(control)
		if !ok {
			return size, local
		}
		control = rest
		if n := sizeOf(level, kind, data); n > 0 {
			size = n
		}
		if at := localOf(level, kind, data); c.told && at.IsValid() {
			local = at
		}
	}
}

// came queues a datagram.
func (c *Conn) came(from transport.Addr, local netip.Addr, datagram []byte, at time.Duration) {
	switch n := len(datagram); {
	case n > c.largest:
		c.stats.tooLarge.Add(1)
	case n == 0:
		c.stats.empty.Add(1)
	default:
		lost, stored := c.queue.Put(from, local, datagram, at)
		c.stats.overflowed.Add(uint64(lost))
		if stored {
			c.stats.received.Add(1)
			c.stats.bytesReceived.Add(uint64(n))
		}
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
