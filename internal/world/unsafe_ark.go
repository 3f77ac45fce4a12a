//go:build netcode_ark

package world

import (
	"reflect"
	"unsafe"

	"github.com/mlange-42/ark/ecs"
)

// A Comp is a reflect.Type, and nothing else: else one of these lengths is negative.
type (
	_ [unsafe.Sizeof(ecs.Comp{}) - unsafe.Sizeof(*new(reflect.Type))]byte
	_ [unsafe.Sizeof(*new(reflect.Type)) - unsafe.Sizeof(ecs.Comp{})]byte
)

// compOf returns Ark's name of a component in a registered filter. Ark makes one of a static type only.
func compOf(t reflect.Type) ecs.Comp {
	// SAFETY: Comp's only field is a reflect.Type, which Comp.Type returns: a Comp that is built otherwise has another size, or
	// fails the comparison.
	c := *(*ecs.Comp)(unsafe.Pointer(&t))
	if c.Type() != t {
		panic("netcode: this version of Ark has another ecs.Comp: use v0.8.2")
	}
	return c
}
