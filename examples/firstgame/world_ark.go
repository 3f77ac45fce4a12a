//go:build netcode_ark

package main

import (
	"iter"

	"github.com/mlange-42/ark/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
)

// newWorld returns an empty world.
func newWorld() *ecs.World { return ecs.NewWorld() }

// avatars returns a function that makes the avatar of a client.
func avatars(world *ecs.World) func(netcode.ClientID) ecs.Entity {
	build := ecs.NewMap4[components.Replicated, components.Owner, Position, Steering](world)
	return func(client netcode.ClientID) ecs.Entity {
		return build.NewEntity(&components.Replicated{}, &components.Owner{Client: client}, &Position{}, &Steering{})
	}
}

// each goes through all entities that have both components.
func each[A, B any](world *ecs.World) iter.Seq2[*A, *B] {
	filter := ecs.NewFilter2[A, B](world)
	return func(yield func(*A, *B) bool) {
		for query := filter.Query(); query.Next(); {
			if !yield(query.Get()) {
				query.Close()
				return
			}
		}
	}
}

// mapper returns two functions: the component of an entity, and adding it.
func mapper[T any](world *ecs.World) (get func(ecs.Entity) *T, add func(ecs.Entity, *T)) {
	m := ecs.NewMap[T](world)
	return m.Get, func(e ecs.Entity, value *T) { m.Add(e, value) }
}
