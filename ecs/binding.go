package netecs

import (
	"reflect"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
)

// binding says which component of a world each row of the schema is. Component
// ids are per world and given in the order of first use, so they never travel.
type binding struct {
	schema     *snapshot.Schema
	ids        []ecs.ID // by row
	replicated ecs.ID
	relations  snapshot.Mask // rows whose component is a relation
	unscanned  snapshot.Mask // rows that are captured by marks alone
	controls   *controls     // nil where control components are not looked at
}

// bind registers every component of the schema, since Arche cannot register
// one later while the world is locked.
func bind(w *ecs.World, schema *snapshot.Schema) binding {
	b := binding{schema: schema, replicated: ecs.ComponentID[components.Replicated](w)}
	for row := range schema.Rows() {
		id := ecs.TypeID(w, schema.Plan(row).Type())
		b.ids = append(b.ids, id)
		if info, ok := ecs.ComponentInfo(w, id); ok && info.IsRelation {
			b.relations = b.relations.With(row)
		}
	}
	return b
}

// rows are the schema's rows among the components of an Arche mask.
func (b *binding) rows(mask *ecs.Mask) snapshot.Mask {
	var m snapshot.Mask
	for row, id := range b.ids {
		if mask.Get(id) {
			m = m.With(row)
		}
	}
	return m
}

// hasRelation reports whether a mask has a relation component of any kind,
// replicated or not.
func hasRelation(w *ecs.World, mask *ecs.Mask) bool {
	for _, id := range ecs.ComponentIDs(w) {
		if !mask.Get(id) {
			continue
		}
		if info, ok := ecs.ComponentInfo(w, id); ok && info.IsRelation {
			return true
		}
	}
	return false
}

// blankLanes are the lanes of a component's zero value.
func blankLanes(plan *quantize.Plan) []uint32 {
	lanes := make([]uint32, plan.Lanes())
	plan.Quantise(reflect.New(plan.Type()).UnsafePointer(), lanes)
	return lanes
}
