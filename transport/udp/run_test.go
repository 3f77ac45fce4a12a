package udp

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/transport"
)

// runOf is datagrams of a size, the last of which has so many bytes, each with a number.
func runOf(n, size, last int) (run []byte) {
	for i := range n {
		length := size
		if i == n-1 {
			length = last
		}
		run = append(run, bytes.Repeat([]byte{byte(i + 1)}, length)...)
	}
	return run
}

func TestRunArrivesAsItsDatagrams(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0"} {
		for kind := range 4 {
			cut, together := kind&1 == 0, kind&2 == 0
			a, b := listen(t, addr, Config{}), listen(t, addr, Config{single: !together})
			if !cut {
				a.sender.segments = false
			}
			if !together {
				require.False(t, b.coalesced)
			}
			buf := make([]byte, 2048)
			for _, run := range []struct{ n, size, last int }{{1, 100, 100}, {2, 1200, 1200}, {3, 1200, 7}, {40, 1200, 1199}, {64, 10, 1}} {
				data := runOf(run.n, run.size, run.last)
				before := a.Stats()
				require.NoError(t, a.SendRun(b.LocalAddr(), data, run.size))
				for i := range run.n {
					n, from := receive(t, b, buf)
					want := run.size
					if i == run.n-1 {
						want = run.last
					}
					require.Equal(t, a.LocalAddr(), from)
					require.Equal(t, bytes.Repeat([]byte{byte(i + 1)}, want), buf[:n], "%v, datagram %d", run, i)
				}
				after := a.Stats()
				require.EqualValues(t, run.n, after.Sent-before.Sent)
				require.EqualValues(t, len(data), after.BytesSent-before.BytesSent)
				if !cut {
					require.Zero(t, after.Runs)
				}
			}
			require.Equal(t, a.sender.segments && b.coalesced, b.Stats().RunsReceived > 0, "within one machine a run stays in one piece")
		}
	}
}

func TestRunThatTheKernelRefusesGoesOneByOne(t *testing.T) {
	a, b := listen(t, "127.0.0.1:0", Config{}), listen(t, "127.0.0.1:0", Config{})
	// More segments than any kernel takes in one call.
	data := runOf(200, 20, 20)
	require.NoError(t, a.SendRun(b.LocalAddr(), data, 20))
	buf := make([]byte, 2048)
	for i := range 200 {
		n, _ := receive(t, b, buf)
		require.Equal(t, bytes.Repeat([]byte{byte(i + 1)}, 20), buf[:n])
	}
}

func TestRunThatCannotBeSent(t *testing.T) {
	a := listen(t, "127.0.0.1:0", Config{MaxDatagram: 100})
	data := runOf(3, 200, 200)
	require.ErrorIs(t, a.SendRun(a.LocalAddr(), data, 200), transport.ErrTooLarge)
	require.ErrorIs(t, a.SendRun(netip.AddrPort{}, data, 50), transport.ErrAddress)
	require.ErrorIs(t, a.SendRun(netip.MustParseAddrPort("[::1]:9"), data, 50), transport.ErrAddress)
	require.NoError(t, a.SendRun(a.LocalAddr(), nil, 50))
	require.NoError(t, a.SendRun(a.LocalAddr(), data[:90], 0), "without a size it is one datagram")
	require.NoError(t, a.Close())
	require.ErrorIs(t, a.SendRun(a.LocalAddr(), data, 50), transport.ErrClosed)
}

func TestRunAllocatesNothing(t *testing.T) {
	a, b := listen(t, "127.0.0.1:0", Config{}), listen(t, "127.0.0.1:0", Config{})
	data := runOf(3, 1200, 500)
	alloctest.Zero(t, 100, func() { _ = a.SendRun(b.LocalAddr(), data, 1200) })
}
