//go:build !netcode_ark

package main

import (
	"iter"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
)

// newWorld returns an empty world.
func newWorld() *ecs.World {
	world := ecs.NewWorld()
	return &world
}

// avatars returns a function that makes the avatar of a client.
func avatars(world *ecs.World) func(netcode.ClientID) ecs.Entity {
	build := generic.NewMap4[components.Replicated, components.Owner, Position, Steering](world)
	return func(client netcode.ClientID) ecs.Entity {
		return build.NewWith(&components.Replicated{}, &components.Owner{Client: client}, &Position{}, &Steering{})
	}
}

// each goes through all entities that have both components.
func each[A, B any](world *ecs.World) iter.Seq2[*A, *B] {
	filter := generic.NewFilter2[A, B]()
	return func(yield func(*A, *B) bool) {
		for query := filter.Query(world); query.Next(); {
			if !yield(query.Get()) {
				query.Close()
				return
			}
		}
	}
}

// mapper returns two functions: the component of an entity, and adding it.
func mapper[T any](world *ecs.World) (get func(ecs.Entity) *T, add func(ecs.Entity, *T)) {
	m := generic.NewMap1[T](world)
	return m.Get, m.Assign
}
