package transport

import (
	"net/netip"
	"strconv"
)

// Addr is the address of a peer: a comparable value, usable as a map key. Each transport fills in the fields that it has. The
// zero value is no address.
type Addr struct {
	// IP is the peer's IP address and port, for limits by address and network. An IPv4 address is never IPv4-mapped IPv6. It is
	// zero if the transport does not know it: such a peer has no limits by address.
	IP netip.AddrPort
	// Key names a peer that the transport itself recognises, such as a connection or the keys of transport/secure: IP is then only
	// where the peer is at present. 0 means none: IP and port name the peer.
	Key uint64
	// Via is the number of the connection inside a Join, from 1. It is 0 without Join.
	Via uint8
}

// AddrOf returns the address of a peer that its IP address and port identify, as in UDP. It turns IPv4-mapped IPv6 into IPv4.
func AddrOf(ip netip.AddrPort) Addr {
	return Addr{IP: netip.AddrPortFrom(ip.Addr().Unmap(), ip.Port())}
}

// ParseAddr parses an address such as "192.0.2.7:9000" or "[::1]:9000". It resolves no names.
func ParseAddr(text string) (Addr, error) {
	ip, err := netip.ParseAddrPort(text)
	if err != nil {
		return Addr{}, err
	}
	return AddrOf(ip), nil
}

// MustParseAddr is ParseAddr for constants: it panics on an error.
func MustParseAddr(text string) Addr { return AddrOf(netip.MustParseAddrPort(text)) }

// IsValid reports whether the address identifies a peer, by IP address and port or by key.
func (a Addr) IsValid() bool { return a.Key != 0 || a.IP.IsValid() && a.IP.Port() != 0 }

// Peer returns the name of the peer at an address: with a Key without IP, so that it stays while the peer moves.
func (a Addr) Peer() Addr {
	if a.Key != 0 {
		a.IP = netip.AddrPort{}
	}
	return a
}

// MarshalText returns String, for JSON and structured logs. Addresses with a key cannot be parsed back.
func (a Addr) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// String formats the address for logs: "192.0.2.7:9000", "#17" with a key only, "192.0.2.7:9000#17 via 2" with all fields.
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
