package admission

import (
	"net/netip"
	"time"

	"github.com/arche-netcode/netcode/internal/hosts"
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

// Places counts the clients of each host and network, so that none can use up all places and handshakes.
type Places struct {
	limits  Limits
	limiter *hosts.Limiter
	taken   hosts.Counts
}

// NewPlaces returns a count without any client. See hosts.NewLimiter about secret.
func NewPlaces(secret [16]byte, limits Limits) *Places {
	return &Places{limits: limits, limiter: hosts.NewLimiter(secret), taken: hosts.Counts{}}
}

// Work subtracts handshake work from the budgets of a host and its networks. It returns the exhausted one, or None.
func (p *Places) Work(ip netip.Addr, work hosts.Work, now time.Duration) Scope {
	host, limited := hosts.Of(ip)
	if !limited {
		return None
	}
	switch hostFull, networkFull := p.limiter.TakeIn(host, work, p.limits.HandshakesPerAddress, p.limits.HandshakesPerNetwork, now); {
	case hostFull:
		return Address
	case networkFull:
		return Network
	}
	return None
}

// Crowded returns the limit of places that an address has reached. Its Scope is None if the address may have another place.
func (p *Places) Crowded(ip netip.Addr) Limit { return p.limits.reached(ip, p.taken) }

// Limit is a limit that was reached.
type Limit struct {
	Scope Scope        // None if no limit was reached.
	Of    netip.Prefix // The host or network.
	Most  int          // The limit.
}

// reached returns the limit of places that an address has reached with these counts.
func (l *Limits) reached(ip netip.Addr, taken hosts.Counts) Limit {
	host, _ := hosts.Of(ip) // Without limits it has no prefix, and takes nothing.
	if most := l.ClientsPerAddress; most > 0 && taken[host.Prefix] >= most {
		return Limit{Address, host.Prefix, most}
	}
	for i, around := range host.Around { // The wider network may have twice as many.
		if most := l.ClientsPerNetwork << i; most > 0 && around.IsValid() && taken[around] >= most {
			return Limit{Network, around, most}
		}
	}
	return Limit{}
}

// Take counts a session that begins.
func (p *Places) Take(ip netip.Addr) { p.add(ip, +1) }

// Free counts a session that ends.
func (p *Places) Free(ip netip.Addr) { p.add(ip, -1) }

func (p *Places) add(ip netip.Addr, by int) {
	host, _ := hosts.Of(ip)
	p.taken.Add(host, by)
}
