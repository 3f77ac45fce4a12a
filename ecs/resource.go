package netecs

import (
	"reflect"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode/components"
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
	world  *ecs.World
	filter *generic.Filter1[T]
}

// NewResource returns a Resource for the singleton T in a world. It does not create the singleton: see Create.
func NewResource[T any](w *ecs.World) *Resource[T] {
	return &Resource[T]{world: w, filter: generic.NewFilter1[T]().With(generic.T[components.Replicated]())}
}

// Create makes the singleton with this value, or sets the value of the existing one. It is for the server. The world
// must not be locked.
func (r *Resource[T]) Create(value T) {
	if there := r.Get(); there != nil {
		*there = value
		return
	}
	entities := generic.NewMap2[T, components.Replicated](r.world)
	entities.NewWith(&value, &components.Replicated{})
}

// Entity returns the singleton's entity. ok is false if there is none.
func (r *Resource[T]) Entity() (e ecs.Entity, ok bool) {
	query := r.filter.Query(r.world)
	if !query.Next() {
		return ecs.Entity{}, false
	}
	e = query.Entity()
	query.Close()
	return e, true
}

// Get returns the value, or nil if there is none: a client has none before it arrived. The pointer is valid until the
// world's entities change. The server may write through it.
func (r *Resource[T]) Get() *T {
	query := r.filter.Query(r.world)
	if !query.Next() {
		return nil
	}
	value := query.Get()
	query.Close()
	return value
}

// AppendOwned appends the entities of a world whose components.Owner is a client, replicated or not.
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

// OwnerOf returns the client in the components.Owner of an entity. It returns false if the entity is dead or has no
// such component.
func OwnerOf(w *ecs.World, e ecs.Entity) (client wire.ClientID, ok bool) {
	owner := ecs.ComponentID[components.Owner](w)
	if !w.Alive(e) || !w.Has(e, owner) {
		return 0, false
	}
	return (*components.Owner)(w.Get(e, owner)).Client, true
}
