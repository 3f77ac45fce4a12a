package systems

import (
	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/interpolate"
)

// Apply writes the received state to a client's world: its entities, components and values become the server's. It runs
// before the dispatch of EarlyUpdate. The entities of a closed connection stay until the next connection begins.
type Apply struct {
	Client *netcode.Client // The receiver of the state.
	Hooks  netecs.Hooks    // Called with the world unlocked, after all values are written.

	// Adopt, when not nil, returns the entity of this world that an entity of the server becomes: see netecs.Apply.Adopt.
	Adopt func(netcode.NetworkID) (netecs.Entity, bool)
	// Retain, when not nil, reports whether a predicted entity stays although the server has removed it: see netecs.Apply.Retain.
	Retain func(netcode.NetworkID) bool

	world   *netecs.World
	apply   *netecs.Apply
	replica *replica.Replica // The replica of apply.

	applied    bool // The last Update found something to apply.
	otherWorld bool // ErrOtherWorld was reported.
	order      *order
}

// Initialize implements System.
func (a *Apply) Initialize(w *netecs.World) { a.world = w }

// Update implements System.
func (a *Apply) Update(w *netecs.World) {
	enter(a.Client, &a.order, StepApply)
	if a.world == nil {
		a.Initialize(w)
	}
	if w != a.world && !a.otherWorld {
		a.otherWorld = true
		a.Client.Report(ErrOtherWorld)
	}
	if a.Client.Replica() != a.replica {
		a.renew()
	}
	a.applied = false
	if a.apply != nil && !steps.OfClient(a.Client).Suspended() {
		before := a.apply.Stats().Applied
		a.apply.Present(a.Client.Present())
		a.apply.Run()
		a.applied = a.apply.Stats().Applied != before
		steps.OfClient(a.Client).Applied()
	}
}

// Finalize implements System.
func (a *Apply) Finalize(*netecs.World) {
	if a.apply != nil {
		a.apply.Release()
	}
}

// Entity returns the entity of a network id, if the server shows it now.
func (a *Apply) Entity(id netcode.NetworkID) (netecs.Entity, bool) {
	if a.apply == nil {
		return netecs.Entity{}, false
	}
	return a.apply.Entity(id)
}

// ID returns the network id of an entity that the server shows.
func (a *Apply) ID(e netecs.Entity) (netcode.NetworkID, bool) {
	if a.apply == nil {
		return netcode.NetworkID{}, false
	}
	return a.apply.ID(e)
}

// Changes yields the entities that the last effective update has changed: see netecs.Apply.Changes. Applied reports
// whether that update was in this frame. Changes allocates nothing.
func (a *Apply) Changes(yield func(netecs.Change) bool) {
	if a.apply != nil {
		a.apply.Changes(yield)
	}
}

// Applied reports whether this frame's update applied something. Otherwise Changes yields the changes of an earlier
// frame.
func (a *Apply) Applied() bool { return a.applied }

// Stats returns the counters of all connections.
func (a *Apply) Stats() netecs.ApplyStats {
	if a.apply == nil {
		return netecs.ApplyStats{}
	}
	return a.apply.Stats()
}

// kind returns the components.Kind of an entity.
func (a *Apply) kind(e netecs.Entity) (uint16, bool) {
	if a.apply == nil {
		return 0, false
	}
	return a.apply.Kind(e)
}

// renew follows the empty replica of a new connection.
func (a *Apply) renew() {
	a.replica = a.Client.Replica()
	shown := a.replica
	if shown != nil && capturedByServerOf(a.world, a.Client) {
		a.Client.Report(ErrServersWorld)
		shown = nil
	}
	if a.apply != nil {
		a.apply.Follow(shown)
		return
	}
	a.apply = netecs.NewApply(a.world, shown, a.Client.Protocol().Schema(), steps.OfClient(a.Client).Tag(), a.Hooks, a.report)
	a.apply.Adopt(a.Adopt)
	a.apply.Retain(a.Retain)
	if written, ok := extend.ExtensionOf[authority.ClientState](a.Client); ok {
		a.apply.Own(written.Rights)
	}
}

// Bridge returns the writer of the world, nil before the first connection.
func (a *Apply) Bridge() *netecs.Apply { return a.apply }

func (a *Apply) report(p netecs.Problem) { a.Client.Report(p) }

// Interpolate shows a client's world at the moment Client.Present. For each component T of interpolate.Register it writes
// components.Smooth[T], a value between the received values. T itself keeps the newest received value.
//
// An entity gets its Smooth components when the moment reaches its spawn, and is removed when the moment reaches its end:
// then OnDespawn is called. OnSpawn is called on arrival. Interpolate runs after Apply, so that the whole frame sees one
// moment. A protocol without interpolated components has no Interpolate.
type Interpolate struct {
	Client *netcode.Client // The client whose world is shown.
	Apply  *Apply          // The writer of that world.

	smooth *netecs.Smooth
	apply  *netecs.Apply // The apply of smooth.

	presented func(netecs.Entity, netcode.NetworkID) // See ClientSystems.OnPresented; may be nil.
}

// Initialize implements System.
func (i *Interpolate) Initialize(*netecs.World) {}

// Update implements System.
func (i *Interpolate) Update(*netecs.World) {
	if i.Apply.apply == nil {
		return
	}
	rate := i.Client.TickRate()
	if i.apply != i.Apply.apply {
		i.apply = i.Apply.apply
		i.smooth = netecs.NewSmooth(i.apply, interpolate.List(i.Client.Protocol()), rate)
		i.smooth.Presented = i.presented
	}
	i.smooth.SetRate(rate)
	i.smooth.Run(i.Client.Present())
}

// Finalize implements System.
func (i *Interpolate) Finalize(*netecs.World) {}

// Stats returns the counters.
func (i *Interpolate) Stats() netecs.SmoothStats {
	if i.smooth == nil {
		return netecs.SmoothStats{}
	}
	return i.smooth.Stats()
}
