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

// controls contains the ids of the control components in a world, by kind.
type controls [snapshot.ControlKinds]ecs.ID

// bindControls registers the control components with the world.
func bindControls(w *ecs.World) *controls {
	return &controls{
		snapshot.OwnerControl:    ecs.ComponentID[components.Owner](w),
		snapshot.GroupControl:    ecs.ComponentID[components.Group](w),
		snapshot.PriorityControl: ecs.ComponentID[components.Priority](w),
		snapshot.RateControl:     ecs.ComponentID[components.Rate](w),
	}
}

// kind returns the control kind of a component. Without controls it returns snapshot.NoControl.
func (b *controls) kind(id ecs.ID) snapshot.ControlKind {
	if b != nil {
		for k := snapshot.OwnerControl; k < snapshot.ControlKinds; k++ {
			if b[k] == id {
				return k
			}
		}
	}
	return snapshot.NoControl
}

// columns adds a column for each control component of a mask that is not in the schema, so that scans notice writes to
// it. It sorts control columns first: a new rate then affects the components that were written with it.
func (b *controls) columns(w *ecs.World, t *table, mask *ecs.Mask) {
	if b == nil {
		return
	}
	for k := snapshot.OwnerControl; k < snapshot.ControlKinds; k++ {
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

// control passes the value of a control component to the store.
func (c *Capture) control(id wire.NetworkID, col *column, row int) {
	c.controlled = grown(c.controlled, int(id.Index))
	c.controlled[id.Index] |= 1 << col.control
	control := snapshot.Control{Kind: col.control}
	switch col.control {
	case snapshot.OwnerControl:
		control.Value = uint32(controlOf[components.Owner](col, row).Client)
	case snapshot.GroupControl:
		control.Value = controlOf[components.Group](col, row).ID
	case snapshot.RateControl:
		control.Value = uint32(controlOf[components.Rate](col, row).Every)
	case snapshot.PriorityControl:
		weight, reason := snapshot.WeightOf(controlOf[components.Priority](col, row).Weight)
		if reason != wire.NoFault {
			c.noteWeight(id, reason)
		}
		if reason == wire.NotFinite {
			return
		}
		control.Value = uint32(weight)
	}
	c.store.SetControl(id, control)
}

// uncontrol resets the controls that an entity no longer has. now has bit k set for each control of kind k that it has.
func (c *Capture) uncontrol(id wire.NetworkID, now uint8) {
	if uint(id.Index) >= uint(len(c.controlled)) || c.controlled[id.Index]&^now == 0 {
		return
	}
	gone := c.controlled[id.Index] &^ now
	c.controlled[id.Index] &= now
	for k := snapshot.OwnerControl; k < snapshot.ControlKinds; k++ {
		if gone>>k&1 != 0 {
			c.store.SetControl(id, snapshot.Control{Kind: k}.Default())
		}
	}
}

// noteWeight reports an invalid priority once for each entity.
func (c *Capture) noteWeight(id wire.NetworkID, reason wire.FaultReason) {
	if c.reported[id.Index].weight {
		return
	}
	c.reported[id.Index].weight = true
	detail := ""
	if reason == wire.OutOfRange {
		detail = "a priority is 0 to 255"
	}
	c.tracker.note(Problem{
		Kind: kindOf(reason), Entity: id, Local: c.tracker.entry(id).entity,
		Component: reflect.TypeFor[components.Priority]().Name(), Field: "Weight", Detail: detail,
	})
}
