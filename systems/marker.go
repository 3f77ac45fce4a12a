package systems

import (
	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	netecs "github.com/arche-netcode/netcode/ecs"
)

// Marker says that game code wrote some components of an entity, as [Mark] does for one, for games that mark many: which
// components of the protocol they are is looked up once. Keep one where the game writes.
type Marker struct {
	capture *Capture
	marker  netecs.Marker
}

// Marker returns one for components that are replicated, named as Arche's filters name them:
//
//	moved := group.Capture.Marker(generic.T2[Position, Velocity]()...)
//
// It freezes the protocol, and panics for a component that is not registered with it.
func (c *Capture) Marker(components ...generic.Comp) Marker {
	return Marker{c, netecs.NewMarker(c.Server.Protocol().Schema(), components...)}
}

// Mark is [Mark] for the Marker's components. What of them the entity does not have is ignored.
func (m Marker) Mark(e ecs.Entity) {
	if c := m.capture.capture; c != nil {
		m.marker.Mark(c, e)
	}
}
