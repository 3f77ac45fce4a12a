package netecs

import (
	"slices"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
)

// controls contains the ids of the control components in a world, by kind.
type controls [snapshot.ControlKinds]world.ID

// bindControls registers the control components with the world.
func bindControls(w *World) *controls {
	return &controls{
		snapshot.OwnerControl:    world.ComponentID[components.Owner](w),
		snapshot.GroupControl:    world.ComponentID[components.Group](w),
		snapshot.PriorityControl: world.ComponentID[components.Priority](w),
		snapshot.RateControl:     world.ComponentID[components.Rate](w),
	}
}

// kind returns the control kind of a component. Without controls it returns snapshot.NoControl.
func (b *controls) kind(id world.ID) snapshot.ControlKind {
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
func (b *controls) columns(w *World, t *table, mask *world.Mask) {
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

func controlSize(w *World, id world.ID) int {
	return int(world.TypeOf(w, id).Size())
}
