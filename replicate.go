package netcode

import (
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Replicate registers component T: on every entity that carries components.Replicated, T is sent to the clients. Call
// it on both sides. T must be blittable; struct tags say how its fields travel (see wire.Compile). Replicate panics,
// naming the type and the field, on a type that cannot travel, on a wire name or a type that is registered already,
// and on a frozen protocol.
func Replicate[T any](p *Protocol, options ...Option) {
	t := reflect.TypeFor[T]()
	p.mustBeOpen("Replicate", t)
	mustNotRelate(t)
	r := register("Replicate", t, options)
	if r.last != "" {
		panic(fmt.Sprintf("netcode: Replicate[%s]: %s is for messages: components are applied in %s", t, r.last, tick.EarlyUpdate))
	}
	if t == reflect.TypeFor[components.Replicated]() {
		panic("netcode: Replicate[components.Replicated]: netcode writes this component itself and never sends it")
	}
	if len(p.components) == snapshot.MaxRows {
		panic(fmt.Sprintf("netcode: Replicate[%s]: a protocol holds at most %d components", t, snapshot.MaxRows))
	}
	plan := compile("Replicate", t, r.name)
	for _, other := range p.components {
		mustDiffer("Replicate", t, r.name, other.Type(), other.Name())
	}
	p.components = append(p.components, plan)
}

// mustNotRelate panics for a component with Arche's relation: the target is not a field and would be lost on the way.
func mustNotRelate(t reflect.Type) {
	if t.Kind() != reflect.Struct || t.NumField() == 0 {
		return
	}
	if f := t.Field(0); f.Type.Name() == "Relation" && f.Type.PkgPath() == "github.com/mlange-42/arche/ecs" {
		panic(fmt.Sprintf("netcode: Replicate[%s]: relations do not replicate yet: the target would be lost", t))
	}
}

// compile turns T into its list of fields, or panics with the field that cannot travel.
func compile(call string, t reflect.Type, name string) *wire.Plan {
	plan, err := wire.Compile(t, name)
	if err != nil {
		panic(fmt.Sprintf("netcode: %s[%s]: %v", call, t, err))
	}
	return plan
}

// mustDiffer panics when two registrations share a wire name or a type.
func mustDiffer(call string, t reflect.Type, name string, other reflect.Type, otherName string) {
	if t == other {
		panic(fmt.Sprintf("netcode: %s[%s]: this type is registered already, as %q", call, t, otherName))
	}
	if name == otherName {
		panic(fmt.Sprintf("netcode: %s[%s]: the wire name %q is taken by %s: use the option Named", call, t, name, other))
	}
}
