//go:build netcode_ark

package typed

import (
	"github.com/mlange-42/ark/ecs"

	"github.com/arche-netcode/netcode/internal/world"
)

// Comp is the type of a component, for filters.
type Comp = ecs.Comp

// T returns the Comp of a type.
func T[A any]() Comp { return ecs.C[A]() }

// T1 returns a list of one Comp.
func T1[A any]() []Comp { return []Comp{T[A]()} }

func idsOf(w *world.World, comps []Comp) (ids []world.ID) {
	for _, c := range comps {
		ids = append(ids, world.TypeID(w, c.Type()))
	}
	return ids
}

// mapper creates and changes entities with some components.
type mapper struct {
	w   *world.World
	ids []world.ID
}

func mapperOf(w *world.World, comps ...Comp) mapper { return mapper{w, idsOf(w, comps)} }

// New creates an entity with zero components, and with a target of the first relation if one is given.
func (m *mapper) New(target ...world.Entity) world.Entity { return m.spawn(nil, target) }

// NewBatch creates n entities.
func (m *mapper) NewBatch(n int) {
	for range n {
		m.New()
	}
}

func (m *mapper) spawn(fill func(world.Entity), target []world.Entity) world.Entity {
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
func (m *mapper) Add(e world.Entity) { world.Exchange(m.w, e, m.ids, nil, nil) }

// Remove removes the components.
func (m *mapper) Remove(e world.Entity) { world.Exchange(m.w, e, nil, m.ids, nil) }

// Map reads one component.
type Map[T any] struct {
	mapper
	of *ecs.Map[T]
}

// NewMap returns a Map.
func NewMap[A any](w *world.World) Map[A] { return Map[A]{mapperOf(w, T[A]()), ecs.NewMap[A](w)} }

// Has reports whether an entity has the component.
func (m *Map[T]) Has(e world.Entity) bool { return m.of.Has(e) }

// Get returns the component, or nil.
func (m *Map[T]) Get(e world.Entity) *T { return m.of.Get(e) }

// Set writes the component.
func (m *Map[T]) Set(e world.Entity, v *T) *T {
	m.of.Set(e, v)
	return m.of.Get(e)
}

// GetRelation returns the target of the relation.
func (m *Map[T]) GetRelation(e world.Entity) world.Entity { return m.of.GetRelation(e) }

// SetRelation sets the target of the relation.
func (m *Map[T]) SetRelation(e, target world.Entity) { m.of.SetRelation(e, target) }

// filter selects entities.
type filter struct {
	comps         []Comp
	with, without []Comp
	world         *world.World // of the last Query
}

// Filter returns the Matcher for a world.
func (f *filter) Filter(w *world.World) *world.Selection {
	mask := world.All(append(idsOf(w, f.with), idsOf(w, f.comps)...)...)
	s := mask.Without(idsOf(w, f.without)...)
	return &s
}

// Map1 is for entities with 1 component.
type Map1[A any] struct {
	mapper
	of *ecs.Map1[A]
}

// NewMap1 returns a Map1.
func NewMap1[A any](w *world.World, _ ...Comp) Map1[A] {
	return Map1[A]{mapperOf(w, T[A]()), ecs.NewMap1[A](w)}
}

// Get returns the components, nil for those that the entity lacks.
func (m *Map1[A]) Get(e world.Entity) *A { return m.of.Get(e) }

func (m *Map1[A]) fill(a *A) func(world.Entity) {
	return func(of world.Entity) {
		toA := m.of.Get(of)
		*toA = *a
	}
}

// NewWith creates an entity with these components.
func (m *Map1[A]) NewWith(a *A, target ...world.Entity) world.Entity {
	return m.spawn(m.fill(a), target)
}

// Assign adds the components to an entity.
func (m *Map1[A]) Assign(to world.Entity, a *A) {
	world.Exchange(m.w, to, m.ids, nil, m.fill(a))
}

// Filter1 selects entities with 1 component.
type Filter1[A any] struct {
	filter
	of *ecs.Filter1[A]
}

// NewFilter1 returns a Filter1.
func NewFilter1[A any]() *Filter1[A] {
	return &Filter1[A]{filter: filter{comps: []Comp{T[A]()}}}
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
func (f *Filter1[A]) Query(w *world.World) Query1[A] {
	if f.world != w {
		f.world, f.of = w, ecs.NewFilter1[A](w).With(f.with...).Without(f.without...)
	}
	return f.of.Query()
}

// Query1 is a walk over entities with 1 component.
type Query1[A any] = ecs.Query1[A]

// Map2 is for entities with 2 components.
type Map2[A, B any] struct {
	mapper
	of *ecs.Map2[A, B]
}

// NewMap2 returns a Map2.
func NewMap2[A, B any](w *world.World, _ ...Comp) Map2[A, B] {
	return Map2[A, B]{mapperOf(w, T[A](), T[B]()), ecs.NewMap2[A, B](w)}
}

// Get returns the components, nil for those that the entity lacks.
func (m *Map2[A, B]) Get(e world.Entity) (*A, *B) { return m.of.Get(e) }

func (m *Map2[A, B]) fill(a *A, b *B) func(world.Entity) {
	return func(of world.Entity) {
		toA, toB := m.of.Get(of)
		*toA, *toB = *a, *b
	}
}

// NewWith creates an entity with these components.
func (m *Map2[A, B]) NewWith(a *A, b *B, target ...world.Entity) world.Entity {
	return m.spawn(m.fill(a, b), target)
}

// Assign adds the components to an entity.
func (m *Map2[A, B]) Assign(to world.Entity, a *A, b *B) {
	world.Exchange(m.w, to, m.ids, nil, m.fill(a, b))
}

// Filter2 selects entities with 2 components.
type Filter2[A, B any] struct {
	filter
	of *ecs.Filter2[A, B]
}

// NewFilter2 returns a Filter2.
func NewFilter2[A, B any]() *Filter2[A, B] {
	return &Filter2[A, B]{filter: filter{comps: []Comp{T[A](), T[B]()}}}
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
func (f *Filter2[A, B]) Query(w *world.World) Query2[A, B] {
	if f.world != w {
		f.world, f.of = w, ecs.NewFilter2[A, B](w).With(f.with...).Without(f.without...)
	}
	return f.of.Query()
}

// Query2 is a walk over entities with 2 components.
type Query2[A, B any] = ecs.Query2[A, B]

// Map3 is for entities with 3 components.
type Map3[A, B, C any] struct {
	mapper
	of *ecs.Map3[A, B, C]
}

// NewMap3 returns a Map3.
func NewMap3[A, B, C any](w *world.World, _ ...Comp) Map3[A, B, C] {
	return Map3[A, B, C]{mapperOf(w, T[A](), T[B](), T[C]()), ecs.NewMap3[A, B, C](w)}
}

// Get returns the components, nil for those that the entity lacks.
func (m *Map3[A, B, C]) Get(e world.Entity) (*A, *B, *C) { return m.of.Get(e) }

func (m *Map3[A, B, C]) fill(a *A, b *B, c *C) func(world.Entity) {
	return func(of world.Entity) {
		toA, toB, toC := m.of.Get(of)
		*toA, *toB, *toC = *a, *b, *c
	}
}

// NewWith creates an entity with these components.
func (m *Map3[A, B, C]) NewWith(a *A, b *B, c *C, target ...world.Entity) world.Entity {
	return m.spawn(m.fill(a, b, c), target)
}

// Assign adds the components to an entity.
func (m *Map3[A, B, C]) Assign(to world.Entity, a *A, b *B, c *C) {
	world.Exchange(m.w, to, m.ids, nil, m.fill(a, b, c))
}

// Filter3 selects entities with 3 components.
type Filter3[A, B, C any] struct {
	filter
	of *ecs.Filter3[A, B, C]
}

// NewFilter3 returns a Filter3.
func NewFilter3[A, B, C any]() *Filter3[A, B, C] {
	return &Filter3[A, B, C]{filter: filter{comps: []Comp{T[A](), T[B](), T[C]()}}}
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
func (f *Filter3[A, B, C]) Query(w *world.World) Query3[A, B, C] {
	if f.world != w {
		f.world, f.of = w, ecs.NewFilter3[A, B, C](w).With(f.with...).Without(f.without...)
	}
	return f.of.Query()
}

// Query3 is a walk over entities with 3 components.
type Query3[A, B, C any] = ecs.Query3[A, B, C]

// Map4 is for entities with 4 components.
type Map4[A, B, C, D any] struct {
	mapper
	of *ecs.Map4[A, B, C, D]
}

// NewMap4 returns a Map4.
func NewMap4[A, B, C, D any](w *world.World, _ ...Comp) Map4[A, B, C, D] {
	return Map4[A, B, C, D]{mapperOf(w, T[A](), T[B](), T[C](), T[D]()), ecs.NewMap4[A, B, C, D](w)}
}

// Get returns the components, nil for those that the entity lacks.
func (m *Map4[A, B, C, D]) Get(e world.Entity) (*A, *B, *C, *D) { return m.of.Get(e) }

func (m *Map4[A, B, C, D]) fill(a *A, b *B, c *C, d *D) func(world.Entity) {
	return func(of world.Entity) {
		toA, toB, toC, toD := m.of.Get(of)
		*toA, *toB, *toC, *toD = *a, *b, *c, *d
	}
}

// NewWith creates an entity with these components.
func (m *Map4[A, B, C, D]) NewWith(a *A, b *B, c *C, d *D, target ...world.Entity) world.Entity {
	return m.spawn(m.fill(a, b, c, d), target)
}

// Assign adds the components to an entity.
func (m *Map4[A, B, C, D]) Assign(to world.Entity, a *A, b *B, c *C, d *D) {
	world.Exchange(m.w, to, m.ids, nil, m.fill(a, b, c, d))
}

// Filter4 selects entities with 4 components.
type Filter4[A, B, C, D any] struct {
	filter
	of *ecs.Filter4[A, B, C, D]
}

// NewFilter4 returns a Filter4.
func NewFilter4[A, B, C, D any]() *Filter4[A, B, C, D] {
	return &Filter4[A, B, C, D]{filter: filter{comps: []Comp{T[A](), T[B](), T[C](), T[D]()}}}
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
	if f.world != w {
		f.world, f.of = w, ecs.NewFilter4[A, B, C, D](w).With(f.with...).Without(f.without...)
	}
	return f.of.Query()
}

// Query4 is a walk over entities with 4 components.
type Query4[A, B, C, D any] = ecs.Query4[A, B, C, D]

// Map5 is for entities with 5 components.
type Map5[A, B, C, D, E any] struct {
	mapper
	of *ecs.Map5[A, B, C, D, E]
}

// NewMap5 returns a Map5.
func NewMap5[A, B, C, D, E any](w *world.World, _ ...Comp) Map5[A, B, C, D, E] {
	return Map5[A, B, C, D, E]{mapperOf(w, T[A](), T[B](), T[C](), T[D](), T[E]()), ecs.NewMap5[A, B, C, D, E](w)}
}

// Get returns the components, nil for those that the entity lacks.
func (m *Map5[A, B, C, D, E]) Get(e world.Entity) (*A, *B, *C, *D, *E) { return m.of.Get(e) }

func (m *Map5[A, B, C, D, E]) fill(a *A, b *B, c *C, d *D, e *E) func(world.Entity) {
	return func(of world.Entity) {
		toA, toB, toC, toD, toE := m.of.Get(of)
		*toA, *toB, *toC, *toD, *toE = *a, *b, *c, *d, *e
	}
}

// NewWith creates an entity with these components.
func (m *Map5[A, B, C, D, E]) NewWith(a *A, b *B, c *C, d *D, e *E, target ...world.Entity) world.Entity {
	return m.spawn(m.fill(a, b, c, d, e), target)
}

// Assign adds the components to an entity.
func (m *Map5[A, B, C, D, E]) Assign(to world.Entity, a *A, b *B, c *C, d *D, e *E) {
	world.Exchange(m.w, to, m.ids, nil, m.fill(a, b, c, d, e))
}

// Filter5 selects entities with 5 components.
type Filter5[A, B, C, D, E any] struct {
	filter
	of *ecs.Filter5[A, B, C, D, E]
}

// NewFilter5 returns a Filter5.
func NewFilter5[A, B, C, D, E any]() *Filter5[A, B, C, D, E] {
	return &Filter5[A, B, C, D, E]{filter: filter{comps: []Comp{T[A](), T[B](), T[C](), T[D](), T[E]()}}}
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
	if f.world != w {
		f.world, f.of = w, ecs.NewFilter5[A, B, C, D, E](w).With(f.with...).Without(f.without...)
	}
	return f.of.Query()
}

// Query5 is a walk over entities with 5 components.
type Query5[A, B, C, D, E any] = ecs.Query5[A, B, C, D, E]

// Map6 is for entities with 6 components.
type Map6[A, B, C, D, E, F any] struct {
	mapper
	of *ecs.Map6[A, B, C, D, E, F]
}

// NewMap6 returns a Map6.
func NewMap6[A, B, C, D, E, F any](w *world.World, _ ...Comp) Map6[A, B, C, D, E, F] {
	return Map6[A, B, C, D, E, F]{mapperOf(w, T[A](), T[B](), T[C](), T[D](), T[E](), T[F]()), ecs.NewMap6[A, B, C, D, E, F](w)}
}

// Get returns the components, nil for those that the entity lacks.
func (m *Map6[A, B, C, D, E, F]) Get(e world.Entity) (*A, *B, *C, *D, *E, *F) { return m.of.Get(e) }

func (m *Map6[A, B, C, D, E, F]) fill(a *A, b *B, c *C, d *D, e *E, f *F) func(world.Entity) {
	return func(of world.Entity) {
		toA, toB, toC, toD, toE, toF := m.of.Get(of)
		*toA, *toB, *toC, *toD, *toE, *toF = *a, *b, *c, *d, *e, *f
	}
}

// NewWith creates an entity with these components.
func (m *Map6[A, B, C, D, E, F]) NewWith(a *A, b *B, c *C, d *D, e *E, f *F, target ...world.Entity) world.Entity {
	return m.spawn(m.fill(a, b, c, d, e, f), target)
}

// Assign adds the components to an entity.
func (m *Map6[A, B, C, D, E, F]) Assign(to world.Entity, a *A, b *B, c *C, d *D, e *E, f *F) {
	world.Exchange(m.w, to, m.ids, nil, m.fill(a, b, c, d, e, f))
}
