package interest

import (
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Explicit shows a client nothing but what game code shows it.
type Explicit struct {
	claims
	clients roll[Set]
}

// NewExplicit returns the policy under which nothing is visible to anybody.
func NewExplicit() *Explicit { return &Explicit{} }

// Show lets a client see an entity until Hide. The client need not be there yet, nor need the capture that spawned the
// entity be over. It says false of an entity whose life is over.
func (e *Explicit) Show(client wire.ClientID, id wire.NetworkID) bool {
	ok, taken := e.claim(id)
	if taken {
		e.forget(id.Index)
	}
	if ok {
		e.clients.open(client).add(id.Index)
	}
	return ok
}

// Hide takes an entity out of a client's sight. It says false if the client was not shown it.
func (e *Explicit) Hide(client wire.ClientID, id wire.NetworkID) bool {
	if !e.Shown(client, id) {
		return false
	}
	e.clients.get(client).remove(id.Index)
	return true
}

// Shown reports whether a client was shown an entity that, as far as is known, has not died since.
func (e *Explicit) Shown(client wire.ClientID, id wire.NetworkID) bool {
	set := e.clients.get(client)
	return set != nil && e.holds(id) && set.Has(id.Index)
}

func (e *Explicit) forget(index uint32) {
	for _, set := range e.clients.of {
		set.remove(index)
	}
}

// Prepare implements [Policy]. What was shown of a life that is over is forgotten.
func (e *Explicit) Prepare(s *snapshot.Store) {
	e.settle(s, e.forget)
}

// Sees implements [Policy].
func (e *Explicit) Sees(client wire.ClientID) Set {
	if set := e.clients.get(client); set != nil {
		return *set
	}
	return nil
}

// Refine implements [Policy].
func (e *Explicit) Refine(wire.ClientID, View, Set, Set) {}

// Leave implements [Policy].
func (e *Explicit) Leave(client wire.ClientID) { e.clients.drop(client) }
