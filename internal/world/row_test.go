package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/internal/world/typed"
)

type (
	rowValue struct{ V uint64 }
	rowTie   typed.Tie
)

// As long as a row has its key, its component is where it was; a table that grows has other keys.
func TestARowKeyIsOfARowThatHasNotMoved(t *testing.T) {
	w := world.New(4, 1) // tables of a row on Arche, so that they grow
	value, tie := world.ComponentID[rowValue](w), world.ComponentID[rowTie](w)
	filter := world.Register(w, world.All(value).Without())
	known := map[world.Pointer]world.Pointer{}
	look := func() (kept, found int) {
		for q := world.Open(w, &filter); q.Next(); {
			key, at := world.RowKey(&q, value), q.Get(value)
			if before, ok := known[key]; ok {
				kept++
				require.Equal(t, before, at)
			} else {
				found++
			}
			known[key] = at
		}
		return kept, found
	}
	targets := []world.Entity{world.Spawn(w, nil), world.Spawn(w, nil), world.Spawn(w, nil)}
	var all []world.Entity
	for _, to := range targets {
		e := world.Spawn(w, nil, value, tie)
		world.SetTarget(w, e, tie, to)
		all = append(all, e)
	}
	kept, found := look()
	require.Zero(t, kept)
	require.Equal(t, 3, found)
	kept, found = look()
	require.Equal(t, 3, kept)
	require.Zero(t, found)
	for range 100 { // the first table grows
		world.SetTarget(w, world.Spawn(w, nil, value, tie), tie, targets[0])
	}
	_, found = look()
	require.Greater(t, found, 98)
	w.RemoveEntity(targets[1]) // its table is free for another target
	w.RemoveEntity(all[2])
	next := world.Spawn(w, nil)
	world.SetTarget(w, all[1], tie, next)
	look()
	kept, found = look()
	require.Equal(t, 102, kept)
	require.Zero(t, found)
}
