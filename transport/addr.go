package transport

import (
	"net/netip"
	"strconv"
)

// Addr is the address of a peer: a comparable value of its transport, to be used as the key of a map. A transport fills in
// the fields that it has. The zero value is no address.
type Addr struct {
	// IP is the peer's IP address and port, for limits by address and network. An IPv4 address is never written as IPv6. It is
	// the zero value where the transport does not know it: no limit by address holds for such a peer.
	IP netip.AddrPort
	// Key tells apart the peers that IP does not: the number of a connection, or the identity of a user. 0 is none.
	Key uint64
	// Via is the number of the connection inside of a Join, from 1. Elsewhere it is 0.
	Via uint8
}

// AddrOf returns the address of a peer that its IP address and port identify, as with UDP. An IPv6 address that stands for an
// IPv4 address becomes that one.
func AddrOf(ip netip.AddrPort) Addr {
	return Addr{IP: netip.AddrPortFrom(ip.Addr().Unmap(), ip.Port())}
}

// ParseAddr reads an address like "192.0.2.7:9000" or "[::1]:9000". It looks up no names.
func ParseAddr(text string) (Addr, error) {
	ip, err := netip.ParseAddrPort(text)
	if err != nil {
		return Addr{}, err
	}
	return AddrOf(ip), nil
}

// MustParseAddr is ParseAddr for constants: it panics on an error.
func MustParseAddr(text string) Addr { return AddrOf(netip.MustParseAddrPort(text)) }

// IsValid reports whether the address names a peer: by an IP address with a port, or by a key.
func (a Addr) IsValid() bool { return a.Key != 0 || a.IP.IsValid() && a.IP.Port() != 0 }

// MarshalText makes String the form of the address in JSON, as in structured logs. There is no way back for addresses of transports with
// keys.
func (a Addr) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// String returns the address for logs: "192.0.2.7:9000", "#17" of a key alone, "192.0.2.7:9000#17 via 2" of all fields.
func (a Addr) String() string {
	text := ""
	if a.IP.IsValid() || a.Key == 0 {
		text = a.IP.String()
	}
	if a.Key != 0 {
		text += "#" + strconv.FormatUint(a.Key, 10)
	}
	if a.Via != 0 {
		text += " via " + strconv.Itoa(int(a.Via))
	}
	return text
}
