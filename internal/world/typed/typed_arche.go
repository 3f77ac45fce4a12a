//go:build !netcode_ark

package typed

import (
	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
)

// Comp is the type of a component, for filters.
type Comp = generic.Comp

// T returns the Comp of a type.
func T[A any]() Comp { return generic.T[A]() }

// T1 returns a list of one Comp.
func T1[A any]() []Comp { return generic.T1[A]() }

// Map reads one component.
type Map[T any] = generic.Map[T]

// NewMap returns a Map.
func NewMap[T any](w *ecs.World) Map[T] { return generic.NewMap[T](w) }

// Map1 is for entities with 1 component.
type Map1[A any] = generic.Map1[A]

// NewMap1 returns a Map1.
func NewMap1[A any](w *ecs.World, relation ...Comp) Map1[A] {
	return generic.NewMap1[A](w, relation...)
}

// Filter1 selects entities with 1 component.
type Filter1[A any] = generic.Filter1[A]

// NewFilter1 returns a Filter1.
func NewFilter1[A any]() *Filter1[A] { return generic.NewFilter1[A]() }

// Query1 is a walk over entities with 1 component.
type Query1[A any] = generic.Query1[A]

// Map2 is for entities with 2 components.
type Map2[A, B any] = generic.Map2[A, B]

// NewMap2 returns a Map2.
func NewMap2[A, B any](w *ecs.World, relation ...Comp) Map2[A, B] {
	return generic.NewMap2[A, B](w, relation...)
}

// Filter2 selects entities with 2 components.
type Filter2[A, B any] = generic.Filter2[A, B]

// NewFilter2 returns a Filter2.
func NewFilter2[A, B any]() *Filter2[A, B] { return generic.NewFilter2[A, B]() }

// Query2 is a walk over entities with 2 components.
type Query2[A, B any] = generic.Query2[A, B]

// Map3 is for entities with 3 components.
type Map3[A, B, C any] = generic.Map3[A, B, C]

// NewMap3 returns a Map3.
func NewMap3[A, B, C any](w *ecs.World, relation ...Comp) Map3[A, B, C] {
	return generic.NewMap3[A, B, C](w, relation...)
}

// Filter3 selects entities with 3 components.
type Filter3[A, B, C any] = generic.Filter3[A, B, C]

// NewFilter3 returns a Filter3.
func NewFilter3[A, B, C any]() *Filter3[A, B, C] { return generic.NewFilter3[A, B, C]() }

// Query3 is a walk over entities with 3 components.
type Query3[A, B, C any] = generic.Query3[A, B, C]

// Map4 is for entities with 4 components.
type Map4[A, B, C, D any] = generic.Map4[A, B, C, D]

// NewMap4 returns a Map4.
func NewMap4[A, B, C, D any](w *ecs.World, relation ...Comp) Map4[A, B, C, D] {
	return generic.NewMap4[A, B, C, D](w, relation...)
}

// Filter4 selects entities with 4 components.
type Filter4[A, B, C, D any] = generic.Filter4[A, B, C, D]

// NewFilter4 returns a Filter4.
func NewFilter4[A, B, C, D any]() *Filter4[A, B, C, D] { return generic.NewFilter4[A, B, C, D]() }

// Query4 is a walk over entities with 4 components.
type Query4[A, B, C, D any] = generic.Query4[A, B, C, D]

// Map5 is for entities with 5 components.
type Map5[A, B, C, D, E any] = generic.Map5[A, B, C, D, E]

// NewMap5 returns a Map5.
func NewMap5[A, B, C, D, E any](w *ecs.World, relation ...Comp) Map5[A, B, C, D, E] {
	return generic.NewMap5[A, B, C, D, E](w, relation...)
}

// Filter5 selects entities with 5 components.
type Filter5[A, B, C, D, E any] = generic.Filter5[A, B, C, D, E]

// NewFilter5 returns a Filter5.
func NewFilter5[A, B, C, D, E any]() *Filter5[A, B, C, D, E] {
	return generic.NewFilter5[A, B, C, D, E]()
}

// Query5 is a walk over entities with 5 components.
type Query5[A, B, C, D, E any] = generic.Query5[A, B, C, D, E]

// Map6 is for entities with 6 components.
type Map6[A, B, C, D, E, F any] = generic.Map6[A, B, C, D, E, F]

// NewMap6 returns a Map6.
func NewMap6[A, B, C, D, E, F any](w *ecs.World, relation ...Comp) Map6[A, B, C, D, E, F] {
	return generic.NewMap6[A, B, C, D, E, F](w, relation...)
}
