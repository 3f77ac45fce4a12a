package systems

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/interpolate"
)

// Apply writes what a client received to its world: entities, components and values become those of the server.
// It runs before the dispatch of EarlyUpdate. The entities of a connection that ended stay until another begins.
type Apply struct {
	Client *netcode.Client // Received it.
	Hooks  netecs.Hooks    // Called with the world unlocked, after all values are written.

	// Adopt, when not nil, names the entity of this world that one of the server becomes: see netecs.Apply.Adopt.
	Adopt func(netcode.NetworkID) (ecs.Entity, bool)

	world   *ecs.World
	apply   *netecs.Apply
	replica *netcode.Replica // apply was made for it.

	applied    bool // The last Update found something to apply.
	otherWorld bool // ErrOtherWorld was reported.
	order      *order
}

// Initialize implements System.
func (a *Apply) Initialize(w *ecs.World) { a.world = w }

// Update implements System.
func (a *Apply) Update(w *ecs.World) {
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
	if a.apply != nil && !a.Client.Suspended() {
		before := a.apply.Stats().Applied
		a.apply.Run()
		a.applied = a.apply.Stats().Applied != before
		a.Client.Applied()
	}
}

// Finalize implements System.
func (a *Apply) Finalize(*ecs.World) {
	if a.apply != nil {
		a.apply.Release()
	}
}

// Entity returns the entity of a network id, if the server shows it at present.
func (a *Apply) Entity(id netcode.NetworkID) (ecs.Entity, bool) {
	if a.apply == nil {
		return ecs.Entity{}, false
	}
	return a.apply.Entity(id)
}

// ID returns the network id of an entity that the server shows.
func (a *Apply) ID(e ecs.Entity) (netcode.NetworkID, bool) {
	if a.apply == nil {
		return netcode.NetworkID{}, false
	}
	return a.apply.ID(e)
}

// Changes yields the entities that the last update with something to apply has changed: see netecs.Apply.Changes.
// Applied tells whether that was in this frame. It allocates nothing.
func (a *Apply) Changes(yield func(netecs.Change) bool) {
	if a.apply != nil {
		a.apply.Changes(yield)
	}
}

// Applied reports whether this frame's update applied something: only then are the Changes new.
func (a *Apply) Applied() bool { return a.applied }

// Stats returns the counters, for all connections.
func (a *Apply) Stats() netecs.ApplyStats {
	if a.apply == nil {
		return netecs.ApplyStats{}
	}
	return a.apply.Stats()
}

// kind returns the kind of an entity, if it has one.
func (a *Apply) kind(e ecs.Entity) (uint16, bool) {
	if a.apply == nil {
		return 0, false
	}
	return a.apply.Kind(e)
}

// renew takes the replica of a new connection, which is empty.
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
	a.apply = netecs.NewApply(a.world, shown, a.Client.Protocol().Schema(), a.Client.Tag(), a.Hooks, a.report)
	a.apply.Adopt(a.Adopt)
	if written, ok := netcode.ExtensionOf[authority.ClientState](a.Client); ok {
		a.apply.Own(written.Rights)
	}
}

// Bridge returns what writes to the world, nil before the first connection.
func (a *Apply) Bridge() *netecs.Apply { return a.apply }

func (a *Apply) report(p netecs.Problem) { a.Client.Report(p) }

// Interpolate shows a client's world at the moment that Client.Present returns. For each component T of
// interpolate.Register, it writes components.Smooth[T], a value between those that arrived, and leaves T as it
// arrived. An entity gets its twins when it appears at that moment, and is removed when its end is presented: OnDespawn is
// called then. OnSpawn is called on arrival. Interpolate runs after Apply, so that the whole frame sees one moment. A
// protocol without interpolated components has none.
type Interpolate struct {
	Client *netcode.Client // Its world is shown.
	Apply  *Apply          // Writes to that world.

	smooth *netecs.Smooth
	apply  *netecs.Apply // smooth was made for it.

	presented func(ecs.Entity, netcode.NetworkID) // See ClientSystems.OnPresented; nil: nobody asks.
}

// Initialize implements System.
func (i *Interpolate) Initialize(*ecs.World) {}

// Update implements System.
func (i *Interpolate) Update(*ecs.World) {
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
func (i *Interpolate) Finalize(*ecs.World) {}

// Stats returns the counters.
func (i *Interpolate) Stats() netecs.SmoothStats {
	if i.smooth == nil {
		return netecs.SmoothStats{}
	}
	return i.smooth.Stats()
}
