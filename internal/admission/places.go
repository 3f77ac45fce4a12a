package admission

import (
	"net/netip"
	"time"

	"github.com/arche-netcode/netcode/peer"
)

// Limits limits the clients of an address and of its network. The fields are those of netcode.Config. 0 or less means no limit.
type Limits struct {
	ClientsPerAddress, ClientsPerNetwork       int // Simultaneous places.
	HandshakesPerAddress, HandshakesPerNetwork int // Answered handshake datagrams per second.
}

// Scope names a limit that was reached.
type Scope uint8

// Values of Scope.
const (
	None    Scope = iota // No limit.
	Address              // The limit of the address.
	Network              // The limit of its network.
)

// Places counts the clients of each address and network, so that none can use up all places and handshakes.
type Places struct {
	limits  Limits
	limiter *peer.Limiter
	taken   map[netip.Prefix]int // By address and by network.
}

// NewPlaces returns a count without any client. See peer.NewLimiter about secret.
func NewPlaces(secret [16]byte, limits Limits) *Places {
	return &Places{limits: limits, limiter: peer.NewLimiter(secret), taken: map[netip.Prefix]int{}}
}

// IsExempt reports whether an address has no limits: it is a loopback address, or the transport has no IP addresses.
func IsExempt(ip netip.Addr) bool { return !ip.IsValid() || ip.Unmap().IsLoopback() }

// isLocalNetwork reports whether an address has no network limit: a LAN is one network.
func isLocalNetwork(ip netip.Addr) bool {
	ip = ip.Unmap()
	return IsExempt(ip) || ip.IsPrivate() || ip.IsLinkLocalUnicast()
}

// Work subtracts handshake work from the budgets of an address and its network. It returns the exhausted one, or None.
func (p *Places) Work(ip netip.Addr, work peer.Work, now time.Duration) Scope {
	address, network := p.limits.HandshakesPerAddress, p.limits.HandshakesPerNetwork
	switch {
	case IsExempt(ip):
	case address > 0 && !p.limiter.Take(peer.AddressPrefix(ip), work, address, now):
		return Address
	case network > 0 && !isLocalNetwork(ip) && !p.limiter.Take(peer.NetworkPrefix(ip), work, network, now):
		return Network
	}
	return None
}

// Crowded returns the limit of places that an address has reached, None if it may have another place.
func (p *Places) Crowded(ip netip.Addr) Scope {
	if IsExempt(ip) {
		return None
	}
	return p.limits.reached(ip, p.taken[peer.AddressPrefix(ip)], p.taken[peer.NetworkPrefix(ip)])
}

// reached returns the limit that these numbers of clients of an address and its network have reached.
func (l *Limits) reached(ip netip.Addr, address, network int) Scope {
	switch {
	case l.ClientsPerAddress > 0 && address >= l.ClientsPerAddress:
		return Address
	case l.ClientsPerNetwork > 0 && !isLocalNetwork(ip) && network >= l.ClientsPerNetwork:
		return Network
	}
	return None
}

// Take counts a session that begins.
func (p *Places) Take(ip netip.Addr) { p.add(ip, +1) }

// Free counts a session that ends.
func (p *Places) Free(ip netip.Addr) { p.add(ip, -1) }

func (p *Places) add(ip netip.Addr, by int) {
	if IsExempt(ip) {
		return
	}
	for _, prefix := range [...]netip.Prefix{peer.AddressPrefix(ip), peer.NetworkPrefix(ip)} {
		if p.taken[prefix] += by; p.taken[prefix] == 0 {
			delete(p.taken, prefix)
		}
	}
}
