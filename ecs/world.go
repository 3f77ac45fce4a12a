package netecs

import "github.com/arche-netcode/netcode/internal/world"

type (
	// World is the world of the ECS: ecs.World of Arche, or of Ark in a build with the tag netcode_ark.
	World = world.World
	// Entity is the handle of an entity in a World: ecs.Entity of Arche, or of Ark.
	Entity = world.Entity
)
