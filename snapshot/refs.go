package snapshot

import (
	"slices"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// referrers knows which entities name which others in fields of kind entity.
type referrers struct {
	of      [][]uint32 // by index of the target: indexes that name it, ascending, once for each time
	changed []aim      // rows that name entities and that changed in this tick
	places  [][]uint32 // by row and index: where in changed such a row is, if it did
	lanes   []uint32   // of these rows, as they were before
	moved   bitset     // indexes with rows of these that only name others than before
}

// to lists who names an index, with repeats.
func (r *referrers) to(target uint32) []uint32 {
	if int(target) >= len(r.of) {
		return nil
	}
	return r.of[target]
}

// change follows a row with entity fields from its old lanes to its new ones,
// nil when there are none.
func (r *referrers) change(plan *quantize.Plan, index uint32, had bool, before, after []uint32) {
	for _, lane := range plan.Refs() {
		var old, now wire.NetworkID
		if had {
			old = refAt(before, lane)
		}
		if after != nil {
			now = refAt(after, lane)
		}
		if old == now {
			continue
		}
		if !old.IsZero() {
			r.drop(old.Index, index)
		}
		if !now.IsZero() {
			r.add(now.Index, index)
		}
	}
}

// refAt is the id in an entity field; generation 0 is nil.
func refAt(lanes []uint32, lane int) wire.NetworkID {
	if lanes[lane+1] == 0 {
		return wire.NetworkID{}
	}
	return wire.NetworkID{Index: lanes[lane], Generation: lanes[lane+1]}
}

func (r *referrers) add(target, index uint32) {
	if target >= MaxEntities {
		return
	}
	r.of = grown(r.of, int(target)+1, 0)
	at, _ := slices.BinarySearch(r.of[target], index)
	r.of[target] = slices.Insert(r.of[target], at, index)
}

func (r *referrers) drop(target, index uint32) {
	if int(target) >= len(r.of) {
		return
	}
	if at, ok := slices.BinarySearch(r.of[target], index); ok {
		r.of[target] = slices.Delete(r.of[target], at, at+1)
	}
}
