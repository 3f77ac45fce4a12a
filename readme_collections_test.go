package netcode_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/nettest"
)

// The README's section on collections is what follows between the marks, line by line.

// begin README
type Slot struct {
	Kind  uint16
	Count uint8
}

type Collections struct {
	Inventory *netcode.List[Slot]
	Quests    *netcode.Set[uint16]
	Scores    *netcode.Map[uint8, int32]
}

func register(protocol *netcode.Protocol) *Collections { // on both sides
	return &Collections{
		netcode.NewList[Slot](protocol, "inventory", netcode.MaxElements(64)),
		netcode.NewSet[uint16](protocol, "quests"),
		netcode.NewMap[uint8, int32](protocol, "scores"),
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

func (c *Collections) watch(client *netcode.Client, redraw func(slot int, s Slot)) {
	c.Inventory.OnChange(client, func(change netcode.ListChange[Slot]) {
		if change.What == netcode.CollectionWhole { // it came into sight
			for i, s := range c.Inventory.Of(client, change.Entity).All() {
				redraw(i, s)
			}
			return
		}
		redraw(change.Index, change.Value)
	})
}

// end README

func TestReadmeCollections(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[position](p)
	c := register(p)
	drawn := map[int]Slot{}
	var player netcode.NetworkID
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1})
	n.Server.Systems.OnSpawn(func(_ ecs.Entity, id netcode.NetworkID) {
		player = id
		require.NoError(t, c.give(n.Server.Server, id))
	})
	c.watch(n.Clients[0].Client, func(slot int, s Slot) { drawn[slot] = s })
	w := &n.Server.World
	w.NewEntity(ecs.ComponentID[position](w), ecs.ComponentID[netcode.Replicated](w))
	require.True(t, n.RunUntil(3*time.Second, func() bool { return drawn[0].Count == 2 }))
	require.NoError(t, c.Inventory.Of(n.Server.Server, player).Append(Slot{Kind: 9}))
	require.True(t, n.RunUntil(time.Second, func() bool { return drawn[1].Kind == 9 }))
	score, _ := c.Scores.Of(n.Clients[0].Client, player).Get(1)
	require.EqualValues(t, -20, score)
	require.True(t, c.Quests.Of(n.Clients[0].Client, player).Has(17))
}

func TestReadmeShowsTheCollections(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("readme_collections_test.go")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(source), "// begin README\n")
	require.True(t, found)
	code, _, found := strings.Cut(rest, "\n// end README\n")
	require.True(t, found)
	require.Contains(t, string(readme), "```go\n"+code+"```\n")
}
