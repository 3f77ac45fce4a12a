package guide_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/nettest"
)

// The guide's section on collections is what follows between the marks, line by line.

// begin guide
type Slot struct {
	Kind  uint16
	Count uint8
}

type Collections struct {
	Inventory *collections.List[Slot]
	Quests    *collections.Set[uint16]
	Scores    *collections.Map[uint8, int32]
}

func register(protocol *netcode.Protocol) *Collections { // on both sides
	return &Collections{
		collections.NewList[Slot](protocol, "inventory", collections.MaxElements(64)),
		collections.NewSet[uint16](protocol, "quests"),
		collections.NewMap[uint8, int32](protocol, "scores"),
	}
}

func (c *Collections) give(server *netcode.Server, player netcode.NetworkID) error {
	bag := c.Inventory.Of(server, player)
	if err := bag.Append(Slot{Kind: 3, Count: 1}); err != nil {
		return err // it is full, or there is no such player
	}
	_ = bag.Set(0, Slot{Kind: 3, Count: 2})
	_ = c.Scores.Of(server, player).Set(1, -20)
	return c.Quests.Of(server, player).Add(17)
}

func (c *Collections) watch(client *netcode.Client, shown *[]Slot) { // what is on the screen
	c.Inventory.OnChange(client, func(change collections.ListChange[Slot]) {
		switch change.What {
		case collections.ChangeWhole: // it came into sight, or came anew
			*shown = (*shown)[:0]
			for _, s := range c.Inventory.Of(client, change.Entity).All() {
				*shown = append(*shown, s)
			}
		case collections.ChangeInserted:
			*shown = slices.Insert(*shown, change.Index, change.Value)
		case collections.ChangeSet: // it was change.Old
			(*shown)[change.Index] = change.Value
		case collections.ChangeRemoved: // it was change.Value
			*shown = slices.Delete(*shown, change.Index, change.Index+1)
		case collections.ChangeCleared, collections.ChangeGone: // gone with its entity, the sight of it, or as another connection begins
			*shown = (*shown)[:0]
		}
	})
}

// end guide

func TestGuideCollections(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[Position](p)
	c := register(p)
	var shown []Slot
	var player netcode.NetworkID
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1})
	n.Server.Systems.OnSpawn(func(_ ecs.Entity, id netcode.NetworkID) {
		player = id
		require.NoError(t, c.give(n.Server.Server, id))
	})
	c.watch(n.Clients[0].Client, &shown)
	w := n.Server.World
	e := ecs.Spawn(w, nil, ecs.ComponentID[Position](w), ecs.ComponentID[components.Replicated](w))
	until := func(want ...Slot) {
		t.Helper()
		require.True(t, n.RunUntil(3*time.Second, func() bool { return slices.Equal(shown, want) }), "%v, want %v", shown, want)
	}
	until(Slot{3, 2})
	bag := c.Inventory.Of(n.Server.Server, player)
	require.NoError(t, bag.Append(Slot{Kind: 9}))
	require.NoError(t, bag.Insert(0, Slot{Kind: 8}))
	until(Slot{Kind: 8}, Slot{3, 2}, Slot{Kind: 9})
	require.NoError(t, bag.Set(1, Slot{3, 7}))
	require.NoError(t, bag.Remove(0))
	until(Slot{3, 7}, Slot{Kind: 9})
	require.NoError(t, bag.Clear())
	until()
	require.NoError(t, bag.Append(Slot{Kind: 1}))
	until(Slot{Kind: 1})
	score, _ := c.Scores.Of(n.Clients[0].Client, player).Get(1)
	require.EqualValues(t, -20, score)
	require.True(t, c.Quests.Of(n.Clients[0].Client, player).Has(17))
	w.RemoveEntity(e)
	until()
}
