package nettest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/transport"
)

// The round trip that both ends estimate is that of the link, and how long the other end waits for its next tick, up to a tick, and for the frame in which
// a datagram is taken in. Loss and jitter add what they take.
func TestTheRoundTripIsTheLinkAndAWaitForATick(t *testing.T) {
	const hz, rate = 30, 120
	const tick, frame = time.Second / hz, time.Second / rate
	for _, link := range []time.Duration{0, 80 * time.Millisecond, 200 * time.Millisecond} {
		n := nettest.New(t, nettest.Config{
			Protocol: protocol(), Clients: 3, Rate: rate, Link: transport.Link{Delay: link / 2},
			Server: netcode.Config{TickRate: hz}, Client: netcode.Config{TickRate: hz},
			Game: func(w *ecs.World, number int) {
				walkers := generic.NewMap2[components.Replicated, position](w)
				if number == 1 {
					walkers.New()
				}
				for query := generic.NewFilter1[position]().Query(w); query.Next(); {
					query.Get().X++
				}
			},
		})
		n.Run(5 * time.Second)
		for _, c := range n.Clients {
			stats, ok := n.Server.ClientStats(c.ID())
			require.True(t, ok)
			ours, _ := c.RTT()
			t.Logf("link %v: %v at the client, %v at the server", link, ours, stats.RTT)
			for _, rtt := range []time.Duration{ours, stats.RTT} {
				require.GreaterOrEqual(t, rtt, link)
				require.LessOrEqual(t, rtt, link+tick+frame)
			}
		}
	}
}

// Where frames are as many as network ticks, each frame has a tick: the time of a frame is not rounded again and again.
func TestEachFrameHasATick(t *testing.T) {
	n := nettest.New(t, nettest.Config{Protocol: protocol(), Rate: 30, Server: netcode.Config{TickRate: 30}})
	n.Step()
	first := n.Server.Tick()
	for i := range netcode.Tick(10000) {
		n.Step()
		require.Equal(t, first+i+1, n.Server.Tick())
	}
}
