package netecs

import (
	"reflect"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// HasKind reports whether a schema replicates components.Kind, so that clients know the kind of an entity.
func HasKind(schema *snapshot.Schema) bool {
	for row := range schema.Rows() {
		if schema.Plan(row).Type() == reflect.TypeFor[components.Kind]() {
			return true
		}
	}
	return false
}

// Resource is a replicated singleton, such as the score or the time of day. It is an entity with the component T, which
// is registered like any other component. Server and clients find it by its type.
type Resource[T any] struct {
	world  *World
	id     world.ID
	filter world.Mask
}

// NewResource returns a Resource for the singleton T in a world. It does not create the singleton: see Create.
func NewResource[T any](w *World) *Resource[T] {
	id := world.ComponentID[T](w)
	return &Resource[T]{world: w, id: id, filter: world.All(id, world.ComponentID[components.Replicated](w))}
}

// Create makes the singleton with this value, or sets the value of the existing one. It is for the server. The world
// must not be locked.
func (r *Resource[T]) Create(value T) {
	if there := r.Get(); there != nil {
		*there = value
		return
	}
	fill := func(e Entity) { *componentOf[T](r.world, e, r.id) = value }
	world.Spawn(r.world, fill, r.id, world.ComponentID[components.Replicated](r.world))
}

// Entity returns the singleton's entity. ok is false if there is none.
func (r *Resource[T]) Entity() (e Entity, ok bool) {
	query := world.Select(r.world, &r.filter)
	if !query.Next() {
		return Entity{}, false
	}
	e = query.Entity()
	query.Close()
	return e, true
}

// Get returns the value, or nil if there is none: a client has none before it arrived. The pointer is valid until the
// world's entities change. The server may write through it.
func (r *Resource[T]) Get() *T {
	if e, ok := r.Entity(); ok {
		return componentOf[T](r.world, e, r.id)
	}
	return nil
}

// AppendOwned appends the entities of a world whose components.Owner is a client, replicated or not.
func AppendOwned(list []Entity, w *World, client wire.ClientID) []Entity {
	owner := world.ComponentID[components.Owner](w)
	query := world.Select(w, world.All(owner))
	for query.Next() {
		if (*components.Owner)(query.Get(owner)).Client == client {
			list = append(list, query.Entity())
		}
	}
	return list
}

// OwnerOf returns the client in the components.Owner of an entity. It returns false if the entity is dead or has no
// such component.
func OwnerOf(w *World, e Entity) (client wire.ClientID, ok bool) {
	owner := world.ComponentID[components.Owner](w)
	if !w.Alive(e) || !world.Has(w, e, owner) {
		return 0, false
	}
	return (*components.Owner)(world.Get(w, e, owner)).Client, true
}

// Own gives an entity to a client, by a components.Owner. The world must not be locked.
func Own(w *World, e Entity, client wire.ClientID) {
	owner := world.ComponentID[components.Owner](w)
	if !world.Has(w, e, owner) {
		world.Exchange(w, e, []world.ID{owner}, nil, nil)
	}
	(*components.Owner)(world.Get(w, e, owner)).Client = client
}
