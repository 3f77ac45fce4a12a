package loading_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/loading"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

type crate struct{ A, B, C uint32 }

// A client of a world that takes seconds to come has a bar that only rises, and is told when all is here: not before.
func TestLoading(t *testing.T) {
	t.Parallel()
	for _, loss := range []float64{0, .2} {
		p := netcode.NewProtocol()
		netcode.Replicate[crate](p)
		loading.Register(p)
		const crates = 4000
		var n *nettest.Net
		here := 0
		n = nettest.New(t, nettest.Config{
			Protocol: p, Clients: 1, Seed: 8, Link: transport.Link{Delay: 40 * time.Millisecond, Loss: loss}, Rate: 30, Server: netcode.Config{SendBudget: 24 << 10},
			Game: func(w *ecs.World, frame int) {
				i := uint32(0)
				for q := generic.NewFilter1[crate]().Query(w); q.Next(); i++ {
					if i%50 == 0 {
						q.Get().A = uint32(frame)
					}
				}
			},
			SetupClient: func(_ int, c *systems.ClientSystems, w *ecs.World) {
				loading.Of(c.Client).OnHere(func() {
					here++
					all := generic.NewFilter1[crate]().Query(w)
					require.Equal(t, crates, all.Count())
					all.Close()
				})
			},
		})
		build := generic.NewMap2[crate, components.Replicated](n.Server.World)
		for i := range uint32(crates) {
			build.NewWith(&crate{i * 7919, i * 104729, i * 1299709}, &components.Replicated{})
		}
		l, last, steps := loading.Of(n.Clients[0].Client), 0.0, 0
		for frames := 0; here == 0; frames++ {
			require.Less(t, frames, 30*30)
			n.Step()
			require.GreaterOrEqual(t, l.Part(), last)
			if l.Part() > last {
				last = l.Part()
				steps++
			}
			if !l.Here() {
				require.Less(t, l.Part(), 1.0)
			}
		}
		require.Greater(t, steps, 5)
		require.InDelta(t, 1, l.Part(), 0)
		known, all := l.Entities()
		require.Equal(t, []int{crates, crates}, []int{known, all})
		n.Run(2 * time.Second)
		require.Equal(t, 1, here)
		require.NoError(t, n.Clients[0].Connect(n.Address()))
		require.True(t, n.RunUntil(40*time.Second, func() bool { return here == 2 }), "once in each connection")
	}
}
