//go:build netcode_ark

package netecs_test

import (
	arche "github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/ark/ecs"

	"github.com/arche-netcode/netcode/internal/world"
)

// otherTie is a relation of Arche.
type otherTie struct{ arche.Relation }

// hear counts the entities that a world gains and loses.
func hear(w *world.World, heard *int) {
	count := func(ecs.Entity) { *heard++ }
	ecs.Observe(ecs.OnCreateEntity).Do(count).Register(w)
	ecs.Observe(ecs.OnRemoveEntity).Do(count).Register(w)
}
