package hosts

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestOf(t *testing.T) {
	for address, want := range map[string][]string{
		"198.51.100.9":               {"198.51.100.9/32", "198.51.100.0/24"},
		"::ffff:198.51.100.9":        {"198.51.100.9/32", "198.51.100.0/24"},
		"2001:db8:1:2ff:4:5:6:7":     {"2001:db8:1:2ff::/64", "2001:db8:1:200::/56", "2001:db8:1::/48"},
		"2001:db8:1:2ff:4:5:6:7%en0": {"2001:db8:1:2ff::/64", "2001:db8:1:200::/56", "2001:db8:1::/48"},
		"10.1.2.3":                   {"10.1.2.3/32"},
		"::ffff:192.168.1.2":         {"192.168.1.2/32"},
		"fe80::1%en0":                {"fe80::1/128"},
		"fd00::1:2":                  {"fd00::1:2/128"},
	} {
		h, ok := Of(netip.MustParseAddr(address))
		require.True(t, ok, address)
		var got []string
		h.levels(func(p netip.Prefix, _ int) { got = append(got, p.String()) })
		require.Equal(t, want, got, address)
		require.Equal(t, want[len(want)-1], h.Network().String())
	}
	for _, address := range []string{"127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"} {
		_, ok := Of(netip.MustParseAddr(address))
		require.False(t, ok, address)
	}
	_, ok := Of(netip.Addr{})
	require.False(t, ok, "a transport without IP")
}

// A /56 has twice the share of a /64, and a /48 four times.
func TestLoadOfNetworks(t *testing.T) {
	for _, c := range []struct {
		step [16]byte // What is added from one address to the next.
		room int      // Addresses until a limit of 10 is reached.
	}{
		{[16]byte{15: 1}, 10},
		{[16]byte{7: 1}, 20},
		{[16]byte{6: 1}, 40},
		{[16]byte{5: 1}, 100},
	} {
		counts, ip := Counts{}, [16]byte{0x20, 1, 0xd, 0xb8}
		n := 0
		for ; n < 100; n++ {
			h, _ := Of(netip.AddrFrom16(ip))
			if counts.Load(h) >= 10 {
				break
			}
			counts.Add(h, 1)
			for i := range ip {
				ip[i] += c.step[i]
			}
		}
		require.Equal(t, c.room, n)
	}
}

// Counts that were added and taken away again leave no memory.
func TestCountsEnd(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		counts := Counts{}
		var all []Host
		for range rapid.IntRange(1, 50).Draw(rt, "hosts") {
			ip := [16]byte{0x20, 1, 5: byte(rapid.IntRange(0, 1).Draw(rt, "48")), 6: byte(rapid.IntRange(0, 1).Draw(rt, "56")), 7: byte(rapid.IntRange(0, 2).Draw(rt, "64")), 15: rapid.Byte().Draw(rt, "ip")}
			h, _ := Of(netip.AddrFrom16(ip))
			counts.Add(h, 1)
			all = append(all, h)
			require.Equal(rt, len(all), counts[netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 1}), 48)]+counts[netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 1, 5: 1}), 48)])
		}
		for _, h := range all {
			require.Positive(rt, counts[h.Prefix])
			counts.Add(h, -1)
		}
		require.Empty(rt, counts)
	})
}
