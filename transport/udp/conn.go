package udp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/internal/turns"
)

// Config has the limits of a connection. Zero fields mean the defaults.
type Config struct {
	Queue       int // maximum number of datagrams that wait for Receive; hosts share it; default 1024
	MaxDatagram int // maximum size of a datagram in bytes, at most transport.MaxDatagram; default 2048
	ReadBuffer  int // requested size of the kernel's receive buffer in bytes; it may grant less; default 1 MiB
	WriteBuffer int // requested size of the kernel's send buffer in bytes; it may grant less; default 1 MiB

	single bool // for tests: one datagram per read, as on kernels without GRO
}

const (
	defaultQueue       = 1024
	maxQueue           = 1 << 16
	defaultMaxDatagram = 2048
	defaultBuffer      = 1 << 20
)

func (c Config) withDefaults() Config {
	if c.Queue <= 0 {
		c.Queue = defaultQueue
	}
	c.Queue = min(c.Queue, maxQueue)
	if c.MaxDatagram <= 0 {
		c.MaxDatagram = defaultMaxDatagram
	}
	c.MaxDatagram = min(c.MaxDatagram, transport.MaxDatagram)
	if c.ReadBuffer <= 0 {
		c.ReadBuffer = defaultBuffer
	}
	if c.WriteBuffer <= 0 {
		c.WriteBuffer = defaultBuffer
	}
	return c
}

// Conn is a bound UDP socket. It implements transport.Conn. Receive is called from one goroutine; Send, Stats and Close may be
// called from any.
type Conn struct {
	socket  *net.UDPConn
	local   transport.Addr
	largest int
	sender  sender
	queue   *turns.Queue
	stats   counters
	fault   atomic.Pointer[error] // newest error of the reader that Receive has not returned
	closed  atomic.Bool
	closing chan struct{} // closed by Close; wakes a reader that pauses
	ended   chan struct{} // closed when the reader has returned

	coalesced bool // one read may return several datagrams (GRO)
	told      bool // the kernel tells which address of this machine a datagram came to

	start  time.Time     // origin of the times in the queue
	waited time.Duration // result of Waited
}

var (
	_ transport.Conn        = (*Conn)(nil)
	_ transport.BatchSender = (*Conn)(nil)
	_ transport.Timed       = (*Conn)(nil)
	_ transport.Ranker      = (*Conn)(nil)
)

// Resolve returns the address of a server from text such as "192.0.2.7:9000", "[::1]:9000" or "game.example:9000". It blocks
// while it resolves a name.
func Resolve(server string) (transport.Addr, error) {
	found, err := net.ResolveUDPAddr("udp", server)
	if err != nil {
		return transport.Addr{}, fmt.Errorf("udp: %w", err)
	}
	return transport.AddrOf(found.AddrPort()), nil
}

// Listen binds a socket to an address such as "127.0.0.1:9000", "[::1]:0" or ":9000" and starts to read. Port 0 assigns a port.
// Without an IP the socket accepts IPv6 and IPv4 if the system supports both.
func Listen(addr string, config Config) (*Conn, error) {
	config = config.withDefaults()
	resolved, err := net.ResolveUDPAddr("udp", addr)
	if err != nil {
		return nil, fmt.Errorf("udp: %w", err)
	}
	socket, err := net.ListenUDP("udp", resolved)
	if err != nil {
		return nil, fmt.Errorf("udp: %w", err)
	}
	// The kernel may grant less: then it drops earlier, and drops are tolerated.
	_ = socket.SetReadBuffer(config.ReadBuffer)
	_ = socket.SetWriteBuffer(config.WriteBuffer)

	local := socket.LocalAddr().(*net.UDPAddr).AddrPort()
	c := &Conn{
		socket:  socket,
		local:   transport.AddrOf(local),
		largest: config.MaxDatagram,
		queue:   turns.New(config.Queue, config.MaxDatagram, config.Queue),
		closing: make(chan struct{}),
		ended:   make(chan struct{}),
		start:   time.Now(),
	}
	if err := c.sender.open(socket); err != nil {
		_ = socket.Close()
		return nil, fmt.Errorf("udp: %w", err)
	}
	keepWhole(socket)
	c.coalesced = !config.single && coalesce(socket)
	c.told = tellLocal(socket)
	go c.read()
	return c, nil
}

// Send passes the datagram to the kernel. If the kernel has no room the datagram is dropped and counted. Other errors are counted
// and returned, and concern this datagram only.
func (c *Conn) Send(to transport.Addr, datagram []byte) error {
	switch {
	case c.closed.Load():
		return transport.ErrClosed
	case len(datagram) > c.largest:
		c.stats.sendErrors.Add(1)
		return transport.ErrTooLarge
	case !reachable(to):
		c.stats.sendErrors.Add(1)
		return transport.ErrAddress
	case len(datagram) == 0:
		return nil
	}
	to = transport.AddrOf(to.IP)
	full, err := c.sender.send(to.IP, c.localOf(to), datagram)
	switch {
	case full:
		c.stats.sendDropped.Add(1)
		return nil
	case err == nil:
		c.stats.sent.Add(1)
		c.stats.bytesSent.Add(uint64(len(datagram)))
		return nil
	case c.closed.Load() || errors.Is(err, net.ErrClosed):
		return transport.ErrClosed
	}
	c.stats.sendErrors.Add(1)
	return err
}

// localOf returns the address of this machine to which a peer sends: answers leave from it, so that a machine with several addresses can be
// reached at each. It is zero if the kernel chooses.
func (c *Conn) localOf(to transport.Addr) netip.Addr {
	if !c.told {
		return netip.Addr{}
	}
	return c.queue.LocalOf(to)
}

// reachable reports whether an address is one of UDP: IP and port only.
func reachable(to transport.Addr) bool { return to.IsValid() && to.Key == 0 && to.Via == 0 }

// sendRun sends consecutive datagrams of size bytes each; the last may be shorter. On Linux the kernel splits them itself, in one
// call (GSO).
func (c *Conn) sendRun(to transport.Addr, datagrams []byte, size int) error {
	if size > 0 && size < len(datagrams) && size <= c.largest && reachable(to) && !c.closed.Load() {
		n := uint64((len(datagrams) + size - 1) / size)
		to = transport.AddrOf(to.IP)
		full, ok, err := c.sender.sendRun(to.IP, c.localOf(to), datagrams, size)
		switch {
		case !ok:
		case full:
			c.stats.sendDropped.Add(n)
			return nil
		case err == nil:
			c.stats.sent.Add(n)
			c.stats.bytesSent.Add(uint64(len(datagrams)))
			c.stats.runs.Add(1)
			return nil
		}
	}
	var first error
	for len(datagrams) > 0 {
		n := len(datagrams)
		if size > 0 {
			n = min(n, size)
		}
		if err := c.Send(to, datagrams[:n]); first == nil {
			first = err
		}
		datagrams = datagrams[n:]
	}
	return first
}

// SendAll implements transport.BatchSender.
func (c *Conn) SendAll(to []transport.Addr, runs [][]byte, sizes []int) (failed int, err error) {
	for i := range runs {
		if fault := c.sendRun(to[i], runs[i], sizes[i]); fault != nil && err == nil {
			failed, err = i, fault
		}
	}
	return failed, err
}

// Receive returns the next datagram of the queue: hosts take turns. If the queue is empty it returns an error of the socket, each at most once.
func (c *Conn) Receive(buf []byte) (n int, from transport.Addr, err error) {
	if c.closed.Load() {
		return 0, transport.Addr{}, transport.ErrClosed
	}
	n, from, at := c.queue.Take(buf)
	switch {
	case n > len(buf):
		c.stats.tooLarge.Add(1)
		return 0, transport.Addr{}, transport.ErrTooLarge
	case n > 0:
		c.waited = time.Since(c.start) - at
		return n, from, nil
	case c.fault.Load() != nil:
		if fault := c.fault.Swap(nil); fault != nil {
			err = *fault
		}
	}
	return 0, transport.Addr{}, err
}

// Waited implements transport.Timed: it returns the time since the reading goroutine read the datagram. It is called from the
// goroutine of Receive.
func (c *Conn) Waited() time.Duration { return c.waited }

// Rank implements transport.Ranker.
func (c *Conn) Rank(session bool) { _, _ = c.queue.Rank(session) }

// LocalAddr returns the address to which the socket is bound.
func (c *Conn) LocalAddr() transport.Addr { return c.local }

// Stats returns the counters since Listen. They are read one after the other, not at one moment.
func (c *Conn) Stats() Stats { return c.stats.load() }

// Close closes the socket and waits for its goroutine. Queued datagrams are dropped.
func (c *Conn) Close() error {
	if c.closed.Swap(true) {
		<-c.ended
		return nil
	}
	close(c.closing)
	err := c.socket.Close()
	<-c.ended
	return err
}

// Stats has the counters of one socket.
type Stats struct {
	Sent          uint64 // accepted by the kernel
	BytesSent     uint64 // of these, without headers
	Runs          uint64 // writes with several datagrams each (GSO)
	SendDropped   uint64 // dropped because the kernel had no room
	SendErrors    uint64 // failed with an error that Send returned
	Received      uint64 // put into the queue
	BytesReceived uint64 // of these, without headers
	RunsReceived  uint64 // reads with several datagrams each (GRO)
	Overflowed    uint64 // dropped because the queue was full: the newest of the host with the most
	TooLarge      uint64 // longer than Config.MaxDatagram, or than the buffer given to Receive
	Empty         uint64 // without content
	ReadErrors    uint64 // errors while reading
}

type counters struct {
	sent, bytesSent, runs                 atomic.Uint64
	sendDropped, sendErrors               atomic.Uint64
	received, bytesReceived, runsReceived atomic.Uint64
	overflowed                            atomic.Uint64
	tooLarge, empty, readErrors           atomic.Uint64
}

func (c *counters) load() Stats {
	return Stats{
		Sent:          c.sent.Load(),
		BytesSent:     c.bytesSent.Load(),
		Runs:          c.runs.Load(),
		SendDropped:   c.sendDropped.Load(),
		SendErrors:    c.sendErrors.Load(),
		Received:      c.received.Load(),
		BytesReceived: c.bytesReceived.Load(),
		RunsReceived:  c.runsReceived.Load(),
		Overflowed:    c.overflowed.Load(),
		TooLarge:      c.tooLarge.Load(),
		Empty:         c.empty.Load(),
		ReadErrors:    c.readErrors.Load(),
	}
}
