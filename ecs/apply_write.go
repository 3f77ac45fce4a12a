package netecs

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// valueWriter writes the values of a run. It lists the entities to write by table, and keeps the changed rows for
// [Apply.Changes].
type valueWriter struct {
	*Apply
	byTable       [][]writeItem // by table number: entities with rows in it
	unplaced      []uint32      // indexes of entities without a known slot
	created       []writeItem   // entities that were created with their values
	structChanges []structChange
	guard         ecs.Query     // keeps the world locked while columns point into it
	ranges        tableRanges   // entities that are written together
	touched       snapshot.Mask // rows of any entity that got another value
}

// writeItem is an entity to write.
type writeItem struct {
	index uint32
	slot  int32
	has   snapshot.Mask // rows to write
	rows  snapshot.Mask // rows that got another value
}

// structChange is a change of the structure of an entity by a run.
type structChange struct {
	index          uint32
	added, removed snapshot.Mask
	spawned        bool
}

// noteStructChange notes a change of structure.
func (w *valueWriter) noteStructChange(tw *appliedEntity, f structChange) {
	w.structChanges = append(w.structChanges, f)
	tw.structChange = int32(len(w.structChanges))
}

// clearLists drops the lists. Their memory stays.
func (w *valueWriter) clearLists() {
	for i := range w.byTable {
		w.byTable[i] = w.byTable[i][:0]
	}
	w.unplaced, w.created, w.structChanges = w.unplaced[:0], w.created[:0], w.structChanges[:0]
	w.ranges.list, w.ranges.details = w.ranges.list[:0], w.ranges.details[:0]
	w.touched = snapshot.Mask{}
}

// list adds an entity to the list, once a run.
func (w *valueWriter) list(index uint32, at *entityEntry, tw *appliedEntity) {
	if tw.listed == w.run {
		return
	}
	tw.listed = w.run
	if tw.mask.Overlaps(w.targets.rows) {
		w.targets.list = append(w.targets.list, index)
	}
	if at.table == nowhere || w.unsettled {
		w.unplaced = append(w.unplaced, index)
		return
	}
	w.listInTable(index, at, tw)
}

// listInTable adds an entity to the list of its table.
func (w *valueWriter) listInTable(index uint32, at *entityEntry, tw *appliedEntity) {
	if int(at.table) >= len(w.byTable) {
		w.byTable = grown(w.byTable, len(w.tracker.tables)-1)
	}
	d := writeItem{index: index, slot: at.slot, has: tw.mask.Minus(tw.aside)}
	if !tw.authored.IsZero() {
		d.has = d.has.Minus(w.owned(wire.NetworkID{Index: index, Generation: at.generation}))
	}
	w.byTable[at.table] = append(w.byTable[at.table], d)
}

// listChanged lists the entities that the replica received.
func (w *valueWriter) listChanged() {
	for _, span := range w.replica.ChangedRanges() {
		for index, end := span.First, span.First+span.Count; index < end; {
			if n := w.listRange(index, end-index); n > 0 {
				index += n
				continue
			}
			w.updateEntity(index)
			index++
		}
	}
}

// settleLists assigns slots to the listed entities after a change of structure, when rows may have moved.
func (w *valueWriter) settleLists() {
	for t := range w.byTable {
		for _, d := range w.byTable[t] {
			w.unplaced = append(w.unplaced, d.index)
		}
		w.byTable[t] = w.byTable[t][:0]
	}
	w.unplaced = w.ranges.dissolve(w.unplaced)
	w.settle()
	for _, index := range w.unplaced {
		at, tw := &w.tracker.byIndex[index], &w.applied[index]
		if at.table != nowhere {
			w.listInTable(index, at, tw)
			continue
		}
		if !tw.left && at.generation != 0 { // a listener removed the new entity
			w.local.lose(wire.NetworkID{Index: index, Generation: at.generation}, at)
		}
	}
	w.unplaced = w.unplaced[:0]
}

// writeAll writes the rows of the listed entities and updates the shadow. Only after changes of structure it looks at other
// entities.
func (w *valueWriter) writeAll() {
	settled := !w.unsettled
	if !settled || len(w.unplaced) > 0 {
		w.unsettled = true
		w.settleLists()
	}
	if !w.tracker.life.isCurrent(w.tracker.world) {
		w.clearLists() // a listener has reset the world
		return
	}
	w.guard = w.tracker.world.Query(&w.tracker.everything)
	for n := range w.byTable {
		list := w.byTable[n]
		if len(list) == 0 {
			continue
		}
		for i := range list { // rows that changed before the writing
			tw := &w.applied[list[i].index]
			list[i].rows, tw.changed = tw.changed, snapshot.Mask{}
			w.touched = w.touched.Union(list[i].rows)
		}
		if t := w.tracker.tables[n]; t.scattered {
			w.writeScattered(t, list)
		} else {
			w.byTable[n] = w.writeTable(t, list, settled)
		}
	}
	if len(w.ranges.list) > 0 {
		w.writeRanges()
	}
	w.guard.Close()
}

// writeTable writes into a table that is one archetype, column by column. If not sure, it removes the entities that are not
// there from the list, which it returns.
func (w *valueWriter) writeTable(t *table, list []writeItem, sure bool) []writeItem {
	query := &w.tracker.query
	*query = w.tracker.world.Query(&t.filter)
	if !query.Next() {
		return list[:0]
	}
	t.bindColumns(query, 0)
	if !sure {
		list = w.present(t, list, query.Count())
	}
	for i := range t.columns {
		if c := &t.columns[i]; c.row >= 0 { // else it is no row of the schema
			w.writeColumn(c, list)
		}
	}
	t.unbindColumns()
	query.Close()
	return list
}

// present returns the entities of a list that are in their slots. A listener may have removed some.
func (w *valueWriter) present(t *table, list []writeItem, length int) []writeItem {
	kept := list[:0]
	for _, d := range list {
		id := wire.NetworkID{Index: d.index, Generation: w.tracker.byIndex[d.index].generation}
		if int(d.slot) < length && *t.replicas.replicated(int(d.slot)) == (components.Replicated{ID: id, World: w.tracker.tag}) {
			kept = append(kept, d)
		}
	}
	return kept
}

// writeColumn writes one component of the entities of a list. An entity has no lanes if a listener of the game has received
// its despawn meanwhile.
func (w *valueWriter) writeColumn(c *column, list []writeItem) {
	bit := snapshot.Mask{}.With(c.row)
	for i := range list {
		d := &list[i]
		if !d.has.Overlaps(bit) {
			continue
		}
		if lanes := w.refs.value(d.index, c.row); lanes != nil {
			w.stats.Rows++
			if c.put(int(d.slot), int(d.slot), lanes) {
				d.rows = d.rows.Union(bit)
				w.touched = w.touched.Union(bit)
			}
		}
	}
}

// writeScattered writes into a table of many archetypes, entity by entity.
func (w *valueWriter) writeScattered(t *table, list []writeItem) {
	for i := range list {
		d := &list[i]
		at := &w.tracker.byIndex[d.index]
		id := wire.NetworkID{Index: d.index, Generation: at.generation}
		if int(d.slot) >= t.length || !w.tracker.hasID(at.entity, id) {
			continue
		}
		for j := range t.columns {
			c := &t.columns[j]
			lanes := w.refs.value(d.index, c.row)
			if lanes == nil || !d.has.Has(c.row) || !c.bindTo(w.tracker.world, at.entity) {
				continue
			}
			w.stats.Rows++
			if c.put(0, int(d.slot), lanes) {
				d.rows, w.touched = d.rows.With(c.row), w.touched.With(c.row)
			}
			c.unbind()
		}
	}
}
