package systems_test

import (
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport/memory"
)

type sprite struct{ Image int }

func TestSpawnHooksChooseByKind(t *testing.T) {
	r := newRig(t)
	sprites := generic.NewMap1[sprite](r.worlds[1])
	var order []string
	r.client.OnSpawn(func(ecs.Entity, netcode.NetworkID) { order = append(order, "any") })
	r.client.OnSpawnKind(3, func(e ecs.Entity, _ netcode.NetworkID) {
		sprites.Assign(e, &sprite{33})
		order = append(order, "three")
	})
	r.client.OnSpawnKind(3, func(e ecs.Entity, _ netcode.NetworkID) {
		require.Equal(t, 33, sprites.Get(e).Image)
		require.NoError(t, netcode.Send(r.client.Client, netcode.ToServer(), &ping{3}))
	})
	r.client.OnSpawnKind(4, func(e ecs.Entity, _ netcode.NetworkID) {
		r.worlds[1].RemoveEntity(e)
		order = append(order, "four")
	})
	r.client.OnSpawnKind(4, func(ecs.Entity, netcode.NetworkID) { t.Fatal("it is gone") })
	mapper := generic.NewMap3[components.Replicated, position, components.Kind](r.worlds[0])
	mapper.NewWith(&components.Replicated{}, &position{}, &components.Kind{ID: 3})
	r.until(t, func() bool { return len(r.handled) == 1 })
	mapper.NewWith(&components.Replicated{}, &position{}, &components.Kind{ID: 4})
	r.until(t, func() bool { return len(order) == 4 })
	r.spawn()
	mapper.NewWith(&components.Replicated{}, &position{}, &components.Kind{ID: 5})
	r.until(t, func() bool { return len(order) == 6 })
	require.Equal(t, []string{"any", "three", "any", "four", "any", "any"}, order)
}

func TestChangesReachTheGame(t *testing.T) {
	r := newRig(t)
	require.False(t, r.client.Apply.Applied())
	for range r.client.Changes {
		t.Fatal("before anything came")
	}
	for range systems.Changed[position](r.client) {
		t.Fatal("before anything came")
	}
	require.Zero(t, r.client.Apply.Stats())
	e := r.spawn()
	r.until(t, r.client.Apply.Applied)
	count := 0
	for c := range r.client.Changes {
		count++
		require.True(t, c.Spawned)
		id, _ := r.server.ID(e)
		require.Equal(t, id, c.ID)
	}
	require.Equal(t, 1, count)
	r.step()
	require.False(t, r.client.Apply.Applied())
	positions := generic.NewMap1[position](r.worlds[0])
	positions.Get(e).X = 40
	r.until(t, r.client.Apply.Applied)
	for _, at := range systems.Changed[position](r.client) {
		require.EqualValues(t, 40, at.X)
		count++
	}
	require.Equal(t, 2, count)
	require.Equal(t, netecs.ApplyStats{Applied: 2, Spawned: 1, Rows: 2}, r.client.Apply.Stats())
}

// Without components.Kind no client ever hears of a kind.
func TestKindsHaveToReplicate(t *testing.T) {
	c, err := netcode.NewClient(netcode.NewProtocol(), netcode.Config{})
	require.NoError(t, err)
	systems := systems.NewClient(c, &memory.Conn{}, systems.WallClock())
	require.PanicsWithValue(t, "systems: OnSpawnKind(3): the protocol does not replicate components.Kind, so that no client learns of kinds: "+
		"call netcode.Replicate[components.Kind](protocol) on both sides", func() { systems.OnSpawnKind(3, func(ecs.Entity, netcode.NetworkID) {}) })
}
