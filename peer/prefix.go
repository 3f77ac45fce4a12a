package peer

import "net/netip"

// Bits of the prefixes that limits count by: the network that one site has as a rule.
const (
	networkBits4 = 24
	networkBits6 = 64
)

// AddressPrefix is the prefix of one address alone, without its zone.
func AddressPrefix(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap().WithZone("")
	return netip.PrefixFrom(addr, addr.BitLen())
}

// NetworkPrefix is the network around an address: the /24 of an IPv4 address, the /64 of an IPv6 address.
func NetworkPrefix(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap().WithZone("")
	bits := networkBits6
	if addr.Is4() {
		bits = networkBits4
	}
	p, _ := addr.Prefix(bits) // the error is that of an address which is none: then the prefix is none, too
	return p
}
