package secure

import (
	"net/netip"
)

// address is the address type of transport.Conn.
type address = netip.AddrPort

// noAddress is the zero address.
func noAddress() address { return address{} }

// appendAddress appends an address as bytes, for the cookie.
func appendAddress(b []byte, a address) []byte {
	ip := a.Addr().As16()
	b = append(b, ip[:]...)
	return append(b, byte(a.Port()>>8), byte(a.Port()))
}

// hostOf returns the IPv4 address or the /64 network of an IPv6 address. ok is false for this machine's own addresses and
// for addresses without IP, which no limit concerns.
func hostOf(a address) (host netip.Prefix, ok bool) {
	ip := a.Addr().Unmap()
	if !ip.IsValid() || ip.IsLoopback() {
		return netip.Prefix{}, false
	}
	bits := 32
	if ip.Is6() {
		bits = 64
	}
	host, err := ip.WithZone("").Prefix(bits)
	return host, err == nil
}

// isUnspecified reports whether an address has no IP that a client could use.
func isUnspecified(a address) bool { return !a.IsValid() || a.Addr().IsUnspecified() }
