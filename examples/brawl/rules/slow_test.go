package rules_test

import (
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/examples/brawl/rules"
	"github.com/arche-netcode/netcode/examples/brawl/view"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// A page with few frames a second plays: what its player does is what the server does.
func TestASlowPage(t *testing.T) {
	for _, rate := range []int{60, 10, 5, 4, 3, 2} {
		var p *rules.Player
		var c rules.Control
		n := nettest.New(t, nettest.Config{
			Protocol: rules.Protocol(), Clients: 1, Seed: 3, Link: transport.Link{Delay: 5 * time.Millisecond}, Server: rules.ServerConfig(), Client: rules.ClientConfig(),
			ServerRate: 60, ClientRate: func(int) int { return rate },
			Payload: payload,
			Setup: func(s *systems.ServerSystems, w *ecs.World) {
				predict.Simulate(s, predict.Config{}, rules.Serve(s, w, rules.Options{}).Rules.Systems()...)
			},
			SetupClient: func(_ int, g *systems.ClientSystems, w *ecs.World) {
				p = rules.Join(g, w)
				p.Act = func() rules.Control { return c }
			},
		})
		require.True(t, n.RunUntil(10*time.Second, func() bool { return plays(p) }))
		n.Run(5 * time.Second)
		from := view.New(p).Scene().Avatars[0].Y
		c.Y = 1
		n.Run(2 * time.Second)
		seen := view.New(p).Scene().Avatars[0].Y
		c.Y = 0
		n.Run(4 * time.Second)
		require.Greater(t, seen, from+10, "%d frames a second", rate)
		require.GreaterOrEqual(t, view.New(p).Scene().Avatars[0].Y, seen, "%d frames a second: it does not jump back", rate)
	}
}
