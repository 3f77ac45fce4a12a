package hosts

import "net/netip"

// The sizes of prefixes in bits. One customer of IPv6 has a /64 at least, often a /56 and at most a /48 (RFC 6177). So a host is the
// /64, and each network around it may have twice as much as one in it.
const (
	networkBits4  = 24
	hostBits6     = 64
	customerBits6 = 56
	siteBits6     = 48
)

// Host is the host behind an IP address: the prefixes by which limits count it.
type Host struct {
	// Prefix is the host itself: an IPv4 address, also within IPv6, or the /64 of an IPv6 address, without a zone. In a private or
	// link-local network of IPv6 it is the single address.
	Prefix netip.Prefix
	// Around has the networks around the host: the /24 of an IPv4 address, the /56 and the /48 of an IPv6 address. The zero prefix
	// means none: a private or link-local network is one LAN, and has none.
	Around [2]netip.Prefix
}

// Of returns the host behind an IP address. ok is false for a loopback address and the zero one, of a transport without IP: they
// have no limits.
func Of(ip netip.Addr) (h Host, ok bool) {
	ip = ip.Unmap().WithZone("")
	if !ip.IsValid() || ip.IsLoopback() {
		return Host{}, false
	}
	switch lan := ip.IsPrivate() || ip.IsLinkLocalUnicast(); {
	case lan:
		h.Prefix = prefixOf(ip, ip.BitLen())
	case ip.Is4():
		h.Prefix, h.Around[0] = prefixOf(ip, ip.BitLen()), prefixOf(ip, networkBits4)
	default:
		h.Prefix = prefixOf(ip, hostBits6)
		h.Around = [2]netip.Prefix{prefixOf(ip, customerBits6), prefixOf(ip, siteBits6)}
	}
	return h, true
}

// Same reports whether two valid IP addresses are of the same host.
func Same(a, b netip.Addr) bool {
	one, limited := Of(a)
	two, _ := Of(b)
	return one == two && (limited || a.IsValid() && a.Unmap() == b.Unmap())
}

// prefixOf returns the prefix of a valid address with so many bits.
func prefixOf(ip netip.Addr, bits int) netip.Prefix {
	p, _ := ip.Prefix(bits) // It fails for more bits than the address has.
	return p
}

// Network returns the widest network around the host, the host itself in a LAN.
func (h Host) Network() netip.Prefix {
	network := h.Prefix
	for _, p := range h.Around {
		if p.IsValid() {
			network = p
		}
	}
	return network
}

// levels calls f for each valid prefix. The zero Host has none. share is the part that a prefix may have: 1 for the host, twice as much for
// each network around it.
func (h *Host) levels(f func(p netip.Prefix, share int)) {
	if h.Prefix.IsValid() {
		f(h.Prefix, 1)
	}
	for i, p := range h.Around {
		if p.IsValid() {
			f(p, 2<<i)
		}
	}
}

// Counts counts what hosts and the networks around them have, such as sessions. Without an entry it is nothing.
type Counts map[netip.Prefix]int

// Add adds n, which may be negative, to what a host has.
func (c Counts) Add(h Host, n int) {
	h.levels(func(p netip.Prefix, _ int) {
		if c[p] += n; c[p] <= 0 {
			delete(c, p)
		}
	})
}

// Load returns what a host has, or a network around it in relation to its share: a limit of n is reached by a load of n.
func (c Counts) Load(h Host) (load int) {
	h.levels(func(p netip.Prefix, share int) { load = max(load, c[p]/share) })
	return load
}
