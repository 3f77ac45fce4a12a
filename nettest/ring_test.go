package nettest_test

import (
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/transport"
)

// A ring of sent packets that holds less than a round trip slows down what is sent, at both ends, and stops nothing for good.
func TestARingSmallerThanARoundTrip(t *testing.T) {
	for _, c := range []struct {
		rate, ring int
		delay      time.Duration
	}{{100, 64, 400 * time.Millisecond}, {60, 64, 600 * time.Millisecond}, {1000, 1024, 600 * time.Millisecond}} {
		p := netcode.NewProtocol()
		netcode.Replicate[position](p)
		var e ecs.Entity
		moving := true
		config := netcode.Config{TickRate: c.rate, SentPackets: c.ring, SendBudget: -1}
		n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1, Seed: 1, Rate: c.rate, Link: transport.Link{Delay: c.delay}, Server: config, Client: config,
			Game: func(w *ecs.World, frame int) {
				b := generic.NewMap2[components.Replicated, position](w)
				if frame == 1 {
					e = b.New()
				}
				if _, at := b.Get(e); moving {
					at.X = float32(frame)
				}
			}})
		require.True(t, n.RunUntil(5*time.Second, n.Connected))
		n.Run(10 * time.Second)
		stats, ok := n.Server.ClientStats(1)
		require.True(t, ok)
		require.Equal(t, 1, stats.Known)
		require.InDelta(t, float64(2*c.delay), float64(stats.RTT), float64(100*time.Millisecond), "%d Hz", c.rate)
		require.Zero(t, stats.Loss)
		require.NotZero(t, stats.Packets.RingFull)
		require.NotZero(t, n.Server.Stats().SentRingFull)
		spawns := stats.Snapshot.Spawns
		n.Run(5 * time.Second)
		stats, _ = n.Server.ClientStats(1)
		require.Equal(t, spawns, stats.Snapshot.Spawns, "what is acknowledged is leaned on")
		moving = false
		n.Run(10 * c.delay)
		n.AssertConverge()
	}
}
