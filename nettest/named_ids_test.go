package nettest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/nettest"
)

// pursuit names an entity by its network id, which is the same in memory as on the wire.
type pursuit struct {
	Of netcode.NetworkID `net:"entity"`
	N  int32
}

// TestReferencesByNetworkIDAreSent writes to components that name entities by their network ids, one and many in a tick, in each of their fields and in both, with no rate in the
// world that would have each row captured by itself: clients get each value, and nil while who is named is hidden or gone.
func TestReferencesByNetworkIDAreSent(t *testing.T) {
	for _, count := range []int{1, 3, 200} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			p := netcode.NewProtocol()
			netcode.Replicate[pursuit](p)
			n := nettest.New(t, nettest.Config{Protocol: p, Clients: 2, Seed: 6})
			n.RunUntil(5*time.Second, n.Connected)
			w := &n.Server.World
			id, replicated := ecs.ComponentID[pursuit](w), ecs.ComponentID[components.Replicated](w)
			target, all := w.NewEntity(replicated), []ecs.Entity(nil)
			for range count {
				all = append(all, w.NewEntity(replicated, id))
			}
			n.Run(300 * time.Millisecond)
			of, _ := n.Server.Systems.ID(target)
			want := func(what string, blind, seeing pursuit) {
				n.Run(time.Second)
				for k, want := range []pursuit{blind, seeing} {
					c := n.Clients[k]
					for _, e := range all {
						network, _ := n.Server.Systems.ID(e)
						here, ok := c.Systems.Entity(network)
						require.True(t, ok, what)
						require.Equal(t, want, *(*pursuit)(c.World.Get(here, ecs.ComponentID[pursuit](&c.World))), "%s, client %d", what, k)
					}
				}
			}
			write := func(v pursuit) {
				for _, e := range all {
					*(*pursuit)(w.Get(e, id)) = v
				}
			}
			write(pursuit{N: 1})
			want("another field", pursuit{N: 1}, pursuit{N: 1})
			write(pursuit{Of: of, N: 1})
			want("the name", pursuit{Of: of, N: 1}, pursuit{Of: of, N: 1})
			n.Server.Hide(n.Clients[0].ID(), of)
			want("hidden", pursuit{N: 1}, pursuit{Of: of, N: 1})
			write(pursuit{Of: of, N: 2})
			want("another field while hidden", pursuit{N: 2}, pursuit{Of: of, N: 2})
			n.Server.Show(n.Clients[0].ID(), of)
			want("shown", pursuit{Of: of, N: 2}, pursuit{Of: of, N: 2})
			w.RemoveEntity(target)
			want("gone", pursuit{N: 2}, pursuit{N: 2})
			write(pursuit{Of: of, N: 3})
			want("another field when it is gone", pursuit{N: 3}, pursuit{N: 3})
		})
	}
}
