package netcode

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRunsAreTheDatagrams: what is drained in runs is, cut, what is drained one by one.
func TestRunsAreTheDatagrams(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	type sent struct {
		to   netip.AddrPort
		data string
	}
	several := 0
	for range 300 {
		var one, runs, together output
		for range r.IntN(100) {
			to := netip.AddrPortFrom(netip.AddrFrom4([4]byte{1, 2, 3, byte(r.IntN(2))}), 9)
			size := 1 + r.IntN(3)
			if r.IntN(4) == 0 {
				size = 1200
			}
			data := bytes.Repeat([]byte{byte(r.IntN(256))}, size)
			for _, o := range []*output{&one, &runs, &together} {
				copy(o.room(1200), data)
				o.commit(to, size)
			}
		}
		var want, got []sent
		one.drain(func(to netip.AddrPort, packet []byte) { want = append(want, sent{to, string(packet)}) })
		runs.drainRuns(func(to netip.AddrPort, packets []byte, size int) {
			require.LessOrEqual(t, len(packets), longestRun)
			require.LessOrEqual(t, (len(packets)+size-1)/size, mostInRun)
			if len(packets) > size {
				several++
			}
			for len(packets) > 0 {
				n := min(size, len(packets))
				got = append(got, sent{to, string(packets[:n])})
				packets = packets[n:]
			}
		})
		require.Equal(t, want, got)
		got = nil
		calls := 0
		together.drainAll(func(to []netip.AddrPort, runs [][]byte, sizes []int) {
			calls++
			for i, packets := range runs {
				for ; len(packets) > 0; packets = packets[min(sizes[i], len(packets)):] {
					got = append(got, sent{to[i], string(packets[:min(sizes[i], len(packets))])})
				}
			}
		})
		require.Equal(t, want, got)
		require.Equal(t, min(len(want), 1), calls)
		together.drainAll(func([]netip.AddrPort, [][]byte, []int) { t.Fatal("nothing waits any more") })
	}
	require.NotZero(t, several)
	var full output
	to := netip.MustParseAddrPort("1.2.3.4:5")
	for range 200 {
		full.room(1200)
		full.commit(to, 1200)
	}
	calls := 0
	full.drainRuns(func(_ netip.AddrPort, packets []byte, _ int) {
		calls++
		require.LessOrEqual(t, len(packets), longestRun)
	})
	require.Equal(t, 4, calls)
}
