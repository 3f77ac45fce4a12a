package link

import (
	"net/netip"
	"time"

	"github.com/arche-netcode/netcode/congestion"
	"github.com/arche-netcode/netcode/internal/hosts"
)

// Homes groups the connections of each host, which may share a line (RFC 3124). Ends on this machine or without an IP address belong
// to no group.
type Homes map[netip.Prefix]*congestion.Group

// Join adds a link to the group of its address.
func (h Homes) Join(l *Link) {
	host, ok := hosts.Of(l.Address.IP.Addr())
	if !ok {
		return
	}
	if h[host.Prefix] == nil {
		h[host.Prefix] = &congestion.Group{}
	}
	h[host.Prefix].Join(&l.Conn.Control)
}

// Leave removes a link from the group of its address.
func (h Homes) Leave(l *Link) {
	if host, ok := hosts.Of(l.Address.IP.Addr()); ok && h[host.Prefix].Leave(&l.Conn.Control) == 0 {
		delete(h, host.Prefix)
	}
}

// EndTick lets the links of each home react together to the acknowledgements of a tick.
func (h Homes) EndTick(now time.Duration) {
	for _, group := range h {
		group.Tick(now)
	}
}
