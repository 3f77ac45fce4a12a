package guide_test

import (
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/nettest"
)

// What groups.md shows is what stands between the marks.

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

// begin guide
func budget(world *ecs.World, boss, leaf ecs.Entity) {
	priorities, rates := generic.NewMap1[components.Priority](world), generic.NewMap1[components.Rate](world)
	priorities.Assign(boss, &components.Priority{Weight: 4}) // sent four times as often as others, where bandwidth is short
	rates.Assign(leaf, &components.Rate{Every: 10})          // at most every tenth tick
}

// end guide

func TestGuideGroups(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[Holds](p)
	netcode.Replicate[Position](p)
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1, Link: lossy(0.3)})
	w := &n.Server.World
	build := generic.NewMap2[components.Replicated, Position](w)
	one, other := build.New(), build.New()
	n.Run(time.Second)
	mount(w, one, other, 3)
	budget(w, one, other)
	holders := func() (count int) {
		for query := generic.NewFilter1[Holds]().Query(&n.Clients[0].World); query.Next(); {
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
