//go:build !netcode_ark

package world

import (
	"reflect"

	"github.com/mlange-42/arche/ecs"
)

// Name is the name of the ECS, for errors.
const Name = "Arche"

// Marker is the first field of a relation, for errors.
const Marker = "ecs.Relation of github.com/mlange-42/arche/ecs"

// Other names the way to the other ECS, for errors.
const Other = "the build tag netcode_ark is for Ark"

// SeveralRelations reports whether an entity may have more than one relation.
const SeveralRelations = false

type (
	// World contains entities and their components.
	World = ecs.World
	// Entity is the handle of an entity in one world.
	Entity = ecs.Entity
	// ID is a component in one world.
	ID = ecs.ID
	// ResourceID is a resource in one world.
	ResourceID = ecs.ResID
	// Mask is a set of components.
	Mask = ecs.Mask
	// Matcher selects component sets.
	Matcher = ecs.Filter
	// Selection is a Matcher of sets that include some components and exclude others.
	Selection = ecs.MaskFilter
	// Filter is a Matcher that is registered with a world.
	Filter = ecs.CachedFilter
	// Query is a walk over entities.
	Query = ecs.Query
)

// New returns an empty world, with room for so many entities.
func New(capacity ...int) *World {
	w := ecs.NewWorld(capacity...)
	return &w
}

// Generation returns the generation of a handle.
func Generation(e Entity) uint32 { return e.Generation() }

// TypeID is ComponentID for a reflected type.
func TypeID(w *World, t reflect.Type) ID { return ecs.TypeID(w, t) }

// ResourceOf returns the id of a resource.
func ResourceOf[T any](w *World) ResourceID { return ecs.ResourceID[T](w) }

// IDs returns the ids of all components of a world.
func IDs(w *World) []ID { return ecs.ComponentIDs(w) }

// infoOf returns the type of a component, and whether it is a relation.
func infoOf(w *World, id ID) (t reflect.Type, relation bool) {
	info, _ := ecs.ComponentInfo(w, id)
	return info.Type, info.IsRelation
}

// All returns the set of some components. As a Matcher it selects sets that contain them.
func All(ids ...ID) Mask { return ecs.All(ids...) }

// Register makes a Filter of a Selection.
func Register(w *World, s Selection) Filter { return w.Cache().Register(&s) }

// Unregister drops a Filter.
func Unregister(w *World, f *Filter) { w.Cache().Unregister(f) }

// Open starts a walk over the tables of a Filter.
func Open(w *World, f *Filter) Query { return w.Query(f) }

// Select starts a walk over the tables of a Matcher.
func Select(w *World, m Matcher) Query { return w.Query(m) }

// RowKey returns an address that identifies the present row of a query, whose entity has the component. While it is kept,
// a query with the same address is at the same row of a table that has not grown: all its components are where they were.
// Arche never moves a buffer to another table, and allocates new ones when a table grows.
func RowKey(q *Query, id ID) Pointer { return q.Get(id) }

// MaskOf returns the components of an entity.
func MaskOf(w *World, e Entity) Mask { return w.Mask(e) }

// Has reports whether an entity has a component.
func Has(w *World, e Entity, id ID) bool { return w.Has(e, id) }

// Get returns a component of an entity, or nil.
func Get(w *World, e Entity, id ID) Pointer { return w.Get(e, id) }

// Target returns the target of an entity's relation.
func Target(w *World, e Entity, id ID) Entity { return w.Relations().Get(e, id) }

// SetTarget sets the target of an entity's relation.
func SetTarget(w *World, e Entity, id ID, target Entity) { w.Relations().Set(e, id, target) }

// Spawn creates an entity. fill, if not nil, is called before observers of the world see it.
func Spawn(w *World, fill func(Entity), ids ...ID) Entity { return w.NewEntityFn(fill, ids...) }

// SpawnBatch creates n entities in consecutive rows of a table and opens a query of them. It returns false if it must
// not: a listener that changes the new entities would break a batch, since Arche would continue with rows that have moved.
// Arche has no method that tells whether there is one, so SpawnBatch reads the field by reflection.
func SpawnBatch(w *World, n int, ids []ID) (q Query, ok bool) {
	listener := reflect.ValueOf(w).Elem().FieldByName("listener")
	if !listener.IsValid() || listener.Kind() != reflect.Interface || !listener.IsNil() {
		return q, false
	}
	q = w.Batch().NewQ(n, ids...)
	return q, true
}

// Exchange adds and removes components of an entity. fill is as for Spawn.
func Exchange(w *World, e Entity, add, remove []ID, fill func(Entity)) {
	w.ExchangeFn(e, add, remove, fill)
}

// AddAll adds a component to all entities of a Filter.
func AddAll(w *World, f *Filter, id ID) { w.Batch().Add(f, id) }

// RemoveAll removes all entities of a Filter and returns their number.
func RemoveAll(w *World, f *Filter) int { return w.Batch().RemoveEntities(f) }
