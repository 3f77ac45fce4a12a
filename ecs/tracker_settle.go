package netecs

import (
	"slices"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/wire"
)

// isReplicated reports whether an entity that was ours is alive and has a
// Replicated, whatever it says.
func (w *tracker) isReplicated(e ecs.Entity) bool {
	return w.world.Alive(e) && w.world.Has(e, w.replicated)
}

// rebind finds the entity of an id whose handle changed without a byte of
// its row changing: the entity was removed, and a copy with the same
// Replicated came to lie in its place.
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

// owners lists those of some rows of a table in which an entity of ours is, and their ids.
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

// trim gives up the slots that the scan found cut off, for a watcher that kept
// every row that appeared.
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

// closeGaps closes up the slots of a scattered table that this scan did not stamp.
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

// cutOff gives up the slots behind the last row that the scan saw. What was
// removed from there may come back under the same id and to the same row, and
// must not be taken for what it was.
func (w *tracker) cutOff() {
	for _, t := range w.active {
		if !t.scattered {
			t.length = min(t.length, t.seen)
		}
	}
}

// settle puts every id in its place after any change of structure, and the rows
// that were not in their place into the shadow. Of rows that stayed where they
// were only the Replicated is looked at: what was written to them meanwhile
// differs from the shadow, and the next scan finds it.
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

// assignSlots puts the ids of the rows from <= row < to in their places.
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
		if r := t.replicas.replicated(row); r.ID.IsZero() && r.World == w.tag {
			t.replicas.spoil(row, *r) // a copy of one that is kept may come to lie in its place, and not a byte would differ
		}
	}
}

// evict takes the place from the id that has a slot. It has another by the end,
// unless its entity is gone.
func (w *tracker) evict(t *table, slot int) {
	if id, ok := w.owner(t, slot); ok {
		w.entry(id).table = nowhere
		w.moves++
		w.evicted = append(w.evicted, id)
	}
}

func (w *tracker) assignSlot(t *table, row, slot int) {
	r := t.replicas.replicated(row)
	if at := w.entry(r.ID); r.World == w.tag && at != nil && at.entity == w.entityAt(t, row) {
		at.table, at.slot = t.number, int32(slot)
		w.moves++
	}
}

func (w *tracker) settleScattered(t *table) {
	t.stamped = 0
	for w.query.Next() {
		t.replicas.bind(&w.query)
		r := t.replicas.replicated(0)
		w.present = w.query.Entity()
		slot := w.slotOf(t, r, w.present)
		if slot < 0 {
			if at := w.entry(r.ID); at == nil || at.entity != w.present || r.World != w.tag {
				continue // not ours: it needs no shadow
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

// scanScattered goes over a table of many archetypes and closes the query. Arche is asked row by row, and for no more than
// where the row lies and whose it is; then the rows are looked at, column by column. Each is somewhere else in memory, and so
// little is done between two of them that many loads are under way at once.
func (w *tracker) scanScattered(t *table, h trackerEvents) {
	before := t.length
	t.stamped, t.slots = 0, t.slots[:0]
	w.guard = w.world.Query(&w.everything) // the end of the walk unlocks the world, and the rows are looked at afterwards
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

// walk finds where the rows of a scattered table lie, and closes the query.
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

// scanColumnOfRows finds the rows with another component than before. One that appeared in this walk has been seen to.
func (w *tracker) scanColumnOfRows(t *table, c *column, h trackerEvents) {
	for n := c.differingRow(0, t.slots); n < len(t.slots); n = c.differingRow(n+1, t.slots) {
		slot := int(t.slots[n])
		c.bindRow(n)
		if h.differs(t.replicas.keptReplicated(slot).ID, c, 0, slot) {
			c.keepRow(0, slot)
		}
	}
}

// kept is a component in the shadow, nil when it is in none.
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

// keptTarget is the target of a relation in the shadow, if it is in one.
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
