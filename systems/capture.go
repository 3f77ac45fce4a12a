package systems

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
)

// Capture brings what changed in a server's world into its store, when a network tick is due. It runs after everything
// of stage PreLateUpdate: what changes later in the frame travels with the next tick.
type Capture struct {
	Server *netcode.Server
	// Spawned, when not nil, is called for each entity that has just got its network id, before anything about it is sent.
	// The world is unlocked.
	Spawned func(ecs.Entity, netcode.NetworkID)

	capture *netecs.Capture
}

// Initialize implements System.
func (c *Capture) Initialize(w *ecs.World) {
	c.capture = netecs.NewCapture(w, c.Server.Store(), c.Server.Protocol().Schema(), c.Server.Tag(), c.report)
	c.capture.Along(c.Server.Publish)
}

// Update implements System.
func (c *Capture) Update(w *ecs.World) {
	c.Server.Enter(netcode.StepCapture)
	if c.capture == nil {
		c.Initialize(w)
	}
	if c.Server.TickDue() {
		c.capture.Run(c.Server.Tick())
		c.announce()
	}
}

// announce tells of the entities that this capture has named.
func (c *Capture) announce() {
	if c.Spawned == nil {
		return
	}
	for _, id := range c.Server.Store().Births() {
		if e, ok := c.capture.Entity(id); ok {
			c.Spawned(e, id)
		}
	}
}

// Finalize implements System.
func (c *Capture) Finalize(*ecs.World) {
	if c.capture != nil {
		c.capture.Release()
	}
}

// Entity is the living entity of a network id.
func (c *Capture) Entity(id netcode.NetworkID) (ecs.Entity, bool) {
	if c.capture == nil {
		return ecs.Entity{}, false
	}
	return c.capture.Entity(id)
}

// ID is the network id of an entity, once it was captured.
func (c *Capture) ID(e ecs.Entity) (netcode.NetworkID, bool) {
	if c.capture == nil {
		return netcode.NetworkID{}, false
	}
	return c.capture.ID(e)
}

func (c *Capture) report(p netecs.Problem) { c.Server.Report(p) }
