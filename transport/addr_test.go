package transport_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/transport"
)

func TestAddr(t *testing.T) {
	four := transport.MustParseAddr("192.0.2.7:9000")
	require.Equal(t, four, transport.MustParseAddr("[::ffff:192.0.2.7]:9000"), "one address in two spellings")
	require.Equal(t, four, transport.AddrOf(four.IP))
	for _, text := range []string{"", "192.0.2.7", "game.example:9000", "192.0.2.7:65536"} {
		_, err := transport.ParseAddr(text)
		require.Error(t, err, text)
	}
	for _, test := range []struct {
		addr  transport.Addr
		valid bool
		text  string
	}{
		{transport.Addr{}, false, "invalid AddrPort"},
		{four, true, "192.0.2.7:9000"},
		{transport.MustParseAddr("192.0.2.7:0"), false, "192.0.2.7:0"},
		{transport.MustParseAddr("[::1]:9000"), true, "[::1]:9000"},
		{transport.Addr{Key: 17}, true, "#17"},
		{transport.Addr{Key: 17, Via: 3}, true, "#17 via 3"},
		{transport.Addr{Via: 3}, false, "invalid AddrPort via 3"},
		{transport.Addr{IP: four.IP, Key: 17, Via: 2}, true, "192.0.2.7:9000#17 via 2"},
	} {
		require.Equal(t, test.valid, test.addr.IsValid(), test.text)
		require.Equal(t, test.text, test.addr.String())
	}
}

func TestAddrIsAKeyWithoutAllocation(t *testing.T) {
	ip := netip.MustParseAddrPort("[2001:db8::1]:9000")
	seen := map[transport.Addr]int{}
	for key := range uint64(3) {
		for via := range uint8(3) {
			seen[transport.Addr{IP: ip, Key: key, Via: via}]++
		}
	}
	require.Len(t, seen, 9)
	alloctest.Zero(t, 100, func() { seen[transport.Addr{IP: ip, Key: 2, Via: 1}]++ })
}
