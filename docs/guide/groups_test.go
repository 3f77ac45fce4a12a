package guide_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/consistent"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
)

// The code between the marks is that of groups.md.

type Holds struct {
	Item ecs.Entity `net:"entity"`
}

// begin guide
// mount puts a rider onto a horse: no client ever sees the one changed and the other not.
func mount(world *ecs.World, rider, horse ecs.Entity, number uint32) {
	groups, held := generic.NewMap1[components.Group](world), generic.NewMap1[Holds](world)
	groups.Assign(rider, &components.Group{ID: number})
	groups.Assign(horse, &components.Group{ID: number})
	held.Assign(rider, &Holds{Item: horse})
	held.Assign(horse, &Holds{Item: rider})
}

// end guide

// carried counts the entities that have the item, at the moment that arrived last.
func carried(world *ecs.World) (count int) {
	for query := generic.NewFilter2[components.Replicated, Holds]().Query(world); query.Next(); {
		if entity, holds := query.Get(); !holds.Item.IsZero() && !entity.Gone() {
			count++
		}
	}
	return count
}

// begin guide
func budget(world *ecs.World, boss, leaf ecs.Entity) {
	priorities, rates := generic.NewMap1[components.Priority](world), generic.NewMap1[components.Rate](world)
	priorities.Assign(boss, &components.Priority{Weight: 4}) // sent four times as often as others, where bandwidth is short
	rates.Assign(leaf, &components.Rate{Every: 10})          // at most every tenth tick
}

// end guide

// begin guide
func weigh(p *netcode.Protocol) {
	netcode.Replicate[Position](p, netcode.Importance(4)) // an entity that moves waits with four times the weight
	netcode.Replicate[Holds](p)                           // of one of which only this has changed
}

// end guide

// begin guide
func wholeTicks(p *netcode.Protocol) {
	consistent.Register(p) // on both sides
}

// lag tells how far a client's world is behind what has come, in ticks.
func lag(client *netcode.Client) (now netcode.Tick, mean float64) {
	stats, _ := consistent.Of(client)
	return stats.Behind, stats.MeanBehind
}

// end guide

func TestGuideWholeTicks(t *testing.T) {
	p := netcode.NewProtocol()
	weigh(p)
	wholeTicks(p)
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1, Link: lossy(0.2), Rate: 30, Server: netcode.Config{SendBudget: -1}, Game: func(w *ecs.World, frame int) {
		for q := generic.NewFilter1[Position]().Query(w); q.Next(); {
			q.Get().X = float32(frame)
		}
	}})
	build := generic.NewMap2[components.Replicated, Position](n.Server.World)
	for range 800 {
		build.New()
	}
	require.True(t, n.RunUntil(5*time.Second, n.Connected))
	seen := 0
	for range 200 {
		n.Step()
		var at map[float32]bool
		for q := generic.NewFilter1[Position]().Query(n.Clients[0].World); q.Next(); {
			if at == nil {
				at = map[float32]bool{}
			}
			at[q.Get().X] = true
		}
		require.LessOrEqual(t, len(at), 1, "one tick")
		seen += len(at)
	}
	require.Positive(t, seen)
	_, mean := lag(n.Clients[0].Client)
	require.Positive(t, mean)
}

func TestGuideGroups(t *testing.T) {
	p := netcode.NewProtocol()
	weigh(p)
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1, Link: lossy(0.3)})
	w := n.Server.World
	build := generic.NewMap2[components.Replicated, Position](w)
	one, other := build.New(), build.New()
	n.Run(time.Second)
	mount(w, one, other, 3)
	budget(w, one, other)
	holders := func() (count int) {
		for query := generic.NewFilter1[Holds]().Query(n.Clients[0].World); query.Next(); {
			count++
		}
		return count
	}
	require.True(t, n.RunUntil(3*time.Second, func() bool {
		require.NotEqual(t, 1, holders(), "both or none")
		return holders() == 2
	}))
	n.AssertConverge()
}

// An entity that has an item is removed, and another gets the item in the same tick. By the state that arrived there is always one
// that has it, though the first is still shown.
func TestGuideGroupsOfDelayedEntities(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[Holds](p)
	smooth(p)
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1, Link: lossy(0.1)})
	w, there := n.Server.World, n.Clients[0].World
	build := generic.NewMap4[components.Replicated, Position, Holds, components.Group](w)
	both := func() (count int) { // as if nobody were gone
		for query := generic.NewFilter1[Holds]().Query(there); query.Next(); {
			if !query.Get().Item.IsZero() {
				count++
			}
		}
		return count
	}
	require.True(t, n.RunUntil(5*time.Second, n.Connected))
	shown := 0
	add := func(item ecs.Entity) ecs.Entity {
		return build.NewWith(&components.Replicated{}, &Position{}, &Holds{Item: item}, &components.Group{ID: 1})
	}
	crates := generic.NewMap1[components.Replicated](w)
	crate := crates.New()
	first := add(crate)
	for range 10 {
		next := add(ecs.Entity{})
		require.True(t, n.RunUntil(3*time.Second, func() bool { return carried(there) == 1 }))
		n.Run(time.Second)
		_, _, holds, _ := build.Get(next)
		holds.Item = crate
		w.RemoveEntity(first)
		first = next
		for range 60 {
			n.Run(time.Second / 60)
			require.Equal(t, 1, carried(there))
			if both() == 2 {
				shown++
			}
		}
	}
	require.Positive(t, shown, "the one that is gone was there too")
}
