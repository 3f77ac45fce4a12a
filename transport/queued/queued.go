package queued

import (
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arche-netcode/netcode/transport"
)

var (
	// ErrFull is returned by Add when Config.Connections, or Config.PerIP for its address, are open.
	ErrFull = errors.New("queued: too many connections")
	// ErrIdle ends a connection that sent nothing for Config.Idle.
	ErrIdle = errors.New("queued: nothing came for too long")
)

// Config sizes a Conn. The zero value takes the defaults.
type Config struct {
	Queue       int           // Datagrams that wait for Receive at most; default 1024. One peer gets a quarter of it.
	Ring        int           // Datagrams that wait to be written at most, of each connection; default 64.
	MaxDatagram int           // Longest datagram sent or received, in bytes; default 2048.
	Connections int           // Connections at a time; default 4096.
	PerIP       int           // Connections at a time from one IP address; default 64. Loopback is exempt.
	Idle        time.Duration // A connection that sends nothing for so long ends; default 30 s.
}

func (c Config) withDefaults() Config {
	fill := func(v *int, by int) {
		if *v <= 0 {
			*v = by
		}
	}
	fill(&c.Queue, 1024)
	fill(&c.Ring, 64)
	fill(&c.MaxDatagram, 2048)
	c.MaxDatagram = min(c.MaxDatagram, transport.MaxDatagram)
	fill(&c.Connections, 4096)
	fill(&c.PerIP, 64)
	if c.Idle <= 0 {
		c.Idle = 30 * time.Second
	}
	return c
}

// Conn is a transport.Conn over connections that block: a server has many, a client one. Receive is for one goroutine, all
// other methods for any.
type Conn struct {
	local   transport.Addr
	config  Config
	running sync.WaitGroup
	stats   counters

	mu     sync.Mutex // Guards the fields below.
	peers  map[transport.Addr]*Peer
	perIP  map[netip.Addr]int
	serial uint64
	closed bool

	queue  chan arrived
	spare  chan []byte   // Buffers of datagrams that were received.
	waited time.Duration // Of the datagram that Receive returned last.
}

type arrived struct {
	from *Peer
	at   time.Time
	data []byte
}

var _ transport.Conn = (*Conn)(nil)

// New returns a Conn without connections. local is for LocalAddr alone.
func New(local transport.Addr, config Config) *Conn {
	config = config.withDefaults()
	return &Conn{
		local: local, config: config,
		peers: map[transport.Addr]*Peer{}, perIP: map[netip.Addr]int{},
		queue: make(chan arrived, config.Queue), spare: make(chan []byte, config.Queue),
	}
}

// Add begins to use a connection and starts its two goroutines. ip is where it comes from, the zero value if that is not known. The
// errors are ErrFull and transport.ErrClosed; the pipe is closed then.
func (c *Conn) Add(ip netip.AddrPort, pipe Pipe) (*Peer, error) {
	p := &Peer{conn: c, addr: transport.AddrOf(ip), pipe: pipe, out: newRing(c.config.Ring), done: make(chan struct{})}
	if err := c.enter(p); err != nil {
		_ = pipe.Close()
		return nil, err
	}
	go p.read()
	go p.write()
	return p, nil
}

// enter gives a connection its address.
func (c *Conn) enter(p *Peer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ip := p.addr.IP.Addr()
	switch {
	case c.closed:
		return transport.ErrClosed
	case len(c.peers) >= c.config.Connections, ip.IsValid() && !ip.IsLoopback() && c.perIP[ip] >= c.config.PerIP:
		c.stats.refused.Add(1)
		return ErrFull
	}
	c.serial++
	p.addr.Key = c.serial
	c.peers[p.addr] = p
	c.perIP[ip]++
	p.idle = time.AfterFunc(c.config.Idle, func() { p.stop(ErrIdle) })
	c.running.Add(2)
	c.stats.opened.Add(1)
	return nil
}

func (c *Conn) remove(p *Peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.peers, p.addr)
	ip := p.addr.IP.Addr()
	if c.perIP[ip]--; c.perIP[ip] == 0 {
		delete(c.perIP, ip)
	}
}

// Send puts the datagram into the ring of its connection. An address whose connection has ended is like one where nobody
// listens: the datagram is counted and dropped.
func (c *Conn) Send(to transport.Addr, datagram []byte) error {
	c.mu.Lock()
	p, closed := c.peers[to], c.closed
	c.mu.Unlock()
	switch {
	case closed:
		return transport.ErrClosed
	case len(datagram) > c.config.MaxDatagram:
		c.stats.tooLarge.Add(1)
		return transport.ErrTooLarge
	case !to.IsValid() || to.Via != 0:
		return transport.ErrAddress
	case len(datagram) == 0:
	case p == nil:
		c.stats.unreachable.Add(1)
	case p.out.put(datagram):
		c.stats.overtaken.Add(1)
	}
	return nil
}

// came queues a datagram for Receive.
func (c *Conn) came(p *Peer, datagram []byte) {
	if p.waiting.Load() >= int32(max(c.config.Queue/4, 1)) {
		c.stats.overflowed.Add(1)
		return
	}
	var data []byte
	select {
	case data = <-c.spare:
	default:
	}
	data = append(data[:0], datagram...)
	p.waiting.Add(1)
	select {
	case c.queue <- arrived{p, time.Now(), data}:
		c.stats.received.Add(1)
		c.stats.bytesReceived.Add(uint64(len(datagram)))
	default:
		p.waiting.Add(-1)
		c.stats.overflowed.Add(1)
	}
}

// Receive returns the oldest datagram that waits.
func (c *Conn) Receive(buf []byte) (n int, from transport.Addr, err error) {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return 0, transport.Addr{}, transport.ErrClosed
	}
	select {
	case a := <-c.queue:
		a.from.waiting.Add(-1)
		n = copy(buf, a.data)
		long := len(a.data) > len(buf)
		select {
		case c.spare <- a.data:
		default:
		}
		if long {
			c.stats.tooLarge.Add(1)
			return 0, transport.Addr{}, transport.ErrTooLarge
		}
		c.waited = time.Since(a.at)
		return n, a.from.addr, nil
	default:
		return 0, transport.Addr{}, nil
	}
}

// Waited implements transport.Timed. It is for the goroutine of Receive.
func (c *Conn) Waited() time.Duration { return c.waited }

// LocalAddr returns the address that New was given.
func (c *Conn) LocalAddr() transport.Addr { return c.local }

// Close ends all connections and returns when their goroutines have ended.
func (c *Conn) Close() error {
	c.mu.Lock()
	c.closed = true
	var all []*Peer
	for _, p := range c.peers {
		all = append(all, p)
	}
	c.mu.Unlock()
	for _, p := range all {
		p.stop(transport.ErrClosed)
	}
	c.running.Wait()
	return nil
}

// Stats counts connections and their datagrams.
type Stats struct {
	Opened        uint64 // Connections that began.
	Refused       uint64 // Config.Connections, PerIP: connections that were refused.
	Idle          uint64 // Config.Idle: connections ended because they sent nothing.
	Sent          uint64 // Datagrams that a connection took.
	BytesSent     uint64 // Of these.
	Overtaken     uint64 // Config.Ring: datagrams dropped for newer ones while their connection was blocked.
	Unreachable   uint64 // Datagrams dropped because their connection had ended.
	Received      uint64 // Datagrams that came and wait, or waited, for Receive.
	BytesReceived uint64 // Of these.
	Overflowed    uint64 // Config.Queue: datagrams dropped because too many waited.
	TooLarge      uint64 // Config.MaxDatagram: datagrams dropped, or by what the connection takes.
}

type counters struct {
	opened, refused, idle                         atomic.Uint64
	sent, bytesSent, overtaken, unreachable       atomic.Uint64
	received, bytesReceived, overflowed, tooLarge atomic.Uint64
}

// Stats returns the counters since the beginning. Each is exact, their moment is not the same.
func (c *Conn) Stats() Stats {
	s := &c.stats
	return Stats{
		Opened: s.opened.Load(), Refused: s.refused.Load(), Idle: s.idle.Load(),
		Sent: s.sent.Load(), BytesSent: s.bytesSent.Load(), Overtaken: s.overtaken.Load(), Unreachable: s.unreachable.Load(),
		Received: s.received.Load(), BytesReceived: s.bytesReceived.Load(), Overflowed: s.overflowed.Load(), TooLarge: s.tooLarge.Load(),
	}
}
