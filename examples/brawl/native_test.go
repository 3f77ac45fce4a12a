package main

import (
	"context"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/examples/brawl/line"
	"github.com/arche-netcode/netcode/examples/brawl/rules"
	"github.com/arche-netcode/netcode/examples/brawl/serve"
	"github.com/arche-netcode/netcode/examples/brawl/view"
	"github.com/arche-netcode/netcode/examples/web/join"
	"github.com/arche-netcode/netcode/systems"
)

// A native client joins by the URL of the page, at the address of this machine in its network, over the game's own Socket with a bad line. It moves, and
// goes on when its address changes.
func TestANativeClientJoins(t *testing.T) {
	h, err := serve.New(serve.Options{Listen: ":0", Wait: time.Minute})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- h.Run(ctx) }()
	dial := func() line.Inner {
		limited, end := context.WithTimeout(context.Background(), time.Minute)
		defer end()
		socket, by, err := join.Dial(limited, h.URLs()[len(h.URLs())-1])
		require.NoError(t, err)
		require.Equal(t, "WebTransport", by)
		return socket.(line.Inner)
	}
	now := systems.WallClock()
	l := line.New(dial(), now)
	l.Delay, l.Jitter, l.Loss = 20*time.Millisecond, 5*time.Millisecond, .05
	l.Redial = func() (line.Inner, error) { return dial(), nil }
	client, err := netcode.NewClient(rules.Protocol(), rules.ClientConfig())
	require.NoError(t, err)
	world := ecs.NewWorld()
	group := systems.NewClient(client, l, now)
	p := rules.Join(group, &world)
	var c rules.Control
	p.Act = func() rules.Control { return c }
	require.NoError(t, client.ConnectWith(l.Server(), rules.Payload("a secret of a native one", "Ann", false)))
	loop := systems.NewRunner(&world, group, rules.TickRate)
	go func() { done <- loop.Run(ctx) }()
	y := func() (y float32) {
		loop.Do(func() {
			if s := view.New(p).Scene(); s.Own >= 0 {
				y = s.Avatars[s.Own].Y
			}
		})
		return y
	}
	until(t, "it plays", func() bool { return y() > 0 })
	loop.Do(func() { c.Y = 1 })
	until(t, "it moves", func() bool { return y() > 10 })
	loop.Do(l.Move)
	loop.Do(func() { c.Y = -1 })
	until(t, "it comes back, by another address", func() bool { return y() < 7 })
	loop.Do(func() {
		require.Equal(t, netcode.Connected, client.State())
		t.Log(p.Sim.Stats())
	})
	cancel()
	require.NoError(t, <-done)
	require.NoError(t, <-done)
}
