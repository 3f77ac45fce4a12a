package site

import (
	"net"
	"net/http"
	"net/netip"
)

// isNear reports whether no address of the internet is meant: this machine, a private network, the networks of carriers and VPNs (RFC 6598), and those
// of test benches and documents (RFC 2544, RFC 5737), which some containers have.
func isNear(ip netip.Addr) bool {
	ip = ip.Unmap()
	if ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() {
		return true
	}
	for _, network := range []string{"100.64.0.0/10", "198.18.0.0/15", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"} {
		if netip.MustParsePrefix(network).Contains(ip) {
			return true
		}
	}
	return false
}

// localNames are the names and addresses by which a local network finds this machine; those of the machine itself come first.
func localNames() []string {
	names := []string{"127.0.0.1", "localhost"}
	addresses, _ := net.InterfaceAddrs() // Without any, the game is for this machine.
	for _, a := range addresses {
		prefix, err := netip.ParsePrefix(a.String())
		if ip := prefix.Addr().Unmap(); err == nil && ip.Is4() && !ip.IsLoopback() && isNear(ip) {
			names = append(names, ip.String())
		}
	}
	return names
}

// near refuses requests that came to an address of the internet: page and WebSocket are in clear.
func near(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok && !isNear(at.AddrPort().Addr()) {
			http.Error(w, "this game is for a local network", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
