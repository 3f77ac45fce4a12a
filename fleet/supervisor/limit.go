package supervisor

import (
	"crypto/rand"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/arche-netcode/netcode/internal/hosts"
)

const (
	// maxConnections bounds the connections of backends and pages; one host has at most hostConnections.
	maxConnections  = 512
	hostConnections = 64
	// networkFactor times as much as one host may have is for its network.
	networkFactor = 4
)

// limits bounds what hosts may do.
type limits struct {
	mu          sync.Mutex // Guards the rest.
	rate        int
	start       time.Time
	requests    *hosts.Limiter
	connections *hosts.Table[*counted]
}

func (l *limits) init(rate int) {
	var secret [16]byte
	_, _ = rand.Read(secret[:]) // It never fails.
	l.rate, l.start, l.requests, l.connections = rate, time.Now(), hosts.NewLimiter(secret), hosts.NewTable[*counted](false)
}

// take takes one request out of the budget of a host. Addresses of this machine have no limit.
func (l *limits) take(remote string) bool {
	h, limited := hosts.Of(ipOf(remote))
	if !limited {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	hostFull, networkFull := l.requests.TakeIn(h, hosts.Proven, l.rate, networkFactor*l.rate, time.Since(l.start))
	return !hostFull && !networkFull
}

// ipOf returns the address of a remote end; the zero one if it is none.
func ipOf(remote string) netip.Addr {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap()
}

// limited is the listener of Front.Limit.
type limited struct {
	net.Listener
	limits *limits
}

// Accept implements net.Listener.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if held := l.limits.hold(c); held != nil {
			return held, nil
		}
		_ = c.Close()
	}
}

// counted is a connection that is counted until it closes.
type counted struct {
	net.Conn
	limits *limits
	held   *hosts.Held[*counted] // Nil: it is not counted any more.
}

// hold counts a connection. It returns nil if its host has too many.
func (l *limits) hold(c net.Conn) net.Conn {
	ip := ipOf(c.RemoteAddr().String())
	l.mu.Lock()
	defer l.mu.Unlock()
	load := l.connections.LoadOf(ip)
	if load >= hostConnections {
		return nil
	}
	if l.connections.Len() >= maxConnections {
		worst := l.connections.Worst(load + 1)
		if worst == nil {
			return nil
		}
		l.connections.Remove(worst)
		worst.Of.held = nil
		_ = worst.Of.Conn.Close()
	}
	held := &counted{Conn: c, limits: l}
	held.held = l.connections.Add(ip, held)
	return held
}

// Close implements net.Conn.
func (c *counted) Close() error {
	c.limits.mu.Lock()
	if c.held != nil {
		c.limits.connections.Remove(c.held)
		c.held = nil
	}
	c.limits.mu.Unlock()
	return c.Conn.Close()
}
