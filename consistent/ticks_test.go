package consistent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/consistent"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
)

// A client holds back no more than 4096 ticks, since the low bits of a tick could then mean another one, however few bytes they are.
func TestNoMoreTicksAreHeldThanTheirNumbersTell(t *testing.T) {
	t.Parallel()
	const most = 1 << 12
	p := netcode.NewProtocol()
	netcode.Replicate[Clock](p)
	consistent.Register(p, consistent.Config{MaxHeld: 1 << 26})
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 1, Rate: 30, Server: netcode.Config{SendBudget: 3 << 10, TickRate: 30},
		Game: func(w *ecs.World, frame int) {
			for q := generic.NewFilter1[Clock]().Query(w); q.Next(); {
				*q.Get() = Clock{uint32(frame), uint32(frame) * 2654435761}
			}
		},
	})
	build := generic.NewMap2[Clock, components.Replicated](n.Server.World)
	for range 200 {
		build.New()
	}
	var stats consistent.Stats
	for frame := 0; frame < most+300 && stats.Overflows == 0; frame++ {
		n.Step()
		stats, _ = consistent.Of(n.Clients[0].Client)
		require.LessOrEqual(t, stats.Behind, netcode.Tick(most+2))
	}
	require.EqualValues(t, 1, stats.Overflows, "at %d ticks", stats.Behind)
	require.Less(t, stats.Held, 1<<24)
}
