package systems

import (
	"slices"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/snapshot"
)

// Capture copies the changes of a server's world to its store. Tick runs it. A game that places systems itself may place
// Capture in place of Tick, at the end of stage PreLateUpdate.
type Capture struct {
	// Server has the store.
	Server *netcode.Server
	// Spawned, when not nil, is called for each entity that got its network id, before anything about it is sent. The
	// world is unlocked. Set it before ServerSystems.OnSpawn, which adds to it.
	Spawned func(ecs.Entity, netcode.NetworkID)

	// Prompt, when not nil, returns the components of an entity that no components.Rate delays. Initialize reads the
	// field.
	Prompt func(netcode.NetworkID) snapshot.Mask

	world      *ecs.World
	capture    *netecs.Capture
	otherWorld bool // ErrOtherWorld was reported.
}

// Initialize implements System.
func (c *Capture) Initialize(w *ecs.World) {
	c.world = w
	noteCaptured(w, c.Server)
	c.capture = netecs.NewCapture(w, c.Server.Store(), c.Server.Protocol().Schema(), c.Server.Tag(), c.report)
	c.capture.Along(c.Server.Publish)
	c.capture.Prompt(c.Prompt)
}

// Update implements System. It captures if a network tick is due.
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
		noteCaptured(c.world, c.Server) // The reset of the world has dropped the list.
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

// setOwner sets the owner of an entity of the world at once.
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

// ID returns the network id of an entity with a components.Replicated. A new entity gets its id in this call. ok is false
// before Initialize, for an entity that is not replicated, and when Config.MaxEntities are alive.
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

// Mark notes that game code wrote component T of an entity. Components with netcode.Marked need it. The next capture
// reads the value. An entity that no capture has seen needs no mark: it is captured whole. Mark does nothing for a T
// that is not registered, a dead entity, an entity without a network id, and before Initialize.
func Mark[T any](c *Capture, e ecs.Entity) {
	if c.capture != nil {
		netecs.Mark[T](c.capture, e)
	}
}

// captured is a resource of a world. It lists the servers whose systems capture the world.
type captured struct{ servers []*netcode.Server }

// capturedIn returns the list of a world, nil without a list.
func capturedIn(w *ecs.World) *captured {
	list, _ := w.Resources().Get(ecs.ResourceID[captured](w)).(*captured)
	return list
}

// noteCaptured adds a server to the list of a world, once.
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

// capturedByServerOf reports whether the server that a client is connected to captures a world.
func capturedByServerOf(w *ecs.World, c *netcode.Client) bool {
	list := capturedIn(w)
	return list != nil && slices.ContainsFunc(list.servers, c.ConnectedTo)
}

// Tick runs a server's network tick in the frames in which it is due. It runs at the end of stage PreLateUpdate. Changes
// later in the frame are captured in the next tick.
type Tick struct {
	Server  *netcode.Server // Its clock decides about ticks.
	Capture *Capture        // Runs on each tick. Send then sends the captured changes.

	order *order
}

// Due reports whether a network tick is due in this frame. It is valid from Receive on.
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
