package hosts

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

func TestLimiterGivesEachPrefixItsRate(t *testing.T) {
	l := NewLimiter([16]byte{1})
	one, other := netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("192.0.2.129/32")
	taken := func(prefix netip.Prefix, work Work, now time.Duration) (n int) {
		for range 1000 {
			if l.Take(prefix, work, 100, now) {
				n++
			}
		}
		return n
	}
	require.Equal(t, 100, taken(one, Unproven, 5*time.Second), "a second's worth at once")
	require.Zero(t, taken(one, Unproven, 5*time.Second))
	require.Equal(t, 100, taken(one, Proven, 5*time.Second), "each kind of work has its own")
	require.Equal(t, 100, taken(other, Unproven, 5*time.Second), "and each prefix")
	require.Equal(t, 25, taken(one, Unproven, 5250*time.Millisecond), "it fills again with time")
	require.Equal(t, 100, taken(one, Unproven, time.Minute), "up to a second's worth")
}

// Prefixes without end make the limiter forget others and refuse none; the table does not grow.
func TestLimiterForgetsAndRefusesNobodyForOthers(t *testing.T) {
	l := NewLimiter([16]byte{1})
	size := len(l.table)
	for i := range 1 << 20 {
		addr := netip.AddrFrom4([4]byte{byte(i >> 16), byte(i >> 8), byte(i), 1})
		require.True(t, l.Take(prefixOf(addr, 32), Unproven, 1, time.Second), "prefix %v asks once", addr)
	}
	require.Len(t, l.table, size)
	require.Equal(t, limiterSets*limiterWays, size)
	h, _ := Of(netip.MustParseAddr("2001:db8::1"))
	alloctest.Zero(t, 100, func() {
		l.Take(netip.Prefix{}, Proven, 1, time.Second)
		l.TakeIn(h, Proven, 1000, 1000, time.Second)
		l.Share(h, true, 1000, time.Second)
	})
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
	note(prefixOf(netip.AddrFrom16(base), 128))
	for bit := range 128 {
		other := base
		other[bit/8] ^= 1 << (bit % 8)
		note(prefixOf(netip.AddrFrom16(other), 128))
	}
	note(prefixOf(netip.MustParseAddr("2001:db8::"), 64))
	note(prefixOf(netip.MustParseAddr("2001:db8::"), 128))
}

// Whoever asks without end, from however many hosts and networks, a host that seldom asks is served at once. The work in all keeps
// to its budget.
func TestSharedWorkIsFair(t *testing.T) {
	v6 := func(at int) func(i int) netip.Addr {
		return func(i int) netip.Addr {
			ip := [16]byte{0x20, 1, 0xd, 0xb8, 15: 1}
			ip[at-1], ip[at] = byte(i>>8), byte(i)
			return netip.AddrFrom16(ip)
		}
	}
	for name, row := range map[string]struct {
		host    func(i int) netip.Addr
		hosts   int
		honest  string
		atLeast int // Pieces that the honest host gets in two seconds of 20.
	}{
		"64 networks /48":                        {v6(5), 64, "2001:db9::1", 20},
		"1000 networks /48":                      {v6(5), 1000, "2001:db9::1", 1},
		"a /48, and a neighbour in it":           {v6(6), 16, "2001:db8:0:ff00::1", 4},
		"a /56, and a neighbour in it":           {v6(7), 16, "2001:db8:0:ff::1", 2},
		"a /64, and its neighbour":               {v6(15), 256, "2001:db8:0:1::1", 20},
		"a whole /48 in turns":                   {func(i int) netip.Addr { return v6(7)(i * 7) }, 9000, "2001:db9::1", 20},
		"16 hosts of IPv4 and their neighbour":   {func(i int) netip.Addr { return netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}) }, 16, "198.51.100.77", 4},
		"1000 hosts of IPv4 in as many networks": {func(i int) netip.Addr { return netip.AddrFrom4([4]byte{198, byte(i >> 8), byte(i), 1}) }, 1000, "203.0.113.1", 1},
	} {
		t.Run(name, func(t *testing.T) {
			const all, seconds = 1000, 5
			l := NewLimiter([16]byte{1})
			attackers, honest := 0, [seconds]int{}
			good, _ := Of(netip.MustParseAddr(row.honest))
			next := 0
			for now := time.Duration(0); now < seconds*time.Second; now += time.Millisecond {
				for range 13 { // 13000 a second.
					bad, _ := Of(row.host(next % row.hosts))
					next++
					if l.Share(bad, true, all, now) {
						attackers++
					}
				}
				if now%(100*time.Millisecond) == 50*time.Millisecond && l.Share(good, true, all, now) {
					honest[now/time.Second]++
				}
			}
			require.LessOrEqual(t, attackers, all*(seconds+1))
			for i := range seconds - 1 {
				require.GreaterOrEqual(t, honest[i]+honest[i+1], row.atLeast, "second %d of %v", i, honest)
			}
			require.Positive(t, honest[0])
			t.Logf("%d of the attackers, %v of the honest one", attackers, honest)
		})
	}
}

// Hosts that come for the first time get in beside any number of others, in whose network they may be. 1024 hosts once used up all that
// there was, and 64 hosts what their network has.
func TestWhoSpentNothingGoesFirst(t *testing.T) {
	for name, row := range map[string]func(i int) (bad, good netip.Addr){
		"64 hosts of one network, and their neighbours": func(i int) (bad, good netip.Addr) {
			return netip.AddrFrom4([4]byte{198, 51, 100, byte(i % 64)}), netip.AddrFrom4([4]byte{198, 51, 100, byte(128 + i)})
		},
		"1024 hosts of as many networks, and their neighbours": func(i int) (bad, good netip.Addr) {
			return netip.AddrFrom4([4]byte{11, byte(i % 1024 >> 8), byte(i), 1}), netip.AddrFrom4([4]byte{11, 0, byte(i), 200})
		},
		"1024 hosts of as many networks, and strangers": func(i int) (bad, good netip.Addr) {
			return netip.AddrFrom4([4]byte{11, byte(i % 1024 >> 8), byte(i), 1}), netip.AddrFrom4([4]byte{12, 0, byte(i), 200})
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := NewLimiter([16]byte{1})
			refused, next := 0, 0
			for now := time.Duration(0); now < 12*time.Second; now += time.Millisecond {
				for range 13 { // 13000 a second.
					bad, _ := row(next)
					h, _ := Of(bad)
					next++
					l.Share(h, true, 1000, now)
				}
				if now%(100*time.Millisecond) == 50*time.Millisecond {
					_, good := row(int(now / (100 * time.Millisecond)))
					if h, _ := Of(good); !l.Share(h, true, 1000, now) {
						refused++
					}
				}
			}
			require.Zero(t, refused)
		})
	}
}

// Hosts that come for the first time get no more in all than everybody may have, also those without limits.
func TestSharedWorkHasATotal(t *testing.T) {
	for _, limited := range []bool{true, false} {
		l, served := NewLimiter([16]byte{1}), 0
		for i := range 39_000 { // 13000 a second.
			if h, _ := Of(netip.AddrFrom4([4]byte{100, byte(i >> 8), byte(i), 1})); l.Share(h, limited, 1000, time.Duration(i)*time.Second/13000) {
				served++
			}
		}
		require.InDelta(t, 4000, served, 10, "limited=%t", limited)
	}
}

// A rate of 0 is no limit.
func TestNoLimit(t *testing.T) {
	l := NewLimiter([16]byte{1})
	h, _ := Of(netip.MustParseAddr("2001:db8::1"))
	for range 5000 {
		require.True(t, l.Share(h, true, 0, 0))
		hostFull, networkFull := l.TakeIn(h, Proven, 0, 0, 0)
		require.False(t, hostFull || networkFull)
	}
	_, full := l.TakeIn(h, Proven, 0, 5, 0)
	require.False(t, full)
	for range 5 {
		_, networkFull := l.TakeIn(h, Proven, 0, 5, 0)
		full = full || networkFull
	}
	require.True(t, full, "the network has a limit without one of the host")
}
