package systems_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// Other goroutines reach the loop's world by Do: each function runs in the loop, between frames, in the order of its
// goroutine, and none is lost or waits for ever when the loop ends. The program has no world of its own.
func TestDo(t *testing.T) {
	synctest.Test(t, callTheLoop) // On virtual time: closing has five seconds.
}

func callTheLoop(t *testing.T) {
	socket, err := memory.NewNetwork().Listen(transport.Addr{})
	require.NoError(t, err)
	server, err := netcode.NewServer(netcode.NewProtocol(), netcode.Config{})
	require.NoError(t, err)
	group := systems.NewServer(server, socket, systems.WallClock())
	frames, inFrame := 0, false // of the loop alone: the race detector would tell
	var world *ecs.World
	group.Add(netcode.StageEarlyUpdate, systems.Func(func(w *ecs.World) { world, inFrame = w, true }))
	group.Add(netcode.StagePostLateUpdate, systems.Func(func(*ecs.World) { frames, inFrame = frames+1, false }))
	loop := systems.NewRunner(nil, group, 500)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	const goroutines, each = 8, 200
	got := [goroutines][]int{}
	var done atomic.Int32
	for g := range goroutines {
		go func() {
			for i := range each {
				if !loop.Do(func() { got[g] = append(got[g], i); require.False(t, inFrame) }) {
					t.Error("the loop runs")
				}
			}
			if done.Add(1) == goroutines {
				stop()
			}
		}()
	}
	require.NoError(t, loop.Run(ctx))
	for _, list := range got {
		require.Len(t, list, each)
		for i, n := range list {
			require.Equal(t, i, n)
		}
	}
	require.NotNil(t, world)
	require.Positive(t, frames)
	require.False(t, loop.Do(func() { t.Error("the loop is over") }))
}
