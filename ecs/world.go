package netecs

import "github.com/arche-netcode/netcode/internal/world"

type (
	// World is the world of the ECS: Arche's ecs.World.
	World = world.World
	// Entity is the handle of an entity in a World: Arche's ecs.Entity.
	Entity = world.Entity
)
