package systems_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// The round trip contains the waits of both ends for their frames. The ping does not, at either end.
func TestPingLeavesOutTheFrames(t *testing.T) {
	const way = 30 * time.Millisecond
	e := newEnds()
	link := func(address transport.Addr, seed uint64) *transport.Conditioner {
		return transport.Condition(e.listen(t, address), transport.Link{Delay: way}, seed, e.clock)
	}
	p := netcode.NewProtocol()
	netcode.Replicate[position](p)
	server, err := netcode.NewServer(p, netcode.Config{TickRate: 20})
	require.NoError(t, err)
	client, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	sockets := [2]*transport.Conditioner{link(serverAddress, 1), link(transport.Addr{}, 2)}
	e.run(e.world(), systems.NewServer(server, sockets[0], e.clock))
	e.run(e.world(), systems.NewClient(client, sockets[1], e.clock))
	require.NoError(t, client.Connect(sockets[0].LocalAddr()))
	require.Zero(t, client.Ping())

	// Frames of 1/60 s and of 1/20 s, in steps of 1/240 s so that no end waits in step with the other.
	var first [2]time.Duration
	for step := range 240 * 5 {
		e.now += time.Second / 240
		if step%4 == 1 {
			e.loops[1].Step()
		}
		if step%12 == 0 {
			e.loops[0].Step()
		}
		for i, s := range sockets {
			require.NoError(t, s.Poll())
			stats, _ := server.ClientStats(1)
			if ping := [2]time.Duration{stats.Ping, client.Ping()}[i]; ping != 0 && first[i] == 0 {
				first[i] = e.now
			}
		}
	}
	require.Equal(t, netcode.Connected, client.State())
	stats, ok := server.ClientStats(1)
	require.True(t, ok)
	rtt, _ := client.RTT()
	t.Logf("RTT %v at the client, %v at the server; ping %v, %v; known after %v", rtt, stats.RTT, client.Ping(), stats.Ping, first)
	for _, rtt := range []time.Duration{rtt, stats.RTT} {
		require.Greater(t, rtt, 2*way+8*time.Millisecond)
	}
	for i, ping := range []time.Duration{client.Ping(), stats.Ping} {
		require.InDelta(t, float64(2*way), float64(ping), float64(2*time.Millisecond))
		require.NotZero(t, first[i])
		require.Less(t, first[i], 3*time.Second)
	}
}
