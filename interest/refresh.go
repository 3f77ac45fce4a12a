package interest

import "github.com/arche-netcode/netcode/wire"

// Refresher is a policy that caches results of the game's functions, or passes the calls to an inner policy. All policies of this
// package with such functions implement it. A game's own policy may.
type Refresher interface {
	// RefreshAll makes the policy call its functions again for everything.
	RefreshAll()
	// RefreshClient makes the policy call its functions again for everything that one client sees.
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

// RefreshAll decides anew for all clients at once, instead of in the next network tick. Messages about entities that come into
// sight need not wait then. It discards cached results of the game's functions. It covers the entities of the newest network
// tick. Use it for changes of the whole game, such as the start of a match: it costs as much as a tick in which everything
// changed.
func (a *Interest) RefreshAll() {
	refreshAll(a.policy)
	for i, client := range a.clients.clients {
		if o := a.clients.of[i]; o.view != nil {
			a.update(client, o.view)
		}
	}
}

// RefreshClient is [Interest.RefreshAll] for one client. It returns false for a client that no network tick has covered yet: the
// next tick decides for it.
func (a *Interest) RefreshClient(client wire.ClientID) bool {
	refreshClient(a.policy, client)
	o := a.clients.get(client)
	if o == nil || o.view == nil {
		return false
	}
	a.update(client, o.view)
	return true
}
