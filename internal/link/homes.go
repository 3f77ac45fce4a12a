package link

import (
	"net/netip"
	"time"

	"github.com/arche-netcode/netcode/congestion"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/transport"
)

// Homes groups the connections of each home, which may share a line (RFC 3124): an IPv4 address or an IPv6 network. Ends
// on this machine or without an IP address belong to no group.
type Homes map[netip.Prefix]*congestion.Group

// homeOf returns the home of an address. ok is false for an address without a home.
func homeOf(address transport.Addr) (home netip.Prefix, ok bool) {
	switch ip := address.IP.Addr().Unmap(); {
	case !ip.IsValid() || ip.IsLoopback():
		return netip.Prefix{}, false
	case ip.Is4():
		return peer.AddressPrefix(ip), true
	default:
		return peer.NetworkPrefix(ip), true
	}
}

// Join adds a link to the group of its address.
func (h Homes) Join(l *Link) {
	home, ok := homeOf(l.Address)
	if !ok {
		return
	}
	if h[home] == nil {
		h[home] = &congestion.Group{}
	}
	h[home].Join(&l.Conn.Control)
}

// Leave removes a link from the group of its address.
func (h Homes) Leave(l *Link) {
	if home, ok := homeOf(l.Address); ok && h[home].Leave(&l.Conn.Control) == 0 {
		delete(h, home)
	}
}

// EndTick lets the links of each home react together to the acknowledgements of a tick.
func (h Homes) EndTick(now time.Duration) {
	for _, group := range h {
		group.Tick(now)
	}
}
