package peer

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

func TestLimiterGivesEachPrefixItsRate(t *testing.T) {
	l := NewLimiter([16]byte{1})
	one, other := AddressPrefix(netip.MustParseAddr("192.0.2.1")), AddressPrefix(netip.MustParseAddr("192.0.2.129"))
	taken := func(prefix netip.Prefix, work Work, now time.Duration) (n int) {
		for range 1000 {
			if l.Take(prefix, work, 100, now) {
				n++
			}
		}
		return n
	}
	require.Equal(t, 100, taken(one, WorkUnproven, 5*time.Second), "a second's worth at once")
	require.Zero(t, taken(one, WorkUnproven, 5*time.Second))
	require.Equal(t, 100, taken(one, WorkProven, 5*time.Second), "each kind of work has its own")
	require.Equal(t, 100, taken(other, WorkUnproven, 5*time.Second), "and each prefix")
	require.Equal(t, 25, taken(one, WorkUnproven, 5250*time.Millisecond), "it fills again with time")
	require.Equal(t, 100, taken(one, WorkUnproven, time.Minute), "up to a second's worth")
}

// Prefixes without end make the limiter forget others and refuse none; the table does not grow.
func TestLimiterForgetsAndRefusesNobodyForOthers(t *testing.T) {
	l := NewLimiter([16]byte{1})
	size := len(l.table)
	for i := range 1 << 20 {
		addr := netip.AddrFrom4([4]byte{byte(i >> 16), byte(i >> 8), byte(i), 1})
		require.True(t, l.Take(NetworkPrefix(addr), WorkUnproven, 1, time.Second), "prefix %v asks once", addr)
	}
	require.Len(t, l.table, size)
	require.Equal(t, limiterSets*limiterWays, size)
	alloctest.Zero(t, 100, func() { l.Take(netip.Prefix{}, WorkProven, 1, time.Second) })
}

// All address bits count, and so does the length of the prefix.
func TestLimiterTellsPrefixesApart(t *testing.T) {
	l := NewLimiter([16]byte{1})
	seen := map[uint64]netip.Prefix{}
	note := func(p netip.Prefix) {
		h := l.hash(p)
		require.NotZero(t, h)
		other, there := seen[h]
		require.False(t, there, "%v and %v", p, other)
		seen[h] = p
	}
	base := netip.MustParseAddr("2001:db8::5").As16()
	note(AddressPrefix(netip.AddrFrom16(base)))
	for bit := range 128 {
		other := base
		other[bit/8] ^= 1 << (bit % 8)
		note(AddressPrefix(netip.AddrFrom16(other)))
	}
	note(NetworkPrefix(netip.MustParseAddr("2001:db8::")))
	note(AddressPrefix(netip.MustParseAddr("2001:db8::")))
}

func TestPrefixesOfAddresses(t *testing.T) {
	for addr, want := range map[string][2]string{
		"192.0.2.77":        {"192.0.2.77/32", "192.0.2.0/24"},
		"::ffff:192.0.2.77": {"192.0.2.77/32", "192.0.2.0/24"},
		"2001:db8:1:2:3::4": {"2001:db8:1:2:3::4/128", "2001:db8:1:2::/64"},
		"fe80::1%eth0":      {"fe80::1/128", "fe80::/64"},
	} {
		require.Equal(t, want[0], AddressPrefix(netip.MustParseAddr(addr)).String())
		require.Equal(t, want[1], NetworkPrefix(netip.MustParseAddr(addr)).String())
	}
	require.False(t, NetworkPrefix(netip.Addr{}).IsValid())
}

func BenchmarkLimiterTake(b *testing.B) {
	l := NewLimiter([16]byte{1})
	p := NetworkPrefix(netip.MustParseAddr("192.0.2.77"))
	b.ReportAllocs()
	for b.Loop() {
		l.Take(p, WorkProven, 100, time.Second)
	}
}
