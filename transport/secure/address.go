package secure

import (
	"encoding/binary"

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

// isUnspecified reports whether an address has no IP to which a client could send.
func isUnspecified(a transport.Addr) bool {
	return !a.IP.IsValid() || a.IP.Addr().IsUnspecified()
}
