package nettest_test

import (
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/interpolate"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

type slide struct{ X float32 }

// presentGame has entities that come while a client plays.
func presentGame(t *testing.T, setup func(c *systems.ClientSystems, w *ecs.World)) *nettest.Net {
	p := netcode.NewProtocol()
	netcode.Replicate[slide](p)
	interpolate.Register[slide](p)
	return nettest.New(t, nettest.Config{
		Protocol: p, Clients: 1, Seed: 3, Link: transport.Link{Delay: 50 * time.Millisecond, Loss: .05}, Server: netcode.Config{TickRate: 20},
		Game: func(w *ecs.World, frame int) {
			for q := generic.NewFilter1[slide]().Query(w); q.Next(); {
				q.Get().X = float32(frame)
			}
			if frame%30 == 0 {
				build := generic.NewMap2[slide, components.Replicated](w)
				build.New()
			}
		},
		SetupClient: func(_ int, c *systems.ClientSystems, w *ecs.World) { setup(c, w) },
	})
}

// OnPresented comes once for each entity, after OnSpawn, and with its Smooth.
func TestOnPresented(t *testing.T) {
	t.Parallel()
	spawned, presented, later := map[netcode.NetworkID]int{}, map[netcode.NetworkID]bool{}, 0
	var n *nettest.Net
	n = presentGame(t, func(c *systems.ClientSystems, w *ecs.World) {
		c.OnSpawn(func(e ecs.Entity, id netcode.NetworkID) {
			spawned[id] = n.Frame()
			require.False(t, w.Has(e, ecs.ComponentID[components.Smooth[slide]](w)))
		})
		c.OnPresented(func(e ecs.Entity, id netcode.NetworkID) {
			require.False(t, presented[id], "once")
			presented[id] = true
			require.Contains(t, spawned, id)
			require.True(t, w.Has(e, ecs.ComponentID[components.Smooth[slide]](w)))
			if n.Frame() > spawned[id] {
				later++
			}
		})
	})
	n.Run(10 * time.Second)
	require.Greater(t, len(presented), 10)
	require.GreaterOrEqual(t, len(spawned)-len(presented), 0)
	require.Less(t, len(spawned)-len(presented), 3)
	require.Positive(t, later)
}

// SetPresentDelay bounds what is measured, and holds for the next connection.
func TestSetPresentDelay(t *testing.T) {
	t.Parallel()
	n := presentGame(t, func(*systems.ClientSystems, *ecs.World) {})
	c := n.Clients[0]
	delay := func() time.Duration { return c.PresentDelay().Duration(c.TickRate()) }
	n.Run(5 * time.Second)
	measured := delay()
	require.Less(t, measured, 250*time.Millisecond)
	c.SetPresentDelay(400*time.Millisecond, 400*time.Millisecond)
	n.Run(10 * time.Second)
	require.InDelta(t, 400*time.Millisecond, delay(), float64(30*time.Millisecond))
	require.NoError(t, c.Connect(n.Address()))
	n.Run(5 * time.Second)
	require.InDelta(t, 400*time.Millisecond, delay(), float64(30*time.Millisecond))
	c.SetPresentDelay(0, 20*time.Millisecond)
	n.Run(20 * time.Second)
	require.Less(t, delay(), measured)
	for _, bad := range [][2]time.Duration{{-1, 1}, {0, 0}, {2, 1}} {
		require.Panics(t, func() { c.SetPresentDelay(bad[0], bad[1]) })
	}
}
