package udp

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/transport"
)

// runTo is a run for one of several sockets.
type runTo struct{ socket, n, size, last int }

// sendAll sends runs and tells what each socket is to get.
func sendAll(t *testing.T, a *Conn, sockets []*Conn, runs []runTo) (want [][][]byte) {
	t.Helper()
	var to []transport.Addr
	var data [][]byte
	var sizes []int
	want = make([][][]byte, len(sockets))
	for k, r := range runs {
		run := runOf(r.n, r.size, r.last)
		for i := range run {
			run[i] += byte(16 * k) // no two runs are alike
		}
		to, data, sizes = append(to, sockets[r.socket].LocalAddr()), append(data, run), append(sizes, r.size)
		for len(run) > 0 {
			n := min(r.size, len(run))
			want[r.socket] = append(want[r.socket], run[:n])
			run = run[n:]
		}
	}
	_, err := a.SendAll(to, data, sizes)
	require.NoError(t, err)
	return want
}

func TestRunsArriveAsTheirDatagrams(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0"} {
		for _, segments := range []bool{true, false} {
			a := listen(t, addr, Config{})
			a.sender.segments = a.sender.segments && segments
			sockets := []*Conn{listen(t, addr, Config{}), listen(t, addr, Config{}), listen(t, addr, Config{})}
			runs := []runTo{{0, 1, 100, 100}, {1, 3, 50, 7}, {2, 1, 1, 1}, {0, 2, 1200, 1200}, {1, 1, 1200, 1200}, {2, 5, 10, 10}}
			for i := range 150 {
				runs = append(runs, runTo{i % 3, 1, 20 + i, 20 + i})
			}
			want := sendAll(t, a, sockets, runs)
			buf := make([]byte, 2048)
			total, size := 0, 0
			for i, s := range sockets {
				for k, datagram := range want[i] {
					n, from := receive(t, s, buf)
					require.Equal(t, a.LocalAddr(), from)
					require.True(t, bytes.Equal(datagram, buf[:n]), "socket %d, datagram %d", i, k)
					total, size = total+1, size+n
				}
			}
			stats := a.Stats()
			require.EqualValues(t, total, stats.Sent)
			require.EqualValues(t, size, stats.BytesSent)
			require.Zero(t, stats.SendErrors)
			require.Equal(t, a.sender.segments, stats.Runs == 3)
		}
	}
}

// TestRunsThatCannotBeSent: what is wrong with one run is told, and the others go.
func TestRunsThatCannotBeSent(t *testing.T) {
	a, b := listen(t, "127.0.0.1:0", Config{MaxDatagram: 1000}), listen(t, "127.0.0.1:0", Config{})
	good := b.LocalAddr()
	to := []transport.Addr{good, good, {}, good, transport.MustParseAddr("[::1]:9"), good, good, good, good}
	runs := [][]byte{{1}, {2}, {3}, {4}, {5}, nil, runOf(2, 1100, 1100), {6, 7}, {8}}
	sizes := []int{1, 1, 1, 1, 1, 1, 1100, 0, 1}
	failed, err := a.SendAll(to, runs, sizes)
	require.ErrorIs(t, err, transport.ErrAddress)
	require.Equal(t, 2, failed, "the first one")
	buf := make([]byte, 2048)
	for _, want := range [][]byte{{1}, {2}, {4}, {6, 7}, {8}} {
		n, _ := receive(t, b, buf)
		require.Equal(t, want, buf[:n])
	}
	require.EqualValues(t, 5, a.Stats().Sent)
	require.EqualValues(t, 4, a.Stats().SendErrors, "two datagrams were too large")

	// Nothing can be sent from here to there: the kernel says so of one in the middle.
	to = []transport.Addr{good, good, transport.MustParseAddr("8.8.8.8:9"), good, good}
	failed, err = a.SendAll(to, [][]byte{{1}, {2}, {3}, {4}, {5}}, []int{1, 1, 1, 1, 1})
	require.Error(t, err)
	require.Equal(t, 2, failed)
	for _, want := range []byte{1, 2, 4, 5} {
		n, _ := receive(t, b, buf)
		require.Equal(t, []byte{want}, buf[:n])
	}

	// More segments than any kernel takes in one call go one by one.
	_, err = a.SendAll([]transport.Addr{good, good, good}, [][]byte{{1}, runOf(200, 20, 20), {2}}, []int{1, 20, 1})
	require.NoError(t, err)
	counts := map[int]int{}
	for range 202 {
		n, _ := receive(t, b, buf)
		counts[n]++
	}
	require.Equal(t, map[int]int{1: 2, 20: 200}, counts)

	require.NoError(t, a.Close())
	_, err = a.SendAll(to, runs[:5], sizes[:5])
	require.ErrorIs(t, err, transport.ErrClosed)
	failed, err = a.SendAll(nil, nil, nil)
	require.NoError(t, err)
	require.Zero(t, failed)
}

func TestSendAllAllocatesNothing(t *testing.T) {
	a, b := listen(t, "127.0.0.1:0", Config{}), listen(t, "127.0.0.1:0", Config{Queue: 1})
	to := []transport.Addr{b.LocalAddr(), b.LocalAddr(), b.LocalAddr()}
	runs, sizes := [][]byte{runOf(3, 1200, 500), {1}, {2}}, []int{1200, 1, 1}
	_, err := a.SendAll(to, runs, sizes)
	require.NoError(t, err)
	eventually(t, "a full queue: it takes no more memory", func() bool { return b.Stats().Overflowed > 0 })
	alloctest.Zero(t, 100, func() { _, _ = a.SendAll(to, runs, sizes) })
}
