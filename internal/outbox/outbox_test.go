package outbox

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/transport"
)

// TestRunsAreTheDatagrams: what is drained in runs is, cut, what is drained one by one.
func TestRunsAreTheDatagrams(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	type sent struct {
		to   transport.Addr
		data string
	}
	several := 0
	for range 300 {
		var one, together Buffer
		for range r.IntN(100) {
			to := transport.AddrOf(netip.AddrPortFrom(netip.AddrFrom4([4]byte{1, 2, 3, byte(r.IntN(2))}), 9))
			size := 1 + r.IntN(3)
			if r.IntN(4) == 0 {
				size = 1200
			}
			data := bytes.Repeat([]byte{byte(r.IntN(256))}, size)
			for _, o := range []*Buffer{&one, &together} {
				copy(o.Room(1200), data)
				o.Commit(to, size)
			}
		}
		var want, got []sent
		one.Drain(func(to transport.Addr, packet []byte) { want = append(want, sent{to, string(packet)}) })
		calls := 0
		together.DrainAll(func(to []transport.Addr, runs [][]byte, sizes []int) {
			calls++
			for i, packets := range runs {
				require.LessOrEqual(t, len(packets), longestRun)
				require.LessOrEqual(t, (len(packets)+sizes[i]-1)/sizes[i], mostInRun)
				if len(packets) > sizes[i] {
					several++
				}
				for ; len(packets) > 0; packets = packets[min(sizes[i], len(packets)):] {
					got = append(got, sent{to[i], string(packets[:min(sizes[i], len(packets))])})
				}
			}
		})
		require.Equal(t, want, got)
		require.Equal(t, min(len(want), 1), calls)
		together.DrainAll(func([]transport.Addr, [][]byte, []int) { t.Fatal("nothing waits any more") })
	}
	require.NotZero(t, several)
	var full Buffer
	to := transport.MustParseAddr("1.2.3.4:5")
	for range 200 {
		full.Room(1200)
		full.Commit(to, 1200)
	}
	full.DrainAll(func(_ []transport.Addr, runs [][]byte, _ []int) {
		require.Len(t, runs, 4)
		for _, packets := range runs {
			require.LessOrEqual(t, len(packets), longestRun)
		}
	})
}

func TestBufferKeepsOrderAndContent(t *testing.T) {
	var o Buffer
	to := transport.MustParseAddr("1.2.3.4:5")
	for round := range 3 {
		for i := range 100 {
			room := o.Room(1200)
			require.Len(t, room, 1200)
			room[0] = byte(i + round)
			o.Commit(to, 1+i)
			o.Room(1200) // Never committed: no datagram.
		}
		n := 0
		o.Drain(func(_ transport.Addr, packet []byte) {
			require.Len(t, packet, 1+n)
			require.Equal(t, byte(n+round), packet[0])
			n++
		})
		require.Equal(t, 100, n)
	}
}

func TestBufferIsBounded(t *testing.T) {
	var o Buffer
	for o.Room(1400) != nil {
		o.Commit(transport.Addr{}, 1400)
	}
	require.LessOrEqual(t, len(o.bytes), Max)
}
