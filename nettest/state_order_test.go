package nettest_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// wound is written by the client that owns the entity.
type wound struct{ N uint32 }

// wounded is a message about that.
type wounded struct{ N uint32 }

// bodyCount entities of a client fill several packets a tick.
const bodyCount = 800

// A client's message about what it writes is handled by the server after that, over a network that loses a third of all packets and
// reorders the others.
func TestMessageOfClientWaitsForItsWritesUnderLoss(t *testing.T) {
	for seed := range uint64(3) {
		p := netcode.NewProtocol()
		netcode.Replicate[wound](p, authority.WrittenBy(authority.OwnerWrites))
		var server *systems.ServerSystems
		var world *ecs.World
		handled, early := 0, 0
		netcode.Handle(p, func(ctx *netcode.Context, m *wounded) {
			handled++
			wounds := generic.NewMap1[wound](world)
			if e, ok := server.Entity(ctx.Entity); !ok || wounds.Get(e).N < m.N {
				early++
			}
		}, netcode.FromClient())
		n := nettest.New(t, nettest.Config{
			Protocol: p, Clients: 1, Seed: seed, Client: netcode.Config{SendBudget: -1}, Link: transport.Link{Delay: 30 * time.Millisecond, Jitter: 40 * time.Millisecond, Loss: 0.33},
			Setup: func(s *systems.ServerSystems, w *ecs.World) {
				server, world = s, w
				s.Server.OnConnect(func(id netcode.ClientID) {
					bodies := generic.NewMap3[components.Replicated, components.Owner, wound](w)
					for range bodyCount {
						bodies.NewWith(&components.Replicated{}, &components.Owner{Client: id}, &wound{})
					}
				})
			},
		})
		c := n.Clients[0]
		var ids []netcode.NetworkID
		c.Systems.OnSpawn(func(_ ecs.Entity, spawned netcode.NetworkID) { ids = append(ids, spawned) })
		require.True(t, n.RunUntil(9*time.Second, func() bool {
			return len(ids) == bodyCount && !slices.ContainsFunc(ids, func(id netcode.NetworkID) bool { return authority.Rights(c.Client, id).IsZero() })
		}))
		all := generic.NewFilter1[wound]()
		wounds, rng := generic.NewMap1[wound](&c.World), rand.New(rand.NewPCG(seed, 1))
		const count = 200
		for i := range uint32(count) {
			for query := all.Query(&c.World); query.Next(); {
				query.Get().N = (i+1)<<20 + rng.Uint32N(1<<20)
			}
			id := ids[int(i)*97%bodyCount]
			e, _ := c.Systems.Entity(id)
			mode := netcode.Unreliable
			if i%2 == 0 {
				mode = netcode.Reliable
			}
			require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &wounded{wounds.Get(e).N}, netcode.About(id), netcode.Via(mode)))
			n.Step()
		}
		n.Run(3 * time.Second)
		require.Zero(t, early, "seed %d, of %d", seed, handled)
		require.GreaterOrEqual(t, handled, count/2)
		require.Zero(t, n.Server.Stats().Messages.StateLate)
		require.Positive(t, n.Server.Stats().Messages.Deferred)
	}
}
