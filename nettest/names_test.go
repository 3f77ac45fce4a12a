package nettest_test

import (
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/nettest"
)

// glance is a message that names an entity.
type glance struct {
	At netcode.NetworkID `net:"entity"`
}

// What a message names is found in the client's own world, with the values that it has there; a client that does not see it
// hears of nobody.
func TestMessagesNameEntities(t *testing.T) {
	t.Parallel()
	p := protocol()
	type hit struct {
		id     netcode.NetworkID
		entity ecs.Entity
		found  bool
	}
	hits := map[netcode.ClientID][]hit{}
	var n *nettest.Net
	netcode.Handle(p, func(ctx *netcode.Context, m *glance) {
		for _, c := range n.Clients {
			if c.ID() == ctx.Local {
				e, found := c.Systems.Entity(m.At)
				hits[ctx.Local] = append(hits[ctx.Local], hit{m.At, e, found})
			}
		}
	}, netcode.Over(netcode.Reliable), netcode.AtStage(netcode.StageUpdate))
	n = nettest.New(t, nettest.Config{Protocol: p, Clients: 2, Seed: 9, Link: bad(.2)})
	var id netcode.NetworkID
	n.Server.Systems.OnSpawn(func(_ ecs.Entity, at netcode.NetworkID) { id = at })
	require.True(t, n.RunUntil(5*time.Second, n.Connected))
	w := &n.Server.World
	w.NewEntity(ecs.ComponentID[position](w), ecs.ComponentID[components.Replicated](w))
	require.True(t, n.RunUntil(time.Second, func() bool { return !id.IsZero() }))
	seeing, blind := n.Clients[0], n.Clients[1]
	require.True(t, n.RunUntil(5*time.Second, func() bool { return n.Server.Hide(blind.ID(), id) }))
	require.True(t, n.RunUntil(5*time.Second, func() bool { _, ok := seeing.Systems.Entity(id); return ok }))
	require.NoError(t, netcode.Send(n.Server.Server, netcode.ToAll(), &glance{id}))
	require.True(t, n.RunUntil(5*time.Second, func() bool { return len(hits[1]) == 1 && len(hits[2]) == 1 }))
	got := hits[seeing.ID()][0]
	require.Equal(t, id, got.id)
	require.True(t, got.found)
	require.True(t, seeing.World.Alive(got.entity))
	require.True(t, seeing.World.Has(got.entity, ecs.ComponentID[position](&seeing.World)))
	require.Equal(t, hit{}, hits[blind.ID()][0])
}
