package queued

import (
	"net/netip"
	"sync"
	"time"

	"github.com/arche-netcode/netcode/internal/hosts"
)

// mostPending is the maximum number of connections without a session, however large Config.Connections is.
const mostPending = 1024

// Pending has the connections of a server that have no session: QUIC without WebTransport, TCP without WebSocket. They take no places of
// Config.Connections, so that nobody can use these up without a session. A host has at most Config.PerIP of them, all together at most
// 1024, and each at most the time Config.Idle. One too many ends the oldest of the host with the most, and not the newest: a client that
// comes always has its time for a handshake.
type Pending struct {
	config Config
	most   int

	mu     sync.Mutex
	claims *hosts.Table[*Claim]
	early  *hosts.Table[*Claim] // Those that are not ready.
	stats  PendingStats
}

// PendingStats has the counters of a Pending.
type PendingStats struct {
	Now       int    // Connections without a session at present.
	Refused   uint64 // Connections refused because of too many handshakes, of their host or of all.
	Displaced uint64 // Connections ended for newer ones.
	Idle      uint64 // Connections ended after Config.Idle without a session.
}

// Claim is one connection of a Pending.
type Claim struct {
	pending *Pending
	ip      netip.Addr
	held    *hosts.Held[*Claim] // Among the claims; nil while it is not.
	early   *hosts.Held[*Claim] // Until it is ready.
	end     func()              // Ends the connection; nil until it is ready.
	gone    bool
	count   int // Number of sessions.
	timer   *time.Timer
}

// NewPending returns a Pending without connections. It obeys Connections, PerIP and Idle of config.
func NewPending(config Config) *Pending {
	config = config.withDefaults()
	return &Pending{config: config, most: min(config.Connections, mostPending), claims: hosts.NewTable[*Claim](true), early: hosts.NewTable[*Claim](true)}
}

// Stats returns the counters.
func (p *Pending) Stats() PendingStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Now = p.claims.Len()
	return p.stats
}

// Enter counts a connection of an address. Call it before anything is kept of the connection, and Leave when it has ended. The error is
// ErrFull.
func (p *Pending) Enter(ip netip.Addr) (*Claim, error) {
	c := &Claim{pending: p, ip: ip}
	p.mu.Lock()
	displaced, ok := p.room(ip)
	if !ok {
		p.stats.Refused++
		p.mu.Unlock()
		return nil, ErrFull
	}
	if displaced != nil {
		p.remove(displaced.Of)
		p.stats.Displaced++
	}
	c.held, c.early = p.claims.Add(ip, c), p.early.Add(ip, c)
	p.claims.Keep(c.held, true) // Nobody can end it yet.
	p.mu.Unlock()
	if displaced != nil {
		displaced.Of.end()
	}
	return c, nil
}

// room reports whether a connection may enter, and which one must end for it. Connections that are not ready cannot be ended: of those
// a host has at most a quarter of what is left, but always one.
func (p *Pending) room(ip netip.Addr) (displaced *hosts.Held[*Claim], ok bool) {
	switch unready := p.early.Len(); {
	case unready >= 4*p.most || p.early.LoadOf(ip) >= max(1, (p.most-unready)/4):
		return nil, false
	case p.claims.LoadOf(ip) >= p.config.PerIP:
		displaced = p.claims.WorstNear(ip)
		return displaced, displaced != nil
	case p.claims.Len() < p.most:
		return nil, true
	}
	return p.claims.Worst(0), true
}

// remove takes a claim out of the count.
func (p *Pending) remove(c *Claim) {
	if c.held == nil {
		return
	}
	p.claims.Remove(c.held)
	c.held = nil
	if c.timer != nil {
		c.timer.Stop()
	}
	p.ready(c)
}

// ready takes a claim out of those that are not ready.
func (p *Pending) ready(c *Claim) {
	if c.early != nil {
		p.early.Remove(c.early)
		c.early = nil
	}
}

// Ready tells how the connection can be ended, from another goroutine. Its time without a session begins.
func (c *Claim) Ready(end func()) {
	p := c.pending
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.gone || c.end != nil {
		return
	}
	c.end = end
	p.ready(c)
	if c.held != nil {
		p.claims.Keep(c.held, false)
	}
	c.timer = time.AfterFunc(p.config.Idle, c.expire)
}

// expire ends the connection after its time without a session.
func (c *Claim) expire() {
	p := c.pending
	p.mu.Lock()
	if c.held == nil {
		p.mu.Unlock()
		return
	}
	p.remove(c)
	p.stats.Idle++
	p.mu.Unlock()
	c.end()
}

// Touch begins the time without a session anew, since the server has done work for the connection.
func (c *Claim) Touch() {
	p := c.pending
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.held != nil && c.timer != nil {
		c.timer.Reset(p.config.Idle)
	}
}

// Begin tells that a session of the connection has begun.
func (c *Claim) Begin() {
	c.pending.mu.Lock()
	defer c.pending.mu.Unlock()
	c.count++
	c.pending.remove(c)
}

// End tells that a session of the connection has ended. Without another one its time begins anew.
func (c *Claim) End() {
	p := c.pending
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.count--; c.count > 0 || c.gone || c.end == nil {
		return
	}
	c.held = p.claims.Add(c.ip, c)
	c.timer.Reset(p.config.Idle)
}

// Leave tells that the connection has ended.
func (c *Claim) Leave() {
	c.pending.mu.Lock()
	defer c.pending.mu.Unlock()
	c.gone = true
	c.pending.remove(c)
}
