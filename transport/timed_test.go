package transport_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// A datagram waits from when it has crossed its link until it is received, and a Join tells that of the connection of the datagram.
func TestWaited(t *testing.T) {
	network, now := memory.NewNetwork(), time.Duration(0)
	ends := [3]*memory.Conn{}
	for i := range ends {
		var err error
		ends[i], err = network.Listen(transport.Addr{})
		require.NoError(t, err)
	}
	link := transport.Condition(ends[1], transport.Link{Delay: 30 * time.Millisecond}, 1, func() time.Duration { return now })
	joined := transport.Join(ends[0], link)
	receive := func() byte {
		var buf [8]byte
		n, _, err := joined.Receive(buf[:])
		require.NoError(t, err)
		return buf[0] * byte(n)
	}
	require.NoError(t, ends[2].Send(link.LocalAddr(), []byte{1}))
	require.NoError(t, link.Poll())
	now += 10 * time.Millisecond
	require.NoError(t, ends[2].Send(link.LocalAddr(), []byte{2}))
	require.NoError(t, ends[2].Send(ends[0].LocalAddr(), []byte{3}))
	require.Equal(t, byte(3), receive())
	require.Zero(t, joined.Waited(), "a network in memory has no clock")
	require.NoError(t, link.Poll())
	now += 40 * time.Millisecond
	require.Equal(t, byte(1), receive())
	require.Equal(t, 20*time.Millisecond, joined.Waited())
	require.Equal(t, byte(2), receive())
	require.Equal(t, 10*time.Millisecond, link.Waited())
	require.Zero(t, transport.WaitedOf(nil))
}
