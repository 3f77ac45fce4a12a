package memory

import (
	"errors"
	"net/netip"

	"github.com/arche-netcode/netcode/transport"
)

const (
	// QueueSize is the maximum number of datagrams that wait at one end. Further ones are dropped and counted there.
	QueueSize = 4096

	firstQueue = 16    // initial slots of a queue, which doubles as needed
	firstPort  = 49152 // first assigned port: the dynamic range of RFC 6335
	numPorts   = 1<<16 - firstPort
	bufferSize = 1536
)

// ErrAddressInUse is returned by Listen if the address has a listener, or if no port is left to assign.
var ErrAddressInUse = errors.New("memory: address in use")

// Network is a set of ends that reach each other by address.
type Network struct {
	ends map[transport.Addr]*Conn
	next int // number of ports assigned so far
}

// NewNetwork returns an empty network.
func NewNetwork() *Network {
	return &Network{ends: map[transport.Addr]*Conn{}}
}

// Listen adds an end at an address. Port 0 assigns a port, and the zero address means 127.0.0.1. An address with a key only has
// no IP.
func (n *Network) Listen(addr transport.Addr) (*Conn, error) {
	if addr.IP = transport.AddrOf(addr.IP).IP; !addr.IP.Addr().IsValid() && addr.Key == 0 {
		addr.IP = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), addr.IP.Port())
	}
	if !addr.IsValid() {
		for range numPorts {
			addr.IP = netip.AddrPortFrom(addr.IP.Addr(), uint16(firstPort+n.next%numPorts))
			n.next++
			if n.ends[addr] == nil {
				break
			}
		}
	}
	if n.ends[addr] != nil {
		return nil, ErrAddressInUse
	}
	c := &Conn{network: n, addr: addr}
	n.ends[addr] = c
	return c, nil
}

// Stats has the counters of one end.
type Stats struct {
	Sent        uint64 // passed to the network
	Unreachable uint64 // of these, sent to an address without a listener
	Received    uint64 // returned to the caller
	Overflowed  uint64 // dropped because the queue was full
	TooLarge    uint64 // longer than the caller's buffer
}

// Conn is one end of a Network. It implements transport.Conn.
type Conn struct {
	network *Network
	addr    transport.Addr
	slots   []slot // ring with a length of a power of two; buffers are reused
	head    uint64 // number of datagrams queued since the queue was empty
	tail    uint64 // number of these that were taken
	stats   Stats
	closed  bool
}

type slot struct {
	from transport.Addr
	data []byte
}

var _ transport.Conn = (*Conn)(nil)

// Send puts the datagram into the queue of the end at the address. Without a listener it is dropped and counted.
func (c *Conn) Send(to transport.Addr, datagram []byte) error {
	switch {
	case c.closed:
		return transport.ErrClosed
	case len(datagram) > transport.MaxDatagram:
		return transport.ErrTooLarge
	case !to.IsValid():
		return transport.ErrAddress
	case len(datagram) == 0:
		return nil
	}
	c.stats.Sent++
	to.IP = transport.AddrOf(to.IP).IP
	end := c.network.ends[to]
	if end == nil {
		c.stats.Unreachable++
		return nil
	}
	end.put(c.addr, datagram)
	return nil
}

// Receive returns the oldest waiting datagram.
func (c *Conn) Receive(buf []byte) (n int, from transport.Addr, err error) {
	if c.closed {
		return 0, transport.Addr{}, transport.ErrClosed
	}
	if c.head == c.tail {
		return 0, transport.Addr{}, nil
	}
	s := &c.slots[c.tail&uint64(len(c.slots)-1)]
	if c.tail++; c.tail == c.head {
		c.head, c.tail = 0, 0 // back to the first slots: their memory is in the processor's cache
	}
	if len(s.data) > len(buf) {
		c.stats.TooLarge++
		return 0, transport.Addr{}, transport.ErrTooLarge
	}
	c.stats.Received++
	return copy(buf, s.data), s.from, nil
}

// LocalAddr returns the address of this end.
func (c *Conn) LocalAddr() transport.Addr { return c.addr }

// Secure implements transport.Secured: no datagram leaves the process.
func (c *Conn) Secure() bool { return true }

// Stats returns the counters since Listen.
func (c *Conn) Stats() Stats { return c.stats }

// Close removes the end and its waiting datagrams from the network. The address is free again.
func (c *Conn) Close() error {
	if !c.closed {
		c.closed = true
		delete(c.network.ends, c.addr)
		c.slots, c.head, c.tail = nil, 0, 0
	}
	return nil
}

func (c *Conn) put(from transport.Addr, datagram []byte) {
	waiting := c.head - c.tail
	if waiting == uint64(len(c.slots)) {
		if waiting >= QueueSize {
			c.stats.Overflowed++
			return
		}
		c.grow()
	}
	s := &c.slots[c.head&uint64(len(c.slots)-1)]
	c.head++
	if s.data == nil {
		s.data = make([]byte, 0, max(bufferSize, len(datagram)))
	}
	s.from = from
	s.data = append(s.data[:0], datagram...)
}

// Reserve allocates memory for a number of waiting datagrams, at most QueueSize. See Conditioner.Reserve.
func (c *Conn) Reserve(datagrams int) {
	for len(c.slots) < min(datagrams, QueueSize) {
		c.grow()
	}
	for i := range c.slots {
		if c.slots[i].data == nil {
			c.slots[i].data = make([]byte, 0, bufferSize)
		}
	}
}

func (c *Conn) grow() {
	larger := make([]slot, max(firstQueue, 2*len(c.slots)))
	for i := c.tail; i < c.head; i++ {
		larger[i&uint64(len(larger)-1)] = c.slots[i&uint64(len(c.slots)-1)]
	}
	c.slots = larger
}
