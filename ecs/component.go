package netecs

import (
	"encoding/binary"
	"reflect"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// component is one component of one entity as it is compared and hashed: the
// same on every machine, which handles are not. It is for tools.
type component struct {
	plan   *quantize.Plan
	value  reflect.Value  // a pointer to it, network ids standing where handles do
	target wire.NetworkID // of a relation
}

// append appends the bytes of the fields that travel.
func (c component) append(b []byte) []byte {
	b = c.plan.AppendFields(b, c.value.UnsafePointer())
	if _, ok := c.plan.Target(); ok {
		b = binary.LittleEndian.AppendUint32(b, c.target.Index)
		b = binary.LittleEndian.AppendUint32(b, c.target.Generation)
	}
	return b
}

// held is room for one component of each row.
func held(schema *snapshot.Schema) (list []reflect.Value) {
	for row := range schema.Rows() {
		list = append(list, reflect.New(schema.Plan(row).Type()))
	}
	return list
}

// sight gives the components that a client has when it holds what a store
// holds of the visible entities.
type sight struct {
	store   *snapshot.Store
	schema  *snapshot.Schema
	visible func(wire.NetworkID) bool
	held    []reflect.Value
	lanes   []uint32
}

func newSight(store *snapshot.Store, schema *snapshot.Schema, visible func(wire.NetworkID) bool) sight {
	return sight{store: store, schema: schema, visible: visible, held: held(schema)}
}

// of is a component, valid until the next call for the same row.
func (s *sight) of(id wire.NetworkID, row int) component {
	c := component{plan: s.schema.Plan(row), value: s.held[row]}
	s.lanes = append(s.lanes[:0], s.store.Row(id, row)...)
	for _, lane := range c.plan.Refs() {
		named := wire.NetworkID{Index: s.lanes[lane], Generation: s.lanes[lane+1]}
		if !s.store.Alive(named) || s.visible != nil && !s.visible(named) {
			s.lanes[lane], s.lanes[lane+1] = 0, 0
		}
	}
	if lane, ok := c.plan.Target(); ok {
		c.target = wire.NetworkID{Index: s.lanes[lane], Generation: s.lanes[lane+1]}
	}
	c.plan.Dequantise(s.lanes, c.value.UnsafePointer())
	return c
}

// names gives the components of a world by the network ids that its entities have.
type names struct {
	world *ecs.World
	*binding
	held  []reflect.Value
	named map[handle]wire.NetworkID // looked up only
}

func newNames(w *ecs.World, b *binding, list []known) names {
	n := names{world: w, binding: b, held: held(b.schema), named: map[handle]wire.NetworkID{}}
	for _, k := range list {
		n.named[handleOf(k.entity)] = k.id
	}
	return n
}

// of is a component that an entity has, valid until the next call for the same row.
func (n *names) of(e ecs.Entity, row int) component {
	c := component{plan: n.schema.Plan(row), value: n.held[row]}
	c.value.Elem().Set(reflect.NewAt(c.plan.Type(), n.world.Get(e, n.ids[row])).Elem())
	c.plan.MapHandles(c.value.UnsafePointer(), func(h wire.NetworkID) wire.NetworkID {
		return n.named[handle{h.Index, h.Generation}]
	})
	if _, ok := c.plan.Target(); ok {
		c.target = n.named[handleOf(n.world.Relations().Get(e, n.ids[row]))]
	}
	return c
}
