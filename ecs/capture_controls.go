package netecs

import (
	"slices"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
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
