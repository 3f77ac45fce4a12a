package typed

import "github.com/arche-netcode/netcode/internal/world"

type (
	entity = world.Entity
	id     = world.ID
)

// mapper creates and changes entities with some components.
type mapper struct {
	w   *world.World
	ids []id
}

func id1[T any](w *world.World) id { return world.ComponentID[T](w) }

// New creates an entity with zero components, and with a target of the first relation if one is given.
func (m mapper) New(target ...entity) entity { return m.spawn(nil, target) }

// NewBatch creates n entities.
func (m mapper) NewBatch(n int) {
	for range n {
		m.New()
	}
}

func (m mapper) spawn(fill func(entity), target []entity) entity {
	e := world.Spawn(m.w, fill, m.ids...)
	for _, c := range m.ids {
		if len(target) > 0 && world.IsRelation(m.w, c) {
			world.SetTarget(m.w, e, c, target[0])
			break
		}
	}
	return e
}

// Add adds zero components.
func (m mapper) Add(e entity) { world.Exchange(m.w, e, m.ids, nil, nil) }

// Remove removes the components.
func (m mapper) Remove(e entity) { world.Exchange(m.w, e, nil, m.ids, nil) }

// at returns a component of an entity, or nil.
func at[T any](w *world.World, e entity, c id) *T { return (*T)(world.Get(w, e, c)) }

// Map reads one component.
type Map[T any] struct{ mapper }

// NewMap returns a Map.
func NewMap[T any](w *world.World) Map[T] { return Map[T]{mapper{w, []id{id1[T](w)}}} }

// Has reports whether an entity has the component.
func (m *Map[T]) Has(e entity) bool { return world.Has(m.w, e, m.ids[0]) }

// Get returns the component, or nil.
func (m *Map[T]) Get(e entity) *T { return at[T](m.w, e, m.ids[0]) }

// Set writes the component.
func (m *Map[T]) Set(e entity, v *T) *T {
	to := m.Get(e)
	*to = *v
	return to
}

// GetRelation returns the target of the relation.
func (m *Map[T]) GetRelation(e entity) entity { return world.Target(m.w, e, m.ids[0]) }

// SetRelation sets the target of the relation.
func (m *Map[T]) SetRelation(e, target entity) { world.SetTarget(m.w, e, m.ids[0], target) }

// Comp is the type of a component, for filters.
type Comp func(*world.World) id

// T returns the Comp of a type.
func T[A any]() Comp { return id1[A] }

// T1 returns a list of one Comp.
func T1[A any]() []Comp { return []Comp{T[A]()} }

// filter selects entities.
type filter struct {
	comps         []Comp
	with, without []Comp
	world         *world.World // of ids and all
	ids           []id
	all           world.Selection
}

// Filter returns the Matcher for a world.
func (f *filter) Filter(w *world.World) *world.Selection {
	if f.world != w {
		f.world, f.ids = w, idsOf(w, f.comps)
		mask := world.All(append(idsOf(w, f.with), f.ids...)...)
		f.all = mask.Without(idsOf(w, f.without)...)
	}
	return &f.all
}

func (f *filter) open(w *world.World) query {
	return query{world.Select(w, f.Filter(w)), f}
}

func idsOf(w *world.World, comps []Comp) (ids []id) {
	for _, c := range comps {
		ids = append(ids, c(w))
	}
	return ids
}

// query is a walk.
type query struct {
	world.Query
	of *filter
}

// Count returns the number of entities, by a walk of its own.
func (q *query) Count() (n int) {
	for all := world.Select(q.of.world, &q.of.all); all.Next(); {
		n++
	}
	return n
}

// Map1 is for entities with 1 component.
type Map1[A any] struct{ mapper }

// NewMap1 returns a Map1.
func NewMap1[A any](w *world.World, _ ...Comp) Map1[A] {
	return Map1[A]{mapper{w, []id{id1[A](w)}}}
}

// Get returns the components, nil for those that the entity lacks.
func (m *Map1[A]) Get(e entity) *A {
	return at[A](m.w, e, m.ids[0])
}

func (m *Map1[A]) fill(a *A) func(entity) {
	return func(of entity) {
		*at[A](m.w, of, m.ids[0]) = *a
	}
}

// NewWith creates an entity with these components.
func (m *Map1[A]) NewWith(a *A, target ...entity) entity {
	return m.spawn(m.fill(a), target)
}

// Assign adds the components to an entity.
func (m *Map1[A]) Assign(of entity, a *A) {
	world.Exchange(m.w, of, m.ids, nil, m.fill(a))
}

// Filter1 selects entities with 1 component.
type Filter1[A any] struct{ filter }

// NewFilter1 returns a Filter1.
func NewFilter1[A any]() *Filter1[A] {
	return &Filter1[A]{filter{comps: []Comp{T[A]()}}}
}

// With adds components that are not read.
func (f *Filter1[A]) With(comps ...Comp) *Filter1[A] {
	f.with = append(f.with, comps...)
	return f
}

// Without excludes components.
func (f *Filter1[A]) Without(comps ...Comp) *Filter1[A] {
	f.without = append(f.without, comps...)
	return f
}

// Query starts a walk.
func (f *Filter1[A]) Query(w *world.World) Query1[A] { return Query1[A]{f.open(w)} }

// Query1 is a walk over entities with 1 component.
type Query1[A any] struct{ query }

// Get returns the components of the present entity.
func (q *Query1[A]) Get() *A {
	return (*A)(q.Query.Get(q.of.ids[0]))
}

// Map2 is for entities with 2 components.
type Map2[A, B any] struct{ mapper }

// NewMap2 returns a Map2.
func NewMap2[A, B any](w *world.World, _ ...Comp) Map2[A, B] {
	return Map2[A, B]{mapper{w, []id{id1[A](w), id1[B](w)}}}
}

// Get returns the components, nil for those that the entity lacks.
func (m *Map2[A, B]) Get(e entity) (*A, *B) {
	return at[A](m.w, e, m.ids[0]), at[B](m.w, e, m.ids[1])
}

func (m *Map2[A, B]) fill(a *A, b *B) func(entity) {
	return func(of entity) {
		*at[A](m.w, of, m.ids[0]), *at[B](m.w, of, m.ids[1]) = *a, *b
	}
}

// NewWith creates an entity with these components.
func (m *Map2[A, B]) NewWith(a *A, b *B, target ...entity) entity {
	return m.spawn(m.fill(a, b), target)
}

// Assign adds the components to an entity.
func (m *Map2[A, B]) Assign(of entity, a *A, b *B) {
	world.Exchange(m.w, of, m.ids, nil, m.fill(a, b))
}

// Filter2 selects entities with 2 components.
type Filter2[A, B any] struct{ filter }

// NewFilter2 returns a Filter2.
func NewFilter2[A, B any]() *Filter2[A, B] {
	return &Filter2[A, B]{filter{comps: []Comp{T[A](), T[B]()}}}
}

// With adds components that are not read.
func (f *Filter2[A, B]) With(comps ...Comp) *Filter2[A, B] {
	f.with = append(f.with, comps...)
	return f
}

// Without excludes components.
func (f *Filter2[A, B]) Without(comps ...Comp) *Filter2[A, B] {
	f.without = append(f.without, comps...)
	return f
}

// Query starts a walk.
func (f *Filter2[A, B]) Query(w *world.World) Query2[A, B] { return Query2[A, B]{f.open(w)} }

// Query2 is a walk over entities with 2 components.
type Query2[A, B any] struct{ query }

// Get returns the components of the present entity.
func (q *Query2[A, B]) Get() (*A, *B) {
	return (*A)(q.Query.Get(q.of.ids[0])), (*B)(q.Query.Get(q.of.ids[1]))
}

// Map3 is for entities with 3 components.
type Map3[A, B, C any] struct{ mapper }

// NewMap3 returns a Map3.
func NewMap3[A, B, C any](w *world.World, _ ...Comp) Map3[A, B, C] {
	return Map3[A, B, C]{mapper{w, []id{id1[A](w), id1[B](w), id1[C](w)}}}
}

// Get returns the components, nil for those that the entity lacks.
func (m *Map3[A, B, C]) Get(e entity) (*A, *B, *C) {
	return at[A](m.w, e, m.ids[0]), at[B](m.w, e, m.ids[1]), at[C](m.w, e, m.ids[2])
}

func (m *Map3[A, B, C]) fill(a *A, b *B, c *C) func(entity) {
	return func(of entity) {
		*at[A](m.w, of, m.ids[0]), *at[B](m.w, of, m.ids[1]), *at[C](m.w, of, m.ids[2]) = *a, *b, *c
	}
}

// NewWith creates an entity with these components.
func (m *Map3[A, B, C]) NewWith(a *A, b *B, c *C, target ...entity) entity {
	return m.spawn(m.fill(a, b, c), target)
}

// Assign adds the components to an entity.
func (m *Map3[A, B, C]) Assign(of entity, a *A, b *B, c *C) {
	world.Exchange(m.w, of, m.ids, nil, m.fill(a, b, c))
}

// Filter3 selects entities with 3 components.
type Filter3[A, B, C any] struct{ filter }

// NewFilter3 returns a Filter3.
func NewFilter3[A, B, C any]() *Filter3[A, B, C] {
	return &Filter3[A, B, C]{filter{comps: []Comp{T[A](), T[B](), T[C]()}}}
}

// With adds components that are not read.
func (f *Filter3[A, B, C]) With(comps ...Comp) *Filter3[A, B, C] {
	f.with = append(f.with, comps...)
	return f
}

// Without excludes components.
func (f *Filter3[A, B, C]) Without(comps ...Comp) *Filter3[A, B, C] {
	f.without = append(f.without, comps...)
	return f
}

// Query starts a walk.
func (f *Filter3[A, B, C]) Query(w *world.World) Query3[A, B, C] { return Query3[A, B, C]{f.open(w)} }

// Query3 is a walk over entities with 3 components.
type Query3[A, B, C any] struct{ query }

// Get returns the components of the present entity.
func (q *Query3[A, B, C]) Get() (*A, *B, *C) {
	return (*A)(q.Query.Get(q.of.ids[0])), (*B)(q.Query.Get(q.of.ids[1])), (*C)(q.Query.Get(q.of.ids[2]))
}

// Map4 is for entities with 4 components.
type Map4[A, B, C, D any] struct{ mapper }

// NewMap4 returns a Map4.
func NewMap4[A, B, C, D any](w *world.World, _ ...Comp) Map4[A, B, C, D] {
	return Map4[A, B, C, D]{mapper{w, []id{id1[A](w), id1[B](w), id1[C](w), id1[D](w)}}}
}

// Get returns the components, nil for those that the entity lacks.
func (m *Map4[A, B, C, D]) Get(e entity) (*A, *B, *C, *D) {
	return at[A](m.w, e, m.ids[0]), at[B](m.w, e, m.ids[1]), at[C](m.w, e, m.ids[2]), at[D](m.w, e, m.ids[3])
}

func (m *Map4[A, B, C, D]) fill(a *A, b *B, c *C, d *D) func(entity) {
	return func(of entity) {
		*at[A](m.w, of, m.ids[0]), *at[B](m.w, of, m.ids[1]), *at[C](m.w, of, m.ids[2]), *at[D](m.w, of, m.ids[3]) = *a, *b, *c, *d
	}
}

// NewWith creates an entity with these components.
func (m *Map4[A, B, C, D]) NewWith(a *A, b *B, c *C, d *D, target ...entity) entity {
	return m.spawn(m.fill(a, b, c, d), target)
}

// Assign adds the components to an entity.
func (m *Map4[A, B, C, D]) Assign(of entity, a *A, b *B, c *C, d *D) {
	world.Exchange(m.w, of, m.ids, nil, m.fill(a, b, c, d))
}

// Filter4 selects entities with 4 components.
type Filter4[A, B, C, D any] struct{ filter }

// NewFilter4 returns a Filter4.
func NewFilter4[A, B, C, D any]() *Filter4[A, B, C, D] {
	return &Filter4[A, B, C, D]{filter{comps: []Comp{T[A](), T[B](), T[C](), T[D]()}}}
}

// With adds components that are not read.
func (f *Filter4[A, B, C, D]) With(comps ...Comp) *Filter4[A, B, C, D] {
	f.with = append(f.with, comps...)
	return f
}

// Without excludes components.
func (f *Filter4[A, B, C, D]) Without(comps ...Comp) *Filter4[A, B, C, D] {
	f.without = append(f.without, comps...)
	return f
}

// Query starts a walk.
func (f *Filter4[A, B, C, D]) Query(w *world.World) Query4[A, B, C, D] {
	return Query4[A, B, C, D]{f.open(w)}
}

// Query4 is a walk over entities with 4 components.
type Query4[A, B, C, D any] struct{ query }

// Get returns the components of the present entity.
func (q *Query4[A, B, C, D]) Get() (*A, *B, *C, *D) {
	return (*A)(q.Query.Get(q.of.ids[0])), (*B)(q.Query.Get(q.of.ids[1])), (*C)(q.Query.Get(q.of.ids[2])), (*D)(q.Query.Get(q.of.ids[3]))
}

// Map5 is for entities with 5 components.
type Map5[A, B, C, D, E any] struct{ mapper }

// NewMap5 returns a Map5.
func NewMap5[A, B, C, D, E any](w *world.World, _ ...Comp) Map5[A, B, C, D, E] {
	return Map5[A, B, C, D, E]{mapper{w, []id{id1[A](w), id1[B](w), id1[C](w), id1[D](w), id1[E](w)}}}
}

// Get returns the components, nil for those that the entity lacks.
func (m *Map5[A, B, C, D, E]) Get(e entity) (*A, *B, *C, *D, *E) {
	return at[A](m.w, e, m.ids[0]), at[B](m.w, e, m.ids[1]), at[C](m.w, e, m.ids[2]), at[D](m.w, e, m.ids[3]), at[E](m.w, e, m.ids[4])
}

func (m *Map5[A, B, C, D, E]) fill(a *A, b *B, c *C, d *D, e *E) func(entity) {
	return func(of entity) {
		*at[A](m.w, of, m.ids[0]), *at[B](m.w, of, m.ids[1]), *at[C](m.w, of, m.ids[2]), *at[D](m.w, of, m.ids[3]), *at[E](m.w, of, m.ids[4]) = *a, *b, *c, *d, *e
	}
}

// NewWith creates an entity with these components.
func (m *Map5[A, B, C, D, E]) NewWith(a *A, b *B, c *C, d *D, e *E, target ...entity) entity {
	return m.spawn(m.fill(a, b, c, d, e), target)
}

// Assign adds the components to an entity.
func (m *Map5[A, B, C, D, E]) Assign(of entity, a *A, b *B, c *C, d *D, e *E) {
	world.Exchange(m.w, of, m.ids, nil, m.fill(a, b, c, d, e))
}

// Filter5 selects entities with 5 components.
type Filter5[A, B, C, D, E any] struct{ filter }

// NewFilter5 returns a Filter5.
func NewFilter5[A, B, C, D, E any]() *Filter5[A, B, C, D, E] {
	return &Filter5[A, B, C, D, E]{filter{comps: []Comp{T[A](), T[B](), T[C](), T[D](), T[E]()}}}
}

// With adds components that are not read.
func (f *Filter5[A, B, C, D, E]) With(comps ...Comp) *Filter5[A, B, C, D, E] {
	f.with = append(f.with, comps...)
	return f
}

// Without excludes components.
func (f *Filter5[A, B, C, D, E]) Without(comps ...Comp) *Filter5[A, B, C, D, E] {
	f.without = append(f.without, comps...)
	return f
}

// Query starts a walk.
func (f *Filter5[A, B, C, D, E]) Query(w *world.World) Query5[A, B, C, D, E] {
	return Query5[A, B, C, D, E]{f.open(w)}
}

// Query5 is a walk over entities with 5 components.
type Query5[A, B, C, D, E any] struct{ query }

// Get returns the components of the present entity.
func (q *Query5[A, B, C, D, E]) Get() (*A, *B, *C, *D, *E) {
	return (*A)(q.Query.Get(q.of.ids[0])), (*B)(q.Query.Get(q.of.ids[1])), (*C)(q.Query.Get(q.of.ids[2])), (*D)(q.Query.Get(q.of.ids[3])), (*E)(q.Query.Get(q.of.ids[4]))
}
