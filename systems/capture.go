package systems

import (
	"slices"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/snapshot"
)

// Capture writes what changed in a server's world to its store. Tick runs it. A game that places systems by itself may place
// Capture in place of Tick, after everything of stage PreLateUpdate.
type Capture struct {
	// Server has the store.
	Server *netcode.Server
	// Spawned, when not nil, is called for each entity that has just got its network id, before anything about it is sent.
	// The world is unlocked. Set it before ServerSystems.OnSpawn, which adds to it.
	Spawned func(ecs.Entity, netcode.NetworkID)

	// MarksOnly makes captures cost what was written and not what there is. Game code then calls Mark, or a Marker, for every
	// write, and MarkWorld when entities came or went, or gained or lost components. Initialize reads it: set it before.
	MarksOnly bool
	// CheckMarks, for tests, reports each write without a mark that needed one. Initialize reads it, too.
	CheckMarks bool

	// Prompt, when not nil, returns the components of an entity that no components.Rate delays. Initialize reads it.
	Prompt func(netcode.NetworkID) snapshot.Mask

	world      *ecs.World
	capture    *netecs.Capture
	otherWorld bool // ErrOtherWorld was reported
}

// Initialize implements System.
func (c *Capture) Initialize(w *ecs.World) {
	c.world = w
	noteCaptured(w, c.Server)
	c.capture = netecs.NewCapture(w, c.Server.Store(), c.Server.Protocol().Schema(), c.Server.Tag(), c.report)
	c.capture.Along(c.Server.Publish)
	c.capture.ByMarks(c.MarksOnly)
	c.capture.Prompt(c.Prompt)
	if c.CheckMarks {
		c.capture.CheckMarks()
	}
}

// Update implements System: it runs if a network tick is due.
func (c *Capture) Update(w *ecs.World) { (&Tick{Server: c.Server, Capture: c}).Update(w) }

// Run captures the world as of tick t.
func (c *Capture) Run(w *ecs.World, t netcode.Tick) {
	if c.capture == nil {
		c.Initialize(w)
	}
	if w != c.world && !c.otherWorld {
		c.otherWorld = true
		c.Server.Report(ErrOtherWorld)
	}
	if c.capture.Run(t) {
		noteCaptured(c.world, c.Server) // The reset dropped the list.
	}
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

// MarkWorld has the next capture look at the whole world, with MarksOnly.
func (c *Capture) MarkWorld() {
	if c.capture != nil {
		c.capture.MarkWorld()
	}
}

// setOwner gives an entity of the world to a client, at once.
func (c *Capture) setOwner(e ecs.Entity, client netcode.ClientID) {
	if c.capture != nil {
		c.capture.SetOwner(e, client)
	}
}

// Entity returns the living entity of a network id.
func (c *Capture) Entity(id netcode.NetworkID) (ecs.Entity, bool) {
	if c.capture == nil {
		return ecs.Entity{}, false
	}
	return c.capture.Entity(id)
}

// ID returns the network id of an entity with a components.Replicated. One that is new gets its id here and now. It is false
// before Initialize, for an entity that does not replicate, and where Config.MaxEntities are alive.
func (c *Capture) ID(e ecs.Entity) (netcode.NetworkID, bool) {
	if c.capture == nil {
		return netcode.NetworkID{}, false
	}
	return c.capture.Reserve(e)
}

func (c *Capture) report(p netecs.Problem) {
	if p.Kind == netecs.Unreplicated {
		c.Server.ReportUnreplicated(p)
		return
	}
	c.Server.Report(p)
}

// Mark notes that game code wrote component T of an entity. It is needed for components that were registered with
// netcode.Marked and, with Capture.MarksOnly, for all. The next capture takes the value at that time. Mark does nothing
// where T is not registered, the entity is dead or has no network id, or Initialize is still to come. An
// entity that no capture has seen needs no mark: it is captured whole.
func Mark[T any](c *Capture, e ecs.Entity) {
	if c.capture != nil {
		netecs.Mark[T](c.capture, e)
	}
}

// Marker marks some components of entities, as [Mark] does for one. It is for games that mark many: it looks the components up
// once. Keep one where the game writes.
type Marker struct {
	capture *Capture
	marker  netecs.Marker
}

// Marker returns a Marker for components that are replicated, named as Arche's filters name them:
//
//	moved := group.Capture.Marker(generic.T2[Position, Velocity]()...)
//
// It freezes the protocol, and panics for a component that is not registered with it.
func (c *Capture) Marker(components ...generic.Comp) Marker {
	return Marker{c, netecs.NewMarker(c.Server.Protocol().Schema(), components...)}
}

// Mark is [Mark] for the Marker's components. It ignores those that the entity does not have.
func (m Marker) Mark(e ecs.Entity) {
	if c := m.capture.capture; c != nil {
		m.marker.Mark(c, e)
	}
}

// captured is the resource of a world that lists the servers whose systems capture it.
type captured struct{ servers []*netcode.Server }

// capturedIn returns the list of a world, nil if it has none.
func capturedIn(w *ecs.World) *captured {
	list, _ := w.Resources().Get(ecs.ResourceID[captured](w)).(*captured)
	return list
}

// noteCaptured adds a server to the list of a world, unless it is there.
func noteCaptured(w *ecs.World, s *netcode.Server) {
	list := capturedIn(w)
	if list == nil {
		list = &captured{}
		ecs.AddResource(w, list)
	}
	if !slices.Contains(list.servers, s) {
		list.servers = append(list.servers, s)
	}
}

// forgetCaptured removes a server from the list of a world.
func forgetCaptured(w *ecs.World, s *netcode.Server) {
	if list := capturedIn(w); list != nil {
		list.servers = slices.DeleteFunc(list.servers, func(other *netcode.Server) bool { return other == s })
	}
}

// capturedByServerOf reports whether a world is that of the server that a client is connected to.
func capturedByServerOf(w *ecs.World, c *netcode.Client) bool {
	list := capturedIn(w)
	return list != nil && slices.ContainsFunc(list.servers, c.ConnectedTo)
}

// Tick runs a server's network tick in the frames that one falls into. It runs after everything of stage PreLateUpdate: changes
// later in the frame are captured in the next tick.
type Tick struct {
	Server  *netcode.Server // Its clock decides about ticks.
	Capture *Capture        // Runs on each tick. Send then sends what it captured.

	order *order
}

// Due reports whether a network tick falls into this frame. It is valid from Receive on.
func (t *Tick) Due() bool { return t.Server.TickDue() }

// Initialize implements System.
func (t *Tick) Initialize(w *ecs.World) { t.Capture.Initialize(w) }

// Update implements System.
func (t *Tick) Update(w *ecs.World) {
	enter(t.Server, &t.order, StepCapture)
	if t.Server.TickDue() {
		t.Capture.Run(w, t.Server.Tick())
	}
}

// Finalize implements System.
func (t *Tick) Finalize(w *ecs.World) { t.Capture.Finalize(w) }
