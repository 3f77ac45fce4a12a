package netecs

import (
	"reflect"
	"slices"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// controlKind says which of the components that control replication one is.
type controlKind uint8

const (
	noControl controlKind = iota
	ownerControl
	groupControl
	priorityControl
	rateControl
	controlKinds
)

// controls are the ids of the control components in a world, by kind.
type controls [controlKinds]ecs.ID

// bindControls registers the control components with the world.
func bindControls(w *ecs.World) *controls {
	return &controls{
		ownerControl:    ecs.ComponentID[components.Owner](w),
		groupControl:    ecs.ComponentID[components.Group](w),
		priorityControl: ecs.ComponentID[components.Priority](w),
		rateControl:     ecs.ComponentID[components.Rate](w),
	}
}

// kind says whether a component is a control. Without controls, none is.
func (b *controls) kind(id ecs.ID) controlKind {
	if b != nil {
		for k := ownerControl; k < controlKinds; k++ {
			if b[k] == id {
				return k
			}
		}
	}
	return noControl
}

// columns adds a column for each control of a mask that the schema does not
// have, so that a write to it is noticed like any other. Controls come first: a
// new rate counts for what was written with it.
func (b *controls) columns(w *ecs.World, t *table, mask *ecs.Mask) {
	if b == nil {
		return
	}
	for k := ownerControl; k < controlKinds; k++ {
		if !mask.Get(b[k]) {
			continue
		}
		t.controls |= 1 << k
		known := false
		for i := range t.columns {
			known = known || t.columns[i].control == k
		}
		if !known {
			size := controlSize(w, b[k])
			t.columns = append(t.columns, column{id: b[k], row: -1, size: size, compare: quantize.NewRows(size), control: k})
		}
	}
	slices.SortStableFunc(t.columns, func(x, y column) int { return int(y.control) - int(x.control) })
}

func controlSize(w *ecs.World, id ecs.ID) int {
	info, _ := ecs.ComponentInfo(w, id)
	return int(info.Type.Size())
}

// control tells the store what a control component says.
func (c *Capture) control(id wire.NetworkID, col *column, row int) {
	c.controlled = extended(c.controlled, int(id.Index))
	c.controlled[id.Index] |= 1 << col.control
	switch col.control {
	case ownerControl:
		c.store.SetOwner(id, controlOf[components.Owner](col, row).Client)
	case groupControl:
		c.store.SetGroup(id, controlOf[components.Group](col, row).ID)
	case rateControl:
		c.pace.set(id.Index, controlOf[components.Rate](col, row).Every)
	case priorityControl:
		weight, reason := snapshot.WeightOf(controlOf[components.Priority](col, row).Weight)
		if reason != wire.NotFinite {
			c.store.SetPriority(id, weight)
		}
		if reason != wire.NoFault {
			c.noteWeight(id, reason)
		}
	}
}

// uncontrol undoes what the control components said that an entity no longer has.
func (c *Capture) uncontrol(id wire.NetworkID, now uint8) {
	if int(id.Index) >= len(c.controlled) || c.controlled[id.Index]&^now == 0 {
		return
	}
	gone := c.controlled[id.Index] &^ now
	c.controlled[id.Index] &= now
	for k := ownerControl; k < controlKinds; k++ {
		if gone>>k&1 == 0 {
			continue
		}
		switch k {
		case ownerControl:
			c.store.SetOwner(id, 0)
		case groupControl:
			c.store.SetGroup(id, 0)
		case priorityControl:
			c.store.SetPriority(id, snapshot.NormalWeight)
		case rateControl:
			c.pace.set(id.Index, 0)
		}
	}
}

// noteWeight reports once for each entity that its priority is none.
func (c *Capture) noteWeight(id wire.NetworkID, reason wire.FaultReason) {
	if c.known[id.Index].weight {
		return
	}
	c.known[id.Index].weight = true
	detail := ""
	if reason == wire.OutOfRange {
		detail = "a priority is 0 to 255"
	}
	c.watch.note(Problem{
		Kind: kindOf(reason), Entity: id, Local: c.watch.at(id).entity,
		Component: reflect.TypeFor[components.Priority]().Name(), Field: "Weight", Detail: detail,
	})
}

// HasKind reports whether a schema replicates components.Kind, so that clients
// learn of what kind an entity is.
func HasKind(schema *snapshot.Schema) bool {
	for row := range schema.Rows() {
		if schema.Plan(row).Type() == reflect.TypeFor[components.Kind]() {
			return true
		}
	}
	return false
}
