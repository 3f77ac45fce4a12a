package secure

import (
	"encoding/binary"
	"net/netip"

	"github.com/arche-netcode/netcode/transport"
)

// appendAddress appends the bytes of an address, as the cookie signs them.
func appendAddress(b []byte, a transport.Addr) []byte {
	ip := a.IP.Addr().As16()
	b = append(b, ip[:]...)
	b = binary.BigEndian.AppendUint16(b, a.IP.Port())
	b = binary.BigEndian.AppendUint64(b, a.Key)
	return append(b, a.Via)
}

// hostOf returns the IPv4 address, or the /64 network of an IPv6 address. ok is false for loopback and for addresses without IP:
// they have no limits.
func hostOf(a transport.Addr) (host netip.Prefix, ok bool) {
	ip := a.IP.Addr().Unmap()
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

// isUnspecified reports whether an address has no IP to which a client could send.
func isUnspecified(a transport.Addr) bool {
	return !a.IP.IsValid() || a.IP.Addr().IsUnspecified()
}
