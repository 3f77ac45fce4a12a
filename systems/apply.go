package systems

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
)

// Apply brings what a client received into its world: entities, components and values become those that the server
// sent. It runs before the dispatch of EarlyUpdate. The entities of a connection that ended stay until another begins.
type Apply struct {
	Client *netcode.Client // That received it.
	Hooks  netecs.Hooks    // Called with the world unlocked, after all values are written.

	world   *ecs.World
	apply   *netecs.Apply
	replica *netcode.Replica // That apply was made for.
	applied bool             // The last Update found something to apply.
	strange bool             // Update was given another world, which was reported.
}

// Initialize implements System.
func (a *Apply) Initialize(w *ecs.World) { a.world = w }

// Update implements System.
func (a *Apply) Update(w *ecs.World) {
	a.Client.Enter(netcode.StepApply)
	if a.world == nil {
		a.Initialize(w)
	}
	if w != a.world && !a.strange {
		a.strange = true
		a.Client.Report(ErrOtherWorld)
	}
	if a.Client.Replica() != a.replica {
		a.renew()
	}
	a.applied = false
	if a.apply != nil {
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

// Entity is the entity of a network id, if the server shows it at present.
func (a *Apply) Entity(id netcode.NetworkID) (ecs.Entity, bool) {
	if a.apply == nil {
		return ecs.Entity{}, false
	}
	return a.apply.Entity(id)
}

// ID is the network id of an entity that the server shows.
func (a *Apply) ID(e ecs.Entity) (netcode.NetworkID, bool) {
	if a.apply == nil {
		return netcode.NetworkID{}, false
	}
	return a.apply.ID(e)
}

// Changes yields what the last update that found something to apply did to which entities: see netecs.Apply.Changes.
// Whether that was in this frame, Applied tells. It allocates nothing.
func (a *Apply) Changes(yield func(netecs.Change) bool) {
	if a.apply != nil {
		a.apply.Changes(yield)
	}
}

// Applied reports whether something arrived that this frame's update applied: only then are the Changes new.
func (a *Apply) Applied() bool { return a.applied }

// Stats is what has been done so far, for all connections.
func (a *Apply) Stats() netecs.ApplyStats {
	if a.apply == nil {
		return netecs.ApplyStats{}
	}
	return a.apply.Stats()
}

// kind is the kind of an entity, if it has one.
func (a *Apply) kind(e ecs.Entity) (uint16, bool) {
	if a.apply == nil {
		return 0, false
	}
	return a.apply.Kind(e)
}

// renew turns to the replica of a new connection, which holds nothing yet.
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
	if a.Client.Protocol().ClientsWrite() {
		a.apply.Own(a.Client.Rights)
	}
}

func (a *Apply) report(p netecs.Problem) { a.Client.Report(p) }
