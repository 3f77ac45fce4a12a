package systems

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
)

// Capture brings what changed in a server's world into its store, when a network tick is due. It runs after everything
// of stage PreLateUpdate: what changes later in the frame travels with the next tick.
type Capture struct {
	// Server has the store that it brings it into.
	Server *netcode.Server
	// Spawned, when not nil, is called for each entity that has just got its network id, before anything about it is sent.
	// The world is unlocked.
	Spawned func(ecs.Entity, netcode.NetworkID)

	// MarksOnly makes captures cost what was written and not what there is: game code says Mark, or has a Marker say it, for every write, and
	// MarkWorld when entities came or went, or gained or lost components. It is read in Initialize only: set it before.
	MarksOnly bool
	// CheckMarks, for tests, reports each write without a mark that needed one. It is read in Initialize only, too.
	CheckMarks bool

	world   *ecs.World
	capture *netecs.Capture
	strange bool // Update was given another world, which was reported.
}

// Initialize implements System.
func (c *Capture) Initialize(w *ecs.World) {
	c.world = w
	noteCaptured(w, c.Server)
	c.capture = netecs.NewCapture(w, c.Server.Store(), c.Server.Protocol().Schema(), c.Server.Tag(), c.report)
	c.capture.Along(c.Server.Publish)
	c.capture.ByMarks(c.MarksOnly)
	if c.CheckMarks {
		c.capture.CheckMarks()
	}
}

// Update implements System.
func (c *Capture) Update(w *ecs.World) {
	c.Server.Enter(netcode.StepCapture)
	if c.capture == nil {
		c.Initialize(w)
	}
	if w != c.world && !c.strange {
		c.strange = true
		c.Server.Report(ErrOtherWorld)
	}
	if c.Server.TickDue() {
		noteCaptured(c.world, c.Server)
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
		forgetCaptured(c.world, c.Server)
	}
}

// Mark says that game code wrote component T of an entity. It is needed for components that were registered with
// netcode.Marked and, with Capture.MarksOnly, for all. The next capture takes the value that it has then. It does nothing,
// and says nothing, where T is not registered, the entity is dead or has no network id, or Initialize is still to come; an
// entity that no capture has seen needs no mark, it is captured whole.
func Mark[T any](c *Capture, e ecs.Entity) {
	if c.capture != nil {
		netecs.Mark[T](c.capture, e)
	}
}

// MarkWorld has the next capture look at the whole world, with MarksOnly.
func (c *Capture) MarkWorld() {
	if c.capture != nil {
		c.capture.MarkWorld()
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
