package nettest_test

import (
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
)

// What a client shows of collections by their changes alone is what there is, also when it connects anew and entities have gone
// meanwhile: each is gone after its entity, and before what comes.
func TestCollectionsAreGoneWithAConnection(t *testing.T) {
	g := newShelf()
	shown, last, order := map[netcode.NetworkID]int{}, map[netcode.NetworkID]bool{}, 0
	var all []ecs.Entity
	var server *systems.ServerSystems
	n := nettest.New(t, nettest.Config{Protocol: g.protocol, Clients: 1, Seed: 1,
		Setup: func(s *systems.ServerSystems, _ *ecs.World) {
			server = s
			s.OnSpawn(func(_ ecs.Entity, id netcode.NetworkID) { require.NoError(t, g.set.Of(s.Server, id).Add(7)) })
		},
		SetupClient: func(_ int, c *systems.ClientSystems, _ *ecs.World) {
			c.OnDespawn(func(_ ecs.Entity, id netcode.NetworkID) { last[id] = true })
			g.set.OnChange(c.Client, func(ch collections.SetChange[uint32]) {
				switch ch.What {
				case collections.ChangeWhole:
					require.Zero(t, shown[ch.Entity], "what was shown before is gone")
					shown[ch.Entity] = g.set.Of(c.Client, ch.Entity).Len()
				case collections.ChangeGone:
					require.True(t, last[ch.Entity], "after OnDespawn")
					order++
					delete(shown, ch.Entity)
				}
			})
		},
		Game: func(w *ecs.World, frame int) {
			if m := generic.NewMap1[components.Replicated](w); frame == 30 {
				all = append(all, m.New(), m.New(), m.New())
			}
		}})
	n.Run(2 * time.Second)
	require.Len(t, shown, 3)
	c := n.Clients[0]
	c.Close()
	n.Run(time.Second)
	require.Len(t, shown, 3, "it stays until another connection begins, as entities do")
	dead, _ := server.ID(all[1])
	n.Server.World.RemoveEntity(all[1])
	require.NoError(t, c.Connect(n.Address()))
	n.Run(2 * time.Second)
	require.Equal(t, 3, order)
	require.Len(t, shown, 2)
	require.NotContains(t, shown, dead)
}
