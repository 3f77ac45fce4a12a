package queued

import (
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arche-netcode/netcode/internal/hosts"
	"github.com/arche-netcode/netcode/transport"
)

var (
	// ErrFull is returned by Add when Config.Connections, or Config.PerIP for the address, is reached.
	ErrFull = errors.New("queued: too many connections")
	// ErrIdle ends a connection that received nothing for Config.Idle.
	ErrIdle = errors.New("queued: nothing came for too long")
)

// Config has the limits of a Conn. Zero fields mean the defaults.
type Config struct {
	Queue       int           // Maximum number of datagrams that wait for Receive; default 1024. One peer may use a quarter.
	Ring        int           // Maximum number of datagrams that wait to be written, per connection; default 64.
	MaxDatagram int           // Maximum size of a datagram in bytes; default 2048.
	Connections int           // Maximum number of open connections; default 4096.
	PerIP       int           // Maximum number of open connections of one IPv4 address or IPv6 /64; a network around it has twice as many (/24, /56), a /48 four times; default 64. Loopback is exempt.
	Idle        time.Duration // A connection ends after this time without a received datagram; default 30 s.
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

// Conn is a transport.Conn over blocking connections: a server has many, a client one. Receive is called from one goroutine, all
// other methods from any.
type Conn struct {
	local   transport.Addr
	config  Config
	running sync.WaitGroup
	stats   counters

	mu     sync.Mutex // Guards the fields below.
	peers  map[transport.Addr]*Peer
	hosts  hosts.Counts // Number of open connections.
	serial uint64
	closed bool

	queue  chan arrived
	spare  chan []byte   // Buffers for reuse.
	waited time.Duration // How long the datagram of the last Receive had waited.
}

type arrived struct {
	from *Peer
	at   time.Time
	data []byte
}

var _ transport.Conn = (*Conn)(nil)

// New returns a Conn without connections. local is the result of LocalAddr.
func New(local transport.Addr, config Config) *Conn {
	config = config.withDefaults()
	return &Conn{
		local: local, config: config,
		peers: map[transport.Addr]*Peer{}, hosts: hosts.Counts{},
		queue: make(chan arrived, config.Queue), spare: make(chan []byte, config.Queue),
	}
}

// Add adds a connection and starts its two goroutines. ip is the peer's address, zero if unknown. The errors are ErrFull and
// transport.ErrClosed; Add then closes the pipe.
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

// enter registers a connection and gives it its address.
func (c *Conn) enter(p *Peer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	host, limited := hosts.Of(p.addr.IP.Addr())
	switch {
	case c.closed:
		return transport.ErrClosed
	case len(c.peers) >= c.config.Connections, limited && c.hosts.Load(host) >= c.config.PerIP:
		c.stats.refused.Add(1)
		return ErrFull
	}
	c.serial++
	p.addr.Key = c.serial
	c.peers[p.addr] = p
	if limited {
		c.hosts.Add(host, 1)
	}
	p.idle = time.AfterFunc(c.config.Idle, func() { p.stop(ErrIdle) })
	c.running.Add(2)
	c.stats.opened.Add(1)
	return nil
}

func (c *Conn) remove(p *Peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.peers, p.addr)
	if host, limited := hosts.Of(p.addr.IP.Addr()); limited {
		c.hosts.Add(host, -1)
	}
}

// Send puts the datagram into the ring of its connection. If that connection has ended the datagram is counted and dropped.
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

// came queues a received datagram for Receive.
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

// Receive returns the oldest waiting datagram.
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

// Waited implements transport.Timed. It is called from the goroutine of Receive.
func (c *Conn) Waited() time.Duration { return c.waited }

// LocalAddr returns the address passed to New.
func (c *Conn) LocalAddr() transport.Addr { return c.local }

// Close ends all connections and waits for their goroutines.
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

// Stats has the counters of connections and datagrams.
type Stats struct {
	Opened        uint64 // Connections added.
	Refused       uint64 // Connections refused because of Config.Connections or PerIP.
	Idle          uint64 // Connections ended because of Config.Idle.
	Sent          uint64 // Datagrams written to a connection.
	BytesSent     uint64 // Bytes of these.
	Overtaken     uint64 // Datagrams dropped for newer ones because the ring of a blocked connection was full (Config.Ring).
	Unreachable   uint64 // Datagrams dropped because their connection had ended.
	Received      uint64 // Datagrams received and queued.
	BytesReceived uint64 // Bytes of these.
	Overflowed    uint64 // Datagrams dropped because the queue was full (Config.Queue).
	TooLarge      uint64 // Datagrams dropped because of Config.MaxDatagram or the connection's own limit.
}

type counters struct {
	opened, refused, idle                         atomic.Uint64
	sent, bytesSent, overtaken, unreachable       atomic.Uint64
	received, bytesReceived, overflowed, tooLarge atomic.Uint64
}

// Stats returns the counters since New. They are read one after the other, not at one moment.
func (c *Conn) Stats() Stats {
	s := &c.stats
	return Stats{
		Opened: s.opened.Load(), Refused: s.refused.Load(), Idle: s.idle.Load(),
		Sent: s.sent.Load(), BytesSent: s.bytesSent.Load(), Overtaken: s.overtaken.Load(), Unreachable: s.unreachable.Load(),
		Received: s.received.Load(), BytesReceived: s.bytesReceived.Load(), Overflowed: s.overflowed.Load(), TooLarge: s.tooLarge.Load(),
	}
}
