//go:build netcode_ark

package world

import (
	"reflect"

	"github.com/mlange-42/ark/ecs"
)

// Name is the name of the ECS, for errors.
const Name = "Ark"

// Marker is the first field of a relation, for errors.
const Marker = "ecs.RelationMarker of github.com/mlange-42/ark/ecs"

// Other names the way to the other ECS, for errors.
const Other = "a build without the tag netcode_ark is for Arche"

// SeveralRelations reports whether an entity may have more than one relation.
const SeveralRelations = true

type (
	// World contains entities and their components.
	World = ecs.World
	// Entity is the handle of an entity in one world.
	Entity = ecs.Entity
	// ID is a component in one world.
	ID = ecs.ID
	// ResourceID is a resource in one world.
	ResourceID = ecs.ResID
)

// Mask is a set of components. Ark has such sets, but does not show them.
type Mask struct{ bits [4]uint64 }

// Matcher selects component sets.
type Matcher interface {
	// Matches reports whether a set is selected.
	Matches(*Mask) bool
}

// Selection is a Matcher of sets that include some components and exclude others.
type Selection struct{ include, exclude Mask }

// Filter is a Matcher that is registered with a world.
type Filter struct {
	filter *ecs.Filter0
	life   *life // of the world when it was registered
}

// Query is a walk over entities.
type Query struct {
	world    *World
	query    ecs.Query0
	matcher  Matcher  // nil: of a Filter
	life     *life    // of the world, with a Matcher
	entities []Entity // of the present table
	row      int
	mask     Mask // of the present table, if masked
	masked   bool
}

// life is a resource: World.Reset drops it, with all filters.
type life struct {
	everything *ecs.Filter0
	mask       Mask // argument of Matchers: that of a local query would be on the heap
}

func lifeOf(w *World) *life {
	id := ecs.ResourceID[life](w)
	l, _ := w.Resources().Get(id).(*life)
	if l == nil {
		l = &life{everything: ecs.NewFilter0(w)}
		w.Resources().Add(id, l)
	}
	return l
}

// New returns an empty world, with room for so many entities.
func New(capacity ...int) *World { return ecs.NewWorld(capacity...) }

// Generation returns the generation of a handle.
func Generation(e Entity) uint32 { return e.Gen() }

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
func All(ids ...ID) (m Mask) {
	for _, id := range ids {
		m.Set(id, true)
	}
	return m
}

// Get reports whether a set has a component.
func (m *Mask) Get(id ID) bool { return m.bits[id.Index()>>6]>>(id.Index()&63)&1 != 0 }

// Set adds a component, or removes it.
func (m *Mask) Set(id ID, value bool) {
	if word, bit := &m.bits[id.Index()>>6], uint64(1)<<(id.Index()&63); value {
		*word |= bit
	} else {
		*word &^= bit
	}
}

// IsZero reports whether a set is empty.
func (m *Mask) IsZero() bool { return *m == Mask{} }

// Not returns all components that are not in the set.
func (m *Mask) Not() (not Mask) {
	for i, word := range m.bits {
		not.bits[i] = ^word
	}
	return not
}

// And returns the components that both sets have.
func (m *Mask) And(other *Mask) (both Mask) {
	for i, word := range m.bits {
		both.bits[i] = word & other.bits[i]
	}
	return both
}

// ContainsAny reports whether the sets have a component in common.
func (m *Mask) ContainsAny(other *Mask) bool {
	both := m.And(other)
	return !both.IsZero()
}

// Matches implements Matcher.
func (m Mask) Matches(set *Mask) bool { return set.And(&m) == m }

// Without returns a Selection of sets that contain the set and none of these components.
func (m Mask) Without(ids ...ID) Selection { return Selection{m, All(ids...)} }

// Exclusive returns a Selection of this set alone.
func (m Mask) Exclusive() Selection { return Selection{m, m.Not()} }

// Matches implements Matcher.
func (s *Selection) Matches(set *Mask) bool {
	return s.include.Matches(set) && !set.ContainsAny(&s.exclude)
}

// Register makes a Filter of a Selection.
func Register(w *World, s Selection) Filter {
	filter := ecs.NewFilter0(w)
	for _, id := range IDs(w) {
		if s.include.Get(id) {
			filter.With(compOf(TypeOf(w, id)))
		}
	}
	if s.exclude == s.include.Not() {
		filter.Exclusive()
	} else {
		for _, id := range IDs(w) {
			if s.exclude.Get(id) {
				filter.Without(compOf(TypeOf(w, id)))
			}
		}
	}
	return Filter{filter.Register(), lifeOf(w)}
}

// Unregister drops a Filter.
func Unregister(w *World, f *Filter) {
	if f.life == lifeOf(w) {
		f.filter.Unregister()
	}
}

// Open starts a walk over the tables of a Filter.
func Open(w *World, f *Filter) Query { return Query{world: w, query: f.filter.Query()} }

// Select starts a walk over the tables of a Matcher.
func Select(w *World, m Matcher) Query {
	l := lifeOf(w)
	return Query{world: w, query: l.everything.Query(), matcher: m, life: l}
}

// Next moves to the next entity. At the end it closes the query.
func (q *Query) Next() bool {
	if q.row++; q.row < len(q.entities) {
		return true
	}
	return q.nextTable()
}

// nextTable moves to the first entity of the next table.
func (q *Query) nextTable() bool {
	for q.row = 0; q.query.NextTable(); {
		if q.entities, q.masked = q.query.Entities(), false; q.matcher == nil {
			return true
		}
		if q.life.mask = q.Mask(); q.matcher.Matches(&q.life.mask) {
			return true
		}
	}
	q.entities = nil
	return false
}

// Step moves by n entities. At the end it closes the query.
func (q *Query) Step(n int) bool {
	for q.row+n >= len(q.entities) {
		n -= len(q.entities) - q.row
		if !q.nextTable() {
			return false
		}
	}
	q.row += n
	return true
}

// Close ends the walk and unlocks the world.
func (q *Query) Close() { q.query.Close() }

// Count returns the number of entities of a Filter.
func (q *Query) Count() int { return q.query.Count() }

// Entity returns the present entity.
func (q *Query) Entity() Entity { return q.entities[q.row] }

// EntityAt returns the entity of a row of the present table, before the first Next of the whole walk.
func (q *Query) EntityAt(row int) Entity {
	if q.entities == nil {
		return q.query.EntityAt(row)
	}
	return q.entities[row]
}

// Mask returns the components of the present entity.
func (q *Query) Mask() Mask {
	if !q.masked {
		q.mask, q.masked = MaskOf(q.world, q.entities[0]), true
	}
	return q.mask
}

// Has reports whether the present entity has a component.
func (q *Query) Has(id ID) bool { return q.world.Unsafe().HasUnchecked(q.entities[q.row], id) }

// Get returns a component that the present entity has.
func (q *Query) Get(id ID) Pointer { return q.world.Unsafe().GetUnchecked(q.entities[q.row], id) }

// Relation returns the target of a relation that the present entity has.
func (q *Query) Relation(id ID) Entity {
	return q.world.Unsafe().GetRelationUnchecked(q.entities[q.row], id)
}

// RowKey returns an address that identifies the present row of a query, whose entity has the component. While it is kept,
// a query with the same address is at the same row of a table that has not grown: all its components are where they were.
// Ark never moves a buffer to another archetype, and allocates all of a table anew when it grows or shrinks. A table that
// is reused for another target keeps its buffers.
func RowKey(q *Query, _ ID) Pointer { return Pointer(&q.entities[q.row]) }

// MaskOf returns the components of an entity.
func MaskOf(w *World, e Entity) (m Mask) {
	ids := w.Unsafe().IDs(e)
	for i := range ids.Len() {
		m.Set(ids.Get(i), true)
	}
	return m
}

// Has reports whether an entity has a component.
func Has(w *World, e Entity, id ID) bool { return w.Unsafe().Has(e, id) }

// Get returns a component of an entity, or nil.
func Get(w *World, e Entity, id ID) Pointer {
	if u := w.Unsafe(); u.Has(e, id) {
		return u.GetUnchecked(e, id)
	}
	return nil
}

// Target returns the target of an entity's relation.
func Target(w *World, e Entity, id ID) Entity { return w.Unsafe().GetRelation(e, id) }

// SetTarget sets the target of an entity's relation.
func SetTarget(w *World, e Entity, id ID, target Entity) {
	w.Unsafe().SetRelations(e, ecs.RelID(id, target))
}

// Spawn creates an entity. fill, if not nil, writes its components. Ark has told its observers of the entity before, and
// one of them may have removed it.
func Spawn(w *World, fill func(Entity), ids ...ID) Entity {
	e := w.Unsafe().NewEntityRel(ids, noTargets(w, ids)...)
	if fill != nil && w.Alive(e) {
		fill(e)
	}
	return e
}

// noTargets returns a relation without a target for each id that is one: Ark wants them when it adds the component.
func noTargets(w *World, ids []ID) (list []ecs.Relation) {
	for _, id := range ids {
		if IsRelation(w, id) {
			list = append(list, ecs.RelID(id, Entity{}))
		}
	}
	return list
}

// SpawnBatch creates n entities in consecutive rows of a table and opens a query of them. It returns false if it cannot:
// Ark has no batches of components that are known at run time only.
func SpawnBatch(*World, int, []ID) (q Query, ok bool) { return q, false }

// Exchange adds and removes components of an entity. fill is as for Spawn.
func Exchange(w *World, e Entity, add, remove []ID, fill func(Entity)) {
	w.Unsafe().Exchange(e, add, remove, noTargets(w, add)...)
	if fill != nil && w.Alive(e) {
		fill(e)
	}
}

// AddAll adds a component to all entities of a Filter.
func AddAll(w *World, f *Filter, id ID) {
	var list []Entity
	for q := Open(w, f); q.Next(); {
		list = append(list, q.Entity())
	}
	add := []ID{id}
	for _, e := range list {
		if w.Alive(e) && !Has(w, e, id) {
			Exchange(w, e, add, nil, nil)
		}
	}
}

// RemoveAll removes all entities of a Filter and returns their number.
func RemoveAll(w *World, f *Filter) int {
	q := Open(w, f)
	n := q.Count()
	q.Close()
	w.RemoveEntities(f.filter.Batch(), nil)
	return n
}
