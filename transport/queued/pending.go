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

	mu      sync.Mutex
	claims  map[*Claim]struct{}
	hosts   hosts.Counts // Of the claims,
	early   hosts.Counts // and of those that are not ready.
	unready int
	serial  uint64
	stats   PendingStats
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
	host    hosts.Host
	limited bool
	serial  uint64
	waits   bool   // It is among the claims.
	end     func() // Ends the connection; nil until it is ready.
	gone    bool
	count   int // Number of sessions.
	timer   *time.Timer
}

// NewPending returns a Pending without connections. It obeys Connections, PerIP and Idle of config.
func NewPending(config Config) *Pending {
	config = config.withDefaults()
	return &Pending{config: config, most: min(config.Connections, mostPending), claims: map[*Claim]struct{}{}, hosts: hosts.Counts{}, early: hosts.Counts{}}
}

// Stats returns the counters.
func (p *Pending) Stats() PendingStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Now = len(p.claims)
	return p.stats
}

// Enter counts a connection of an address. Call it before anything is kept of the connection, and Leave when it has ended. The error is
// ErrFull.
func (p *Pending) Enter(ip netip.Addr) (*Claim, error) {
	c := &Claim{pending: p}
	c.host, c.limited = hosts.Of(ip)
	p.mu.Lock()
	displaced, ok := p.room(c)
	if !ok {
		p.stats.Refused++
		p.mu.Unlock()
		return nil, ErrFull
	}
	if displaced != nil {
		p.remove(displaced)
		p.stats.Displaced++
	}
	p.serial++
	c.serial = p.serial
	p.unready++
	if c.limited {
		p.early.Add(c.host, 1)
	}
	p.add(c)
	p.mu.Unlock()
	if displaced != nil {
		displaced.end()
	}
	return c, nil
}

// room reports whether a connection may enter, and which one must end for it. Connections that are not ready cannot be ended: of those
// a host has at most a quarter of what is left, but always one.
func (p *Pending) room(c *Claim) (displaced *Claim, ok bool) {
	if p.unready >= 4*p.most || c.limited && p.early.Load(c.host) >= max(1, (p.most-p.unready)/4) {
		return nil, false
	}
	if c.limited && p.hosts.Load(c.host) >= p.config.PerIP {
		displaced = p.oldest(func(other *Claim) int {
			if other.host.Network() == c.host.Network() {
				return 1
			}
			return 0
		})
		return displaced, displaced != nil
	}
	if len(p.claims) < p.most {
		return nil, true
	}
	displaced = p.oldest(func(other *Claim) int {
		if !other.limited {
			return 1
		}
		return p.hosts.Load(other.host)
	})
	return displaced, true
}

// oldest returns the oldest of the claims with the highest weight, nil if none is above 0.
func (p *Pending) oldest(weight func(*Claim) int) (found *Claim) {
	most := 1
	for c := range p.claims {
		if c.end == nil {
			continue
		}
		if w := weight(c); w > most || w == most && (found == nil || c.serial < found.serial) {
			found, most = c, w
		}
	}
	return found
}

// add counts a claim.
func (p *Pending) add(c *Claim) {
	c.waits = true
	p.claims[c] = struct{}{}
	if c.limited {
		p.hosts.Add(c.host, 1)
	}
}

// remove takes a claim out of the count.
func (p *Pending) remove(c *Claim) {
	if !c.waits {
		return
	}
	c.waits = false
	delete(p.claims, c)
	if c.limited {
		p.hosts.Add(c.host, -1)
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.end == nil {
		p.unready--
		if c.limited {
			p.early.Add(c.host, -1)
		}
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
	p.unready--
	if c.limited {
		p.early.Add(c.host, -1)
	}
	c.timer = time.AfterFunc(p.config.Idle, c.expire)
}

// expire ends the connection after its time without a session.
func (c *Claim) expire() {
	p := c.pending
	p.mu.Lock()
	if !c.waits {
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
	if c.waits && c.timer != nil {
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
	p.add(c)
	c.timer.Reset(p.config.Idle)
}

// Leave tells that the connection has ended.
func (c *Claim) Leave() {
	c.pending.mu.Lock()
	defer c.pending.mu.Unlock()
	c.gone = true
	c.pending.remove(c)
}
