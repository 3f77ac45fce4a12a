package components

import "github.com/arche-netcode/netcode/wire"

// Replicated makes an entity exist on every client that may see it. Game code
// on the server adds it with its zero value; the next capture gives the entity
// its network id. Removing it, or the entity, despawns the entity there.
//
// Game code reads the fields and does not write them. See netecs.Capture about
// written and copied ones.
type Replicated struct {
	// ID names the entity on every machine. Zero until the first capture.
	ID wire.NetworkID
	// World is the tag of the server or client that manages the entity, so
	// that an entity of another one is recognised. Zero until the first capture.
	World uint32
}

// Gone reports whether the entity is gone at the server and still here because
// the presented moment is before its end, see Smooth. It has no id any more.
func (r Replicated) Gone() bool { return r.ID.IsZero() && r.World != 0 }
