package hosts

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A table finds the highest load, as a list does that looks at every host.
func TestATableAgainstAList(t *testing.T) {
	type item struct {
		ip    netip.Addr
		held  *Held[int]
		stays bool
	}
	rapid.Check(t, func(rt *rapid.T) {
		table := NewTable[int](rapid.Bool().Draw(rt, "oldest"))
		all := map[int]*item{}
		for i := range rapid.IntRange(1, 100).Draw(rt, "steps") {
			ip := netip.AddrFrom16([16]byte{0x20, 1, 6: byte(rapid.IntRange(0, 1).Draw(rt, "56")), 7: byte(rapid.IntRange(0, 2).Draw(rt, "64")), 15: byte(i)})
			if rapid.IntRange(0, 5).Draw(rt, "local") == 0 {
				ip = netip.MustParseAddr("127.0.0.1")
			}
			keys := make([]int, 0, len(all))
			for k := range all {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			step := rapid.SampledFrom([]string{"add", "add", "remove", "keep"}).Draw(rt, "step")
			if step == "add" || len(keys) == 0 {
				all[i] = &item{ip: ip, held: table.Add(ip, i)}
				continue
			}
			k := rapid.SampledFrom(keys).Draw(rt, "which")
			switch one := all[k]; step {
			case "remove":
				table.Remove(one.held)
				delete(all, k)
			case "keep":
				one.stays = !one.stays
				table.Keep(one.held, one.stays)
			}
			require.Equal(rt, len(all), table.Len())
			load, most := Counts{}, 0
			for _, one := range all {
				h, _ := Of(one.ip)
				load.Add(h, 1)
			}
			require.Equal(rt, load, table.Counts)
			weigh := func(ip netip.Addr) int {
				h, _ := Of(ip)
				return max(load.Load(h), 1)
			}
			for _, one := range all {
				h, _ := Of(one.ip)
				require.Equal(rt, load.Load(h), table.LoadOf(one.ip))
				if !one.stays {
					most = max(most, weigh(one.ip))
				}
			}
			worst := table.Worst(0)
			require.Equal(rt, most > 0, worst != nil)
			if worst != nil {
				one := all[worst.Of]
				require.False(rt, one.stays)
				require.Equal(rt, most, weigh(one.ip))
				require.Nil(rt, table.Worst(most))
				require.NotNil(rt, table.Worst(most-1))
			}
		}
		for _, one := range all {
			table.Remove(one.held)
		}
		require.Empty(rt, table.Counts)
		require.Empty(rt, table.groups)
		require.Zero(rt, table.top)
		require.True(rt, table.all.alone())
	})
}

// The newest of the host with the most makes room, or the oldest. Where all have one it is the newest or the oldest of all.
func TestWhoMakesRoom(t *testing.T) {
	for oldest, want := range map[bool][]int{false: {5, 4, 6, 3, 2}, true: {2, 4, 1, 3, 5}} {
		table, held := NewTable[int](oldest), []*Held[int](nil)
		for i, ip := range []string{"192.0.2.1", "198.51.100.7", "203.0.113.1", "198.51.100.7", "198.51.100.7", "127.0.0.1"} {
			held = append(held, table.Add(netip.MustParseAddr(ip), i+1))
		}
		table.Keep(held[0], false) // It stayed no more than now, so it is not new.
		table.Keep(held[4], false)
		var got []int
		for range want {
			worst := table.Worst(0)
			got = append(got, worst.Of)
			table.Remove(worst)
		}
		require.Equal(t, want, got, "oldest=%t", oldest)
	}
}

// While a table is full, each newcomer costs some steps and no look at all that are in it, however they are spread.
func TestAFullTableIsNotScanned(t *testing.T) {
	for name, host := range map[string]func(i int) netip.Addr{
		"each its own":      func(i int) netip.Addr { return netip.AddrFrom4([4]byte{byte(100 + i>>16), byte(i >> 8), byte(i), 1}) },
		"all one":           func(int) netip.Addr { return netip.MustParseAddr("198.51.100.7") },
		"each its own /64":  func(i int) netip.Addr { return netip.AddrFrom16([16]byte{0x20, 1, 6: byte(i >> 8), 7: byte(i)}) },
		"a few with much":   func(i int) netip.Addr { return netip.AddrFrom4([4]byte{100, 1, byte(i % 3 * i), 1}) },
		"all stay, but one": func(i int) netip.Addr { return netip.AddrFrom4([4]byte{100, byte(i >> 8), byte(i), 1}) },
	} {
		t.Run(name, func(t *testing.T) {
			const most, more = 2048, 10_000
			table := NewTable[int](false)
			for i := range most {
				h := table.Add(host(i), i)
				table.Keep(h, name == "all stay, but one" && i > 0)
			}
			before := table.looked
			for i := range more {
				worst := table.Worst(0)
				require.NotNil(t, worst)
				table.Remove(worst)
				table.Add(host(most+i), most+i)
			}
			require.Equal(t, most, table.Len())
			require.Less(t, table.looked-before, uint64(20*more))
		})
	}
}
