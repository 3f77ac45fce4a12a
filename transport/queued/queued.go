package queued

import (
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arche-netcode/netcode/internal/hosts"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/internal/turns"
)

const (
	// restTime is the first pause of a reader whose connection has its share of the queue. It doubles up to longRest while that is so.
	restTime = 5 * time.Millisecond
	longRest = 20 * time.Millisecond
)

var (
	// ErrFull is returned by Add when Config.Connections, or Config.PerIP for the address, is reached.
	ErrFull = errors.New("queued: too many connections")
	// ErrIdle ends a connection that received nothing for Config.Idle.
	ErrIdle = errors.New("queued: nothing came for too long")
	// ErrDisplaced ends a connection without a session when all places are taken and another one comes.
	ErrDisplaced = errors.New("queued: another connection took the place")
)

// Config has the limits of a Conn. Zero fields mean the defaults.
type Config struct {
	Queue       int           // Maximum number of datagrams that wait for Receive; default 1024. Hosts share it; one peer may use a quarter.
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
	hosts  *hosts.Table[*Peer] // The open connections.
	serial uint64
	closed bool

	start  time.Time // Origin of the times in the queue.
	queue  *turns.Queue
	waited time.Duration // How long the datagram of the last Receive had waited.
}

var (
	_ transport.Conn   = (*Conn)(nil)
	_ transport.Timed  = (*Conn)(nil)
	_ transport.Ranker = (*Conn)(nil)
)

// New returns a Conn without connections. local is the result of LocalAddr.
func New(local transport.Addr, config Config) *Conn {
	config = config.withDefaults()
	return &Conn{
		local: local, config: config,
		peers: map[transport.Addr]*Peer{}, hosts: hosts.NewTable[*Peer](true),
		start: time.Now(), queue: turns.New(config.Queue, config.MaxDatagram, max(config.Queue/4, 1)),
	}
}

// Add adds a connection and starts its two goroutines. ip is the peer's address, zero if unknown. The errors are ErrFull and
// transport.ErrClosed; Add then closes the pipe.
func (c *Conn) Add(ip netip.AddrPort, pipe Pipe) (*Peer, error) {
	p := &Peer{conn: c, addr: transport.AddrOf(ip), pipe: pipe, out: newRing(c.config.Ring), done: make(chan struct{})}
	for {
		displaced, err := c.enter(p)
		if err != nil {
			_ = pipe.Close()
			return nil, err
		}
		if displaced == nil {
			break
		}
		displaced.stop(ErrDisplaced)
	}
	go p.read()
	go p.write()
	return p, nil
}

// Full reports whether Add would return an error for an address, and counts it as refused then. A server asks before it accepts a
// connection.
func (c *Conn) Full(ip netip.Addr) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.place(ip)
	if err == ErrFull {
		c.stats.refused.Add(1)
	}
	return err != nil
}

// place tells whether there is a place for a connection of an address, and the one that it displaces. When all places are taken it
// is one without a session, if the layer above tells who has one: the oldest of the host with the most.
func (c *Conn) place(ip netip.Addr) (displaced *Peer, err error) {
	switch {
	case c.closed:
		return nil, transport.ErrClosed
	case c.hosts.LoadOf(ip) >= c.config.PerIP:
		return nil, ErrFull
	case len(c.peers) < c.config.Connections:
		return nil, nil
	}
	worst := c.hosts.Worst(0)
	if worst == nil || !c.queue.Told() {
		return nil, ErrFull
	}
	return worst.Of, nil
}

// enter registers a connection and gives it its address, or returns one that must end before.
func (c *Conn) enter(p *Peer) (displaced *Peer, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	displaced, err = c.place(p.addr.IP.Addr())
	switch {
	case err == ErrFull:
		c.stats.refused.Add(1)
		return nil, err
	case err != nil || displaced != nil:
		return displaced, err
	}
	c.serial++
	p.addr.Key = c.serial
	c.peers[p.addr] = p
	p.held = c.hosts.Add(p.addr.IP.Addr(), p)
	p.idle = time.AfterFunc(c.config.Idle, func() { p.stop(ErrIdle) })
	c.running.Add(2)
	c.stats.opened.Add(1)
	return nil, nil
}

func (c *Conn) remove(p *Peer) {
	c.queue.Forget(p.addr)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.peers, p.addr)
	c.hosts.Remove(p.held)
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

// came queues a received datagram for Receive. It reports false if the connection has its share of the queue: then reading waits.
func (c *Conn) came(p *Peer, datagram []byte) bool {
	lost, stored := c.queue.Put(p.addr, netip.Addr{}, datagram, time.Since(c.start))
	c.stats.overflowed.Add(uint64(lost))
	if stored {
		c.stats.received.Add(1)
		c.stats.bytesReceived.Add(uint64(len(datagram)))
	}
	return stored && !c.queue.Crowded(p.addr)
}

// Receive returns the next datagram: hosts take turns, and of a host its connections.
func (c *Conn) Receive(buf []byte) (n int, from transport.Addr, err error) {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return 0, transport.Addr{}, transport.ErrClosed
	}
	n, from, at := c.queue.Take(buf)
	switch {
	case n == 0:
		return 0, transport.Addr{}, nil
	case n > len(buf):
		c.stats.tooLarge.Add(1)
		return 0, transport.Addr{}, transport.ErrTooLarge
	}
	c.waited = time.Since(c.start) - at
	return n, from, nil
}

// Rank implements transport.Ranker. A connection with a session makes no room for others.
func (c *Conn) Rank(session bool) {
	from, changed := c.queue.Rank(session)
	if !changed {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.peers[from]; p != nil {
		c.hosts.Keep(p.held, session)
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
	Displaced     uint64 // Connections without a session ended because all places were taken and others came.
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
	opened, refused, idle, displaced              atomic.Uint64
	sent, bytesSent, overtaken, unreachable       atomic.Uint64
	received, bytesReceived, overflowed, tooLarge atomic.Uint64
}

// Stats returns the counters since New. They are read one after the other, not at one moment.
func (c *Conn) Stats() Stats {
	s := &c.stats
	return Stats{
		Opened: s.opened.Load(), Refused: s.refused.Load(), Idle: s.idle.Load(), Displaced: s.displaced.Load(),
		Sent: s.sent.Load(), BytesSent: s.bytesSent.Load(), Overtaken: s.overtaken.Load(), Unreachable: s.unreachable.Load(),
		Received: s.received.Load(), BytesReceived: s.bytesReceived.Load(), Overflowed: s.overflowed.Load(), TooLarge: s.tooLarge.Load(),
	}
}
