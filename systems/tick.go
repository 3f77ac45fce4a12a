package systems

import (
	"slices"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/snapshot"
)

// Tick runs a server's network tick in the frames in which it is due: it captures the world, that is, it copies the
// changes to the server's store. Send then sends them. Tick runs at the end of stage PreLateUpdate. Changes later in the
// frame are captured in the next tick.
type Tick struct {
	// Server decides about ticks, and has the store.
	Server *netcode.Server
	// Spawned, when not nil, is called for each entity that got its network id, before anything about it is sent. The
	// world is unlocked. Set it before ServerSystems.OnSpawn, which adds to it.
	Spawned func(netecs.Entity, netcode.NetworkID)

	// Prompt, when not nil, returns the components of an entity that no components.Rate delays. Initialize reads the
	// field.
	Prompt func(netcode.NetworkID) snapshot.Mask

	world      *netecs.World
	capture    *netecs.Capture
	otherWorld bool // ErrOtherWorld was reported.
	order      *order
}

// Due reports whether a network tick is due in this frame. It is valid from Receive on.
func (t *Tick) Due() bool { return t.Server.TickDue() }

// Initialize implements System.
func (t *Tick) Initialize(w *netecs.World) {
	t.world = w
	noteCaptured(w, t.Server)
	t.capture = netecs.NewCapture(w, t.Server.Store(), t.Server.Protocol().Schema(), steps.OfServer(t.Server).Tag(), t.report)
	t.capture.BeforeCommit(steps.OfServer(t.Server).Publish)
	t.capture.Prompt(t.Prompt)
}

// Update implements System. It captures if a network tick is due.
func (t *Tick) Update(w *netecs.World) {
	enter(t.Server, &t.order, StepTick)
	if t.Due() {
		t.captureWorld(w)
	}
}

// captureWorld captures the world as of Server.Tick.
func (t *Tick) captureWorld(w *netecs.World) {
	if t.capture == nil {
		t.Initialize(w)
	}
	if w != t.world && !t.otherWorld {
		t.otherWorld = true
		t.Server.Report(ErrOtherWorld)
	}
	if t.capture.Run(t.Server.Tick()) {
		noteCaptured(t.world, t.Server) // The reset of the world has dropped the list.
	}
	if t.Spawned == nil {
		return
	}
	for _, id := range t.Server.Store().Births() {
		if e, ok := t.capture.Entity(id); ok {
			t.Spawned(e, id)
		}
	}
}

// Finalize implements System.
func (t *Tick) Finalize(*netecs.World) {
	if t.capture != nil {
		t.capture.Release()
		forgetCaptured(t.world, t.Server)
	}
}

// setOwner sets the owner of an entity of the world at once.
func (t *Tick) setOwner(e netecs.Entity, client netcode.ClientID) {
	if t.capture != nil {
		t.capture.SetOwner(e, client)
	}
}

// Entity returns the living entity of a network id.
func (t *Tick) Entity(id netcode.NetworkID) (netecs.Entity, bool) {
	if t.capture == nil {
		return netecs.Entity{}, false
	}
	return t.capture.Entity(id)
}

// ID returns the network id of an entity with a components.Replicated. A new entity gets its id in this call. ok is false
// before Initialize, for an entity that is not replicated, and when Config.MaxEntities are alive.
func (t *Tick) ID(e netecs.Entity) (netcode.NetworkID, bool) {
	if t.capture == nil {
		return netcode.NetworkID{}, false
	}
	return t.capture.Reserve(e)
}

func (t *Tick) report(p netecs.Problem) {
	if p.Kind == netecs.Unreplicated {
		steps.OfServer(t.Server).ReportUnreplicated(p)
		return
	}
	t.Server.Report(p)
}

// Mark notes that game code wrote component T of an entity. Components with netcode.Marked need it. The next capture
// reads the value. An entity that no capture has seen needs no mark: it is captured whole. Mark does nothing for a T
// that is not registered, a dead entity, an entity without a network id, and before Initialize.
func Mark[T any](t *Tick, e netecs.Entity) {
	if t.capture != nil {
		netecs.Mark[T](t.capture, e)
	}
}

// captured is a resource of a world. It lists the servers whose systems capture the world.
type captured struct{ servers []*netcode.Server }

// capturedIn returns the list of a world, nil without a list.
func capturedIn(w *netecs.World) *captured {
	list, _ := w.Resources().Get(world.ResourceOf[captured](w)).(*captured)
	return list
}

// noteCaptured adds a server to the list of a world, once.
func noteCaptured(w *netecs.World, s *netcode.Server) {
	list := capturedIn(w)
	if list == nil {
		list = &captured{}
		w.Resources().Add(world.ResourceOf[captured](w), list)
	}
	if !slices.Contains(list.servers, s) {
		list.servers = append(list.servers, s)
	}
}

// forgetCaptured removes a server from the list of a world.
func forgetCaptured(w *netecs.World, s *netcode.Server) {
	if list := capturedIn(w); list != nil {
		list.servers = slices.DeleteFunc(list.servers, func(other *netcode.Server) bool { return other == s })
	}
}

// capturedByServerOf reports whether the server that a client is connected to captures a world.
func capturedByServerOf(w *netecs.World, c *netcode.Client) bool {
	list := capturedIn(w)
	return list != nil && slices.ContainsFunc(list.servers, func(s *netcode.Server) bool { return steps.OfClient(c).ConnectedTo(s) })
}
