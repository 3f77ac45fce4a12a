package interest

import (
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Policy decides which entities each client may see. The game may bring its own; [New] makes an interest of it.
type Policy interface {
	// Prepare is called once a network tick, after the capture of the world. Called again for the same tick, as when
	// one policy is a part of two, it does nothing.
	Prepare(s *snapshot.Store)
	// Sees returns the entities that a client may see, as of the last Prepare and of what game code has said since; whom
	// it names and who is dead does not count. The set is the policy's own: it is read before the next call for a client.
	Sees(client wire.ClientID) Set
	// Refine is called for each client after its view was told what it sees, to set components and weights of that.
	// shown is the part of sees that has come into sight just now, for which nothing is set.
	Refine(client wire.ClientID, v View, sees, shown Set)
	// Leave is called when a client is gone.
	Leave(client wire.ClientID)
}

// View changes the sight of one client. A [snapshot.View] implements it.
type View interface {
	// Show lets the client see an entity, which is sent to it whole.
	Show(id wire.NetworkID)
	// Hide takes an entity out of the client's sight: it is despawned there.
	Hide(id wire.NetworkID)
	// Keep takes an entity out of the client's sight and leaves it there as it was.
	Keep(id wire.NetworkID)
	// SetRows says which components of a visible entity the client may see: all, until then.
	SetRows(id wire.NetworkID, rows snapshot.Mask)
	// SetWeight says how relevant a visible entity is to the client, in steps of 1/[snapshot.NormalWeight]; 0 counts as 1.
	SetWeight(id wire.NetworkID, weight uint16)
	// ShowNew says whether the client sees new entities until they are hidden, or does not until they are shown.
	ShowNew(show bool)
}

// all is the policy of having none.
type all struct{ lives }

// All returns the policy that a server has without any: everything is visible to everybody. It is good as a part of
// others, such as [Rows].
func All() Policy { return &all{} }

// Prepare implements [Policy].
func (a *all) Prepare(s *snapshot.Store) { a.follow(s) }

// Sees implements [Policy].
func (a *all) Sees(wire.ClientID) Set { return a.alive }

// Refine implements [Policy].
func (a *all) Refine(wire.ClientID, View, Set, Set) {}

// Leave implements [Policy].
func (a *all) Leave(wire.ClientID) {}
