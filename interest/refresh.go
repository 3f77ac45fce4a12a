package interest

import "github.com/arche-netcode/netcode/wire"

// Refresher is a policy that keeps answers of functions of the game, or passes the calls to one that does. All policies of this package
// that have such a function are. A game's own policy may be.
type Refresher interface {
	// RefreshAll makes the policy ask its functions again, about everything.
	RefreshAll()
	// RefreshClient makes the policy ask its functions again, about everything that one client sees.
	RefreshClient(client wire.ClientID)
}

func refreshAll(p Policy) {
	if r, ok := p.(Refresher); ok {
		r.RefreshAll()
	}
}

func refreshClient(p Policy, client wire.ClientID) {
	if r, ok := p.(Refresher); ok {
		r.RefreshClient(client)
	}
}

// RefreshAll decides anew about all clients, at once and not in the next network tick, so that messages about entities that come into
// sight need not wait. The policy calls functions of the game again whose results it keeps. RefreshAll counts for entities of the newest
// network tick. Use it for changes of the whole game, such as the begin of a match: it costs as much as a tick in which everything changed.
func (a *Interest) RefreshAll() {
	refreshAll(a.policy)
	for i, client := range a.clients.clients {
		if o := a.clients.of[i]; o.view != nil {
			a.update(client, o.view)
		}
	}
}

// RefreshClient is [Interest.RefreshAll] for one client. It returns false for a client that the server has not asked about yet: the next
// network tick decides about it.
func (a *Interest) RefreshClient(client wire.ClientID) bool {
	refreshClient(a.policy, client)
	o := a.clients.get(client)
	if o == nil || o.view == nil {
		return false
	}
	a.update(client, o.view)
	return true
}
