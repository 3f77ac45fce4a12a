package admission

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/hosts"
)

// repeat returns n addresses by a format of their number.
func repeat(format string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf(format, i+1))
	}
	return all
}

func TestPlacesOfAnAddressAndItsNetwork(t *testing.T) {
	limits := Limits{ClientsPerAddress: 2, ClientsPerNetwork: 3}
	for name, row := range map[string]struct {
		limits Limits
		taken  []string
		next   string
		want   Scope
	}{
		"a free address":           {limits, nil, "198.51.100.9", None},
		"one place is left":        {limits, []string{"198.51.100.9"}, "198.51.100.9", None},
		"the address has its most": {limits, []string{"198.51.100.9", "198.51.100.9"}, "198.51.100.9", Address},
		"the network has its most": {limits, []string{"198.51.100.1", "198.51.100.2", "198.51.100.3"}, "198.51.100.9", Network},
		"a host of IPv6":           {limits, []string{"2001:db8::1", "2001:db8::2"}, "2001:db8::ffff", Address},
		"a /56 of IPv6":            {limits, []string{"2001:db8::1", "2001:db8:0:1::2", "2001:db8:0:2::3"}, "2001:db8:0:ff::1", Network},
		"a /48 of IPv6":            {limits, repeat("2001:db8:0:%x00::1", 6), "2001:db8:0:ff00::1", Network},
		"most of a /48 of IPv6":    {limits, repeat("2001:db8:0:%x00::1", 5), "2001:db8:0:ff00::1", None},
		"another /48 of IPv6":      {limits, repeat("2001:db8:0:%x00::1", 6), "2001:db8:1::1", None},
		"a LAN of IPv6":            {limits, repeat("fd00::%x", 6), "fd00::ff", None},
		"another network":          {limits, []string{"198.51.100.1", "198.51.100.2", "198.51.100.3"}, "198.51.101.9", None},
		"a LAN is one network":     {limits, []string{"192.168.1.1", "192.168.1.2", "192.168.1.3"}, "192.168.1.9", None},
		"an address of a LAN":      {limits, []string{"192.168.1.1", "192.168.1.1"}, "192.168.1.1", Address},
		"this machine":             {limits, []string{"127.0.0.1", "127.0.0.1", "127.0.0.1"}, "127.0.0.1", None},
		"IPv4 within IPv6":         {limits, []string{"::ffff:127.0.0.1", "::ffff:127.0.0.1"}, "::ffff:127.0.0.1", None},
		"without limits":           {Limits{}, []string{"198.51.100.9", "198.51.100.9", "198.51.100.9"}, "198.51.100.9", None},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewPlaces([16]byte{1}, row.limits)
			for _, ip := range row.taken {
				p.Take(netip.MustParseAddr(ip))
			}
			next := netip.MustParseAddr(row.next)
			require.Equal(t, row.want, p.Crowded(next).Scope)
			for _, ip := range row.taken {
				p.Free(netip.MustParseAddr(ip))
			}
			require.Equal(t, None, p.Crowded(next).Scope)
			require.Empty(t, p.taken, "an address without a place takes no memory")
		})
	}
	require.Equal(t, None, NewPlaces([16]byte{1}, limits).Crowded(netip.Addr{}).Scope, "a transport without IP")
}

func TestWorkOfAnAddressAndItsNetwork(t *testing.T) {
	p := NewPlaces([16]byte{1}, Limits{HandshakesPerAddress: 2, HandshakesPerNetwork: 3})
	one, other := netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("198.51.100.2")
	work := func(ip netip.Addr) Scope { return p.Work(ip, hosts.Proven, time.Second) }
	require.Equal(t, []Scope{None, None, Address}, []Scope{work(one), work(one), work(one)})
	require.Equal(t, []Scope{None, Network}, []Scope{work(other), work(other)})
	require.Equal(t, None, p.Work(other, hosts.Unproven, time.Second), "each kind of work has a budget of its own")
	require.Equal(t, None, p.Work(one, hosts.Proven, 3*time.Second), "the budget comes back")
	for range 10 {
		require.Equal(t, None, work(netip.MustParseAddr("127.0.0.1")))
	}
}

// Hosts that use up what their network has lock out no neighbour, neither of a /24 nor of a /56 and a /48.
func TestBusyNeighboursLockNobodyOut(t *testing.T) {
	for name, row := range map[string]struct {
		busy func(i int) netip.Addr
		calm string
		many int // So many share 16 000 a second, not 16.
		most int // HandshakesPerNetwork.
	}{
		"IPv4":               {func(i int) netip.Addr { return netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}) }, "198.51.100.77", 16, 1024},
		"a /56":              {func(i int) netip.Addr { return netip.AddrFrom16([16]byte{0x20, 1, 7: byte(i)}) }, "2001:0:0:77::1", 16, 1024},
		"a /48 of /56s":      {func(i int) netip.Addr { return netip.AddrFrom16([16]byte{0x20, 1, 6: byte(i)}) }, "2001:0:0:7700::1", 16, 1024},
		"a /56 of 128 /64s":  {func(i int) netip.Addr { return netip.AddrFrom16([16]byte{0x20, 1, 7: byte(i)}) }, "2001:0:0:80::1", 128, 64},
		"a /48 of 1024 /64s": {func(i int) netip.Addr { return netip.AddrFrom16([16]byte{0x20, 1, 6: byte(i), 7: byte(i >> 8)}) }, "2001:0:0:ff77::1", 1024, 1024},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewPlaces([16]byte{1}, Limits{HandshakesPerAddress: 256, HandshakesPerNetwork: row.most})
			busy, answered, calm := 0, 0, netip.MustParseAddr(row.calm)
			for now := time.Duration(0); now < 4*time.Second; now += time.Millisecond {
				for i := range 16 {
					i = (int(now/time.Millisecond)*16 + i) % row.many
					if p.Work(row.busy(i), hosts.Proven, now) == None {
						busy++
					}
				}
				if row.many > 16 { // Hosts that join once: nothing is left for one that asks ten times a second.
					ip := calm.As16()
					ip[7] = byte(0x80 + now/(100*time.Millisecond))
					calm = netip.AddrFrom16(ip)
				}
				if now > time.Second && now%(100*time.Millisecond) == 50*time.Millisecond && p.Work(calm, hosts.Proven, now) == None {
					answered++
				}
			}
			require.Equal(t, 30, answered, "ten a second, when all neighbours have asked before")
			require.LessOrEqual(t, busy, 5*2*row.most)
			require.Greater(t, busy, 3*row.most/2)
			t.Log(busy)
		})
	}
}

// Places count as a list of addresses does.
func TestPlacesCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := Limits{ClientsPerAddress: 3, ClientsPerNetwork: 5}
		p := NewPlaces([16]byte{1}, limits)
		var taken []netip.Addr
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			ip := netip.AddrFrom4([4]byte{198, 51, byte(rapid.IntRange(1, 2).Draw(t, "network")), byte(rapid.IntRange(1, 4).Draw(t, "host"))})
			if n := len(taken); n > 0 && rapid.Bool().Draw(t, "free") {
				at := rapid.IntRange(0, n-1).Draw(t, "at")
				p.Free(taken[at])
				taken = append(taken[:at], taken[at+1:]...)
				continue
			}
			address, network := 0, 0
			for _, other := range taken {
				if other == ip {
					address++
				}
				if other.As4()[2] == ip.As4()[2] {
					network++
				}
			}
			want := None
			switch {
			case address >= limits.ClientsPerAddress:
				want = Address
			case network >= limits.ClientsPerNetwork:
				want = Network
			}
			if got := p.Crowded(ip).Scope; got != want {
				t.Fatalf("%v: %d, not %d", ip, got, want)
			}
			p.Take(ip)
			taken = append(taken, ip)
		}
	})
}
