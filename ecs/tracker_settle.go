package netecs

import (
	"slices"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/wire"
)

// isReplicated reports whether an entity that was ours is alive and has a Replicated, with any value.
func (w *tracker) isReplicated(e ecs.Entity) bool {
	return w.world.Alive(e) && w.world.Has(e, w.replicated)
}

// rebind finds the new entity of an id whose handle changed without a change of its row's bytes: the entity was removed, and a
// copy with the same Replicated came to lie in its row.
func (w *tracker) rebind(at *entityEntry, id wire.NetworkID) bool {
	if at.table < 0 || w.tables[at.table].scattered {
		return false
	}
	w.query = w.world.Query(&w.tables[at.table].filter)
	defer w.query.Close()
	if int(at.slot) >= w.query.Count() {
		return false
	}
	e := w.query.EntityAt(int(at.slot))
	if !w.hasID(e, id) {
		return false
	}
	table, slot, stamp := at.table, at.slot, at.stamp
	again := w.assign(id, e)
	again.table, again.slot, again.stamp = table, slot, stamp
	w.moves++
	return true
}

// owners lists those of rows of a table that contain an entity of ours, and their ids.
func (w *tracker) owners(t *table, rows, held []int32, ids []wire.NetworkID) ([]int32, []wire.NetworkID) {
	held, ids = slices.Grow(held, len(rows))[:len(rows)], slices.Grow(ids, len(rows))[:len(rows)]
	n, places, tag, number := 0, w.byIndex, w.tag, t.number
	for _, row := range rows {
		r := t.replicas.keptReplicated(int(row))
		if int(r.ID.Index) >= len(places) || r.World != tag {
			continue
		}
		if at := &places[r.ID.Index]; at.generation == r.ID.Generation && r.ID.Generation != 0 && at.table == number && at.slot == row {
			held[n], ids[n] = row, r.ID
			n++
		}
	}
	return held[:n], ids[:n]
}

// trim drops the slots behind the rows of the scan. It is for a capture, which keeps every row that appears.
func (w *tracker) trim() {
	for _, t := range w.active {
		switch {
		case !t.scattered:
			t.length = t.seen
		case t.stamped < t.length:
			w.closeGaps(t)
		}
	}
}

// closeGaps drops the slots of a scattered table that this scan did not stamp.
func (w *tracker) closeGaps(t *table) {
	for slot := 0; slot < t.length; {
		if t.stamps[slot] == w.run {
			slot++
			continue
		}
		last := t.length - 1
		if slot != last {
			if id, ok := w.owner(t, last); ok {
				w.entry(id).slot = int32(slot)
				w.moves++
			}
			t.moveSlot(last, slot)
		}
		t.length--
	}
}

// cutOff drops the slots behind the last row of the scan. An entity that was removed from there may come back with the same id
// in the same row, and must not be taken for the old one.
func (w *tracker) cutOff() {
	for _, t := range w.active {
		if !t.scattered {
			t.length = min(t.length, t.seen)
		}
	}
}

// settle assigns slots to all ids after a change of structure, and fills the shadow of rows that are new in their slots. Of
// other rows it looks only at the Replicated: if game code wrote their components meanwhile, they differ from the shadow, and
// the next scan finds them.
func (w *tracker) settle() {
	w.run++
	w.evicted = w.evicted[:0]
	w.updateActive()
	sum := 0
	for _, t := range w.active {
		sum += w.settleTable(t)
	}
	if sum == w.count() {
		return
	}
	known := len(w.active)
	w.discover()
	for _, t := range w.active[known:] {
		w.settleTable(t)
	}
}

// settleTable settles a table and returns the number of its rows in the world.
func (w *tracker) settleTable(t *table) int {
	w.query = w.world.Query(&t.filter)
	t.seen = w.query.Count()
	if t.scattered {
		w.settleScattered(t)
	} else {
		w.settleColumns(t)
	}
	return t.seen
}

// settleColumns settles a table that is one archetype.
func (w *tracker) settleColumns(t *table) {
	n := t.seen
	if n > 0 {
		w.query.Next()
		t.bindColumns(&w.query, n)
	}
	for from := 0; from < n; from += blockRows {
		to := min(from+blockRows, n)
		if to > t.length || !t.replicas.same(from, to) {
			w.assignSlots(t, from, to)
		}
	}
	for slot := n; slot < t.length; slot++ {
		w.evict(t, slot)
	}
	t.length = n
	t.unbindColumns()
	w.query.Close()
}

// assignSlots assigns the ids of the rows from <= row < to to their slots.
func (w *tracker) assignSlots(t *table, from, to int) {
	for row := from; row < to; row++ {
		if row < t.length && t.replicas.sameRow(row, row) {
			continue
		}
		if row < t.length {
			w.evict(t, row)
		}
		w.assignSlot(t, row, row)
		t.keepRow(row, row)
		if _, ok := w.owner(t, row); !ok {
			w.spoilSlot(t, row) // one that is despawned and not removed yet: another with equal bytes may come to lie here
		}
	}
}

// spoilSlot makes a slot with a Replicated of ours equal to none, so that it is not taken for the one of a later entity with the same id.
func (w *tracker) spoilSlot(t *table, slot int) {
	if r := t.replicas.keptReplicated(slot); r.World == w.tag {
		t.replicas.spoil(slot, r)
	}
}

// evict takes the slot from the id that has it. The id has another by the end, unless its entity is gone.
func (w *tracker) evict(t *table, slot int) {
	if id, ok := w.owner(t, slot); ok {
		w.entry(id).table = nowhere
		w.moves++
		w.evicted = append(w.evicted, id)
	}
}

// assignSlot assigns the id of a row to a slot.
func (w *tracker) assignSlot(t *table, row, slot int) {
	r := t.replicas.replicated(row)
	if at := w.entry(r.ID); r.World == w.tag && at != nil && at.entity == w.entityAt(t, row) {
		at.table, at.slot = t.number, int32(slot)
		w.moves++
	}
}

// settleScattered settles a table of many archetypes.
func (w *tracker) settleScattered(t *table) {
	t.stamped = 0
	for w.query.Next() {
		t.replicas.bind(&w.query)
		r := t.replicas.replicated(0)
		w.present = w.query.Entity()
		slot := w.slotOf(t, r, w.present)
		if slot < 0 {
			if at := w.entry(r.ID); at == nil || at.entity != w.present || r.World != w.tag {
				continue // not of ours: it needs no shadow
			}
			t.bindColumns(&w.query, 0)
			slot = t.newSlot(w.run)
			w.assignSlot(t, 0, slot)
			t.keepRow(0, slot)
		} else {
			t.stamp(slot, w.run)
		}
	}
	t.unbindColumns()
	for slot := 0; slot < t.length && t.stamped < t.length; slot++ {
		if t.stamps[slot] != w.run {
			w.evict(t, slot)
		}
	}
	if t.stamped < t.length {
		w.closeGaps(t)
	}
}

// scanScattered scans a table of many archetypes and closes the query. It first asks Arche for the place and the entity of
// each row, then compares column by column. Each row is elsewhere in memory, and so little code lies between two of them that
// many loads overlap.
func (w *tracker) scanScattered(t *table, h trackerEvents) {
	before := t.length
	t.stamped, t.slots = 0, t.slots[:0]
	w.guard = w.world.Query(&w.everything) // keeps the world locked after the walk
	w.walk(t)
	for n, e := range t.handles {
		slot := w.slotOf(t, t.replicas.replicatedOfRow(n), e)
		if slot < 0 {
			w.present = e
			t.bindRow(n)
			h.appears(t, 0, -1)
		} else {
			t.stamp(slot, w.run)
		}
		t.slots = append(t.slots, int32(slot))
	}
	for i := range t.columns {
		w.scanColumnOfRows(t, &t.columns[i], h)
	}
	t.unbindColumns()
	w.guard.Close()
	t.releaseRows(len(t.slots))
	for slot := 0; slot < before && t.stamped < t.length; slot++ {
		if t.stamps[slot] != w.run {
			w.noteDisplaced(t, slot)
		}
	}
}

// walk finds the places of the rows of a scattered table, and closes the query.
func (w *tracker) walk(t *table) {
	t.handles = t.handles[:0]
	for n := 0; w.query.Next(); n++ {
		t.findRow(&w.query, n)
		t.handles = append(t.handles, w.query.Entity())
		if t.goal >= 0 {
			c := &t.columns[t.goal]
			c.goals = append(c.goals[:n], w.query.Relation(c.id))
		}
	}
}

// scanColumnOfRows finds the rows with another component than before. It skips those that appeared in this walk.
func (w *tracker) scanColumnOfRows(t *table, c *column, h trackerEvents) {
	for n := c.differingRow(0, t.slots); n < len(t.slots); n = c.differingRow(n+1, t.slots) {
		slot := int(t.slots[n])
		c.bindRow(n)
		if h.differs(t.replicas.keptReplicated(slot).ID, c, 0, slot) {
			c.keepRow(0, slot)
		}
	}
}

// kept returns a component in the shadow, nil when it is in none.
func (w *tracker) kept(at *entityEntry, row int) []byte {
	if at == nil || at.table == nowhere {
		return nil
	}
	t := w.tables[at.table]
	c := t.column(row)
	if c == nil || int(at.slot) >= t.length {
		return nil
	}
	return c.shadow[int(at.slot)*c.size : (int(at.slot)+1)*c.size]
}

// keptTarget returns the target of a relation in the shadow, if it is in one.
func (w *tracker) keptTarget(at *entityEntry, row int) (ecs.Entity, bool) {
	if at.table == nowhere {
		return ecs.Entity{}, false
	}
	t := w.tables[at.table]
	c := t.column(row)
	if c == nil || !c.relation || int(at.slot) >= t.length {
		return ecs.Entity{}, false
	}
	return c.targets[at.slot], true
}
