package netecs

import (
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/snapshot"
)

// The fast path of Apply. It lists and writes entities together that have consecutive indexes and consecutive lanes in
// memory. listRange does what updateEntity does for each of them. writeRange does what writeColumn does.

// tableRange is a range of entities of one table. They have consecutive indexes, the same generation and the same rows.
// Their lanes are of the same tick and lie one after the other.
type tableRange struct {
	entities replica.EntityRange
	table    int32
	slot     int32         // slot of the first entity, if the slots are consecutive; -1: see tableRanges.slots
	rows     snapshot.Mask // rows with a new value
	detail   int32         // 1 + index in tableRanges.details: changed rows of each entity; 0: rows is valid for all
}

// tableRanges lists the ranges of a run. If rows may have moved since, dissolve turns the ranges into single entities.
type tableRanges struct {
	list    []tableRange
	slots   []int32 // by network index
	details []snapshot.Mask
	same    []int32 // scratch of writeRange: positions in the range that did not change
}

// dissolve empties the list and appends the indexes of its entities.
func (r *tableRanges) dissolve(indexes []uint32) []uint32 {
	for i := range r.list {
		for k := range r.list[i].entities.Count {
			indexes = append(indexes, r.list[i].entities.Index+k)
		}
	}
	r.list, r.details = r.list[:0], r.details[:0]
	return indexes
}

// leastStraight is the least number of entities with consecutive slots for which listRange ends a range at a slot that
// does not follow. With fewer entities the range continues, with single slots.
const leastStraight = 4

// listRange lists the first entities of an index range as one tableRange and returns their number, at most count. It
// returns 0 if the first entity needs updateEntity.
func (w *valueWriter) listRange(index, count uint32) uint32 {
	places := w.tracker.byIndex
	if w.apply.noRanges || w.apply.slotsStale || int(index) >= len(places) || !w.apply.entities[index].setAside.IsZero() {
		return 0
	}
	s, ok := w.apply.replica.RangeAt(index, count)
	if !ok || s.Mask.Overlaps(w.apply.targets.rows) {
		return 0
	}
	first := &places[index]
	if first.table == nowhere || w.tracker.tables[first.table].scattered {
		return 0
	}
	r := &w.ranges
	r.slots = grown(r.slots, len(places)-1)
	slot, n := first.slot, uint32(0)
	for i := index; n < s.Count && int(i) < len(places); i, n = i+1, n+1 {
		at, state := &places[i], &w.apply.entities[i]
		if at.generation != s.Generation || at.table != first.table || !state.onlyValuesChanged(s.Mask) || state.listed == w.apply.run {
			break
		}
		if slot >= 0 && at.slot != slot+int32(n) {
			if n >= leastStraight {
				break
			}
			slot = -1
		}
		state.listed = w.apply.run
		r.slots[i] = at.slot
	}
	if n > 0 {
		s.Count = n
		r.list = pushed(r.list, tableRange{entities: s, table: first.table, slot: slot})
	}
	return n
}

// onlyValuesChanged reports whether an entity has exactly these rows and only their values can have changed.
func (state *entityState) onlyValuesChanged(rows snapshot.Mask) bool {
	return state.mask == rows && state.changed.Union(state.authored).Union(state.secondRelation).Union(state.setAside).IsZero() && !state.left
}

// writeRanges writes the entities of the ranges.
func (w *valueWriter) writeRanges() {
	list := w.ranges.list
	for i := 0; i < len(list); {
		t := w.tracker.tables[list[i].table]
		query := &w.tracker.query
		*query = world.Open(w.tracker.world, &t.filter)
		query.Next()
		t.bindColumns(query, 0)
		for ; i < len(list) && list[i].table == t.number; i++ {
			for k := range t.columns {
				if c := &t.columns[k]; c.row >= 0 && list[i].entities.Mask.Has(c.row) {
					w.writeRange(c, &list[i])
				}
			}
		}
		t.unbindColumns()
		query.Close()
	}
}

// writeRange writes one component of the entities of a range.
func (w *valueWriter) writeRange(c *column, d *tableRange) {
	r, s, n := &w.ranges, &d.entities, int(d.entities.Count)
	w.apply.stats.Rows += uint64(n)
	r.same = grown(r.same, n-1)[:0]
	lanes, number := w.apply.replica.Lanes(s, c.row)
	if lanes == nil {
		for k := range s.Count {
			if lanes := w.apply.replica.Row(s.Index+k, c.row); lanes == nil || !c.put(r.slot(d, k), r.slot(d, k), lanes) {
				r.same = append(r.same, int32(k))
			}
		}
		w.touch(r.change(d, c.row))
		return
	}
	switch {
	case c.plain && number == 3:
		copyRange[[3]uint32](c, r, d, lanes)
	case c.plain && number == 4:
		copyRange[[4]uint32](c, r, d, lanes)
	case d.slot >= 0 && !c.plain && c.plan.DequantiseRows(c.bytes(int(d.slot), int(d.slot)+n), lanes, s.Width, n):
		r.same = c.keepRange(int(d.slot), n, r.same)
	default:
		for k := range s.Count {
			if !c.put(r.slot(d, k), r.slot(d, k), lanes[int(k)*s.Width:][:number]) {
				r.same = append(r.same, int32(k))
			}
		}
	}
	w.touch(r.change(d, c.row))
}

// touch adds rows to touched.
func (w *valueWriter) touch(rows snapshot.Mask) { w.touched = w.touched.Union(rows) }

// slot returns the slot of the k-th entity of a range.
func (r *tableRanges) slot(d *tableRange, k uint32) int {
	if d.slot >= 0 {
		return int(d.slot) + int(k)
	}
	return int(r.slots[d.entities.Index+k])
}

// change notes a row as changed for all entities of a range, except the ones in same, which is in ascending order. It
// returns the row as a mask, or the empty mask if no entity changed.
func (r *tableRanges) change(d *tableRange, row int) (any snapshot.Mask) {
	same, n := r.same, int(d.entities.Count)
	switch {
	case len(same) == n:
		return snapshot.Mask{}
	case len(same) == 0 && d.detail == 0:
		d.rows = d.rows.With(row)
		return any.With(row)
	}
	if d.detail == 0 {
		d.detail = int32(len(r.details)) + 1
		for range n {
			r.details = append(r.details, d.rows)
		}
	}
	for k, details := 0, r.details[d.detail-1:][:n]; k < n; k++ {
		if len(same) > 0 && same[0] == int32(k) {
			same = same[1:]
			continue
		}
		details[k] = details[k].With(row)
	}
	return any.With(row)
}

// changed returns the changed rows of the k-th entity of a range.
func (r *tableRanges) changed(d *tableRange, k uint32) snapshot.Mask {
	if d.detail > 0 {
		return r.details[d.detail-1+int32(k)]
	}
	return d.rows
}
