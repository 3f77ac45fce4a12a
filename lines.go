package netcode

import (
	"net/netip"
	"time"

	"github.com/arche-netcode/netcode/congestion"
	"github.com/arche-netcode/netcode/internal/admission"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/transport"
)

// lines groups the clients of each home, which may share a line (RFC 3124): those of an IPv4 address or of an IPv6 network. Clients on this
// machine, or without an IP address, share none.
type lines map[netip.Prefix]*congestion.Group

// homeOf returns the home of an address; false for one that has none.
func homeOf(address transport.Addr) (home netip.Prefix, ok bool) {
	ip := address.IP.Addr().Unmap()
	switch {
	case admission.IsExempt(ip):
		return netip.Prefix{}, false
	case ip.Is4():
		return peer.AddressPrefix(ip), true
	}
	return peer.NetworkPrefix(ip), true
}

// join adds a client that begins to send to its address.
func (l lines) join(c *Session) {
	home, ok := homeOf(c.link.Address)
	if !ok {
		return
	}
	if l[home] == nil {
		l[home] = &congestion.Group{}
	}
	l[home].Join(c.link.Conn.Control())
}

// leave removes a client from its address.
func (l lines) leave(c *Session) {
	if home, ok := homeOf(c.link.Address); ok && l[home].Leave(c.link.Conn.Control()) == 0 {
		delete(l, home)
	}
}

// endTick makes clients of a home act together on what their packets of a tick told.
func (l lines) endTick(now time.Duration) {
	for _, group := range l {
		group.Tick(now)
	}
}
