package netecs

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/wire"
)

// AppendOwned appends the entities of a world that belong to a client by components.Owner, replicated or not.
func AppendOwned(list []ecs.Entity, w *ecs.World, client wire.ClientID) []ecs.Entity {
	owner := ecs.ComponentID[components.Owner](w)
	query := w.Query(ecs.All(owner))
	for query.Next() {
		if (*components.Owner)(query.Get(owner)).Client == client {
			list = append(list, query.Entity())
		}
	}
	return list
}

// OwnerOf returns the client that an entity of a world belongs to by components.Owner. ok is false for one that is dead, or has no such component.
func OwnerOf(w *ecs.World, e ecs.Entity) (client wire.ClientID, ok bool) {
	owner := ecs.ComponentID[components.Owner](w)
	if !w.Alive(e) || !w.Has(e, owner) {
		return 0, false
	}
	return (*components.Owner)(w.Get(e, owner)).Client, true
}

// SetOwner changes the components.Owner of an entity that has one. A capture by marks does not notice.
func SetOwner(w *ecs.World, e ecs.Entity, client wire.ClientID) {
	if _, ok := OwnerOf(w, e); ok {
		(*components.Owner)(w.Get(e, ecs.ComponentID[components.Owner](w))).Client = client
	}
}
