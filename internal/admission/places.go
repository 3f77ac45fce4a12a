package admission

import (
	"net/netip"
	"time"

	"github.com/arche-netcode/netcode/peer"
)

// Limits bounds what the clients of an address, and of its network, may have. The fields are those of netcode.Config. 0 or less is no
// limit.
type Limits struct {
	ClientsPerAddress, ClientsPerNetwork       int // Places at a time.
	HandshakesPerAddress, HandshakesPerNetwork int // Handshake datagrams that are answered a second.
}

// Scope names the limit that is reached.
type Scope uint8

// The scopes.
const (
	None    Scope = iota // No limit is reached.
	Address              // That of the address.
	Network              // That of its network.
)

// Places counts the clients of each address and network, so that none takes the places and the time of all others.
type Places struct {
	limits  Limits
	limiter *peer.Limiter
	taken   map[netip.Prefix]int // By address and by network.
}

// NewPlaces returns a count in which no place is taken. See peer.NewLimiter about secret.
func NewPlaces(secret [16]byte, limits Limits) *Places {
	return &Places{limits: limits, limiter: peer.NewLimiter(secret), taken: map[netip.Prefix]int{}}
}

// IsExempt reports whether an address is exempt from all limits: it is this machine's own, or none, as in transports without IP.
func IsExempt(ip netip.Addr) bool { return !ip.IsValid() || ip.Unmap().IsLoopback() }

// isLocalNetwork reports whether an address is exempt from the limits of networks: a LAN is one network.
func isLocalNetwork(ip netip.Addr) bool {
	ip = ip.Unmap()
	return IsExempt(ip) || ip.IsPrivate() || ip.IsLinkLocalUnicast()
}

// Work takes a piece of handshake work out of the budgets of an address and its network. It returns the one that is used up.
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

// Crowded returns the limit that an address has reached; None if it may take another place.
func (p *Places) Crowded(ip netip.Addr) Scope {
	if IsExempt(ip) {
		return None
	}
	return p.limits.reached(ip, p.taken[peer.AddressPrefix(ip)], p.taken[peer.NetworkPrefix(ip)])
}

// reached returns the limit that as many clients of an address and of its network have reached.
func (l *Limits) reached(ip netip.Addr, address, network int) Scope {
	switch {
	case l.ClientsPerAddress > 0 && address >= l.ClientsPerAddress:
		return Address
	case l.ClientsPerNetwork > 0 && !isLocalNetwork(ip) && network >= l.ClientsPerNetwork:
		return Network
	}
	return None
}

// Take counts a session that takes a place.
func (p *Places) Take(ip netip.Addr) { p.add(ip, +1) }

// Free counts a session that gives its place back.
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
