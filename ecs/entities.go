package netecs

import (
	"iter"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/wire"
)

// Entities yields every entity of a world that has a network id, in the order
// of the ids. The world may be changed while it is used: the list is made
// before. It is made anew by each call: for tools and tests, not for each frame.
func Entities(w *ecs.World) iter.Seq2[ecs.Entity, wire.NetworkID] {
	b := binding{replicated: ecs.ComponentID[components.Replicated](w)}
	return func(yield func(ecs.Entity, wire.NetworkID) bool) {
		for _, k := range byID(w, &b) {
			if !yield(k.entity, k.id) {
				return
			}
		}
	}
}
