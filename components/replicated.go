package components

import "github.com/arche-netcode/netcode/wire"

// Replicated makes an entity exist on every client that may see it. Game code on the server adds its zero value; the next capture
// gives the entity its network ID. Removing the component or the entity despawns it on the clients.
//
// Game code only reads the fields. netecs.Capture describes what happens if they are written or copied.
type Replicated struct {
	// ID identifies the entity on all machines. Zero until the first capture.
	ID wire.NetworkID
	// World is the tag of the managing server or client. It shows whether an entity belongs to another one. Zero until the first
	// capture.
	World uint32
}

// Gone reports whether the entity is despawned at the server and still here, because the presented time is before its end (see
// Smooth). It has no ID any more.
func (r Replicated) Gone() bool { return r.ID.IsZero() && r.World != 0 }
