package snapshot

import "github.com/arche-netcode/netcode/wire"

// Interest is the rule for who may see what. A server asks it once a network tick, between the capture of the world and
// the packets of that tick, so that nobody is sent a byte about what it may not see.
type Interest interface {
	// Prepare is called once a network tick, when the world has been captured.
	Prepare(s *Store)
	// Update is called then for each client. It says what changed for this one by Show, Hide, Keep, SetRows and
	// SetWeight of its view. Entities that are new since the last call are visible unless ShowNew(false) was called.
	Update(client wire.ClientID, v *View)
	// Leave is called when a client is gone.
	Leave(client wire.ClientID)
}
