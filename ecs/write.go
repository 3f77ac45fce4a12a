package netecs

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// writing lists the entities whose values a run writes, and keeps what changed for [Apply.Changes].
type writing struct {
	byTable  [][]due  // by table number: entities with rows in it
	homeless []uint32 // indexes of entities whose place is not known yet
	fresh    []due    // entities that were created with their values
	forms    []form
	guard    ecs.Query // keeps the world locked while columns are aimed
	ranges   ranges    // entities that are written together
}

// due is an entity to write.
type due struct {
	index uint32
	slot  int32
	has   snapshot.Mask // rows to write
	rows  snapshot.Mask // rows that got another value
}

// form is what a run did to an entity's structure.
type form struct {
	index          uint32
	added, removed snapshot.Mask
	spawned        bool
}

// form notes what was done to an entity.
func (w *writing) form(tw *twin, f form) {
	w.forms = append(w.forms, f)
	tw.form = int32(len(w.forms))
}

// forget drops the lists. Their memory stays.
func (w *writing) forget() {
	for i := range w.byTable {
		w.byTable[i] = w.byTable[i][:0]
	}
	w.homeless, w.fresh, w.forms = w.homeless[:0], w.fresh[:0], w.forms[:0]
	w.ranges.list, w.ranges.details = w.ranges.list[:0], w.ranges.details[:0]
}

// list notes that an entity's rows are to be written, once a run.
func (a *Apply) list(index uint32, at *place, tw *twin) {
	if tw.listed == a.run {
		return
	}
	tw.listed = a.run
	if tw.mask&a.aims.rows != 0 {
		a.aims.list = append(a.aims.list, index)
	}
	if at.table == nowhere || a.unsettled {
		a.writing.homeless = append(a.writing.homeless, index)
		return
	}
	a.listInTable(index, at, tw)
}

// listInTable puts an entity on the list of its table.
func (a *Apply) listInTable(index uint32, at *place, tw *twin) {
	w := &a.writing
	if int(at.table) >= len(w.byTable) {
		w.byTable = extended(w.byTable, len(a.watch.tables)-1)
	}
	d := due{index: index, slot: at.slot, has: tw.mask}
	if tw.authored != 0 {
		d.has &^= a.owned(wire.NetworkID{Index: index, Generation: at.generation})
	}
	w.byTable[at.table] = append(w.byTable[at.table], d)
}

// listChanged lists what the replica received.
func (a *Apply) listChanged() {
	for _, span := range a.replica.ChangedSpans() {
		for index, end := span.First, span.First+span.Count; index < end; {
			if n := a.listRange(index, end-index); n > 0 {
				index += n
				continue
			}
			a.updateEntity(index)
			index++
		}
	}
}

// settleLists makes the places of what is listed good after a change of
// structure, when rows may lie anywhere.
func (a *Apply) settleLists() {
	w := &a.writing
	for t := range w.byTable {
		for _, d := range w.byTable[t] {
			w.homeless = append(w.homeless, d.index)
		}
		w.byTable[t] = w.byTable[t][:0]
	}
	w.homeless = w.ranges.dissolve(w.homeless)
	a.settle()
	for _, index := range w.homeless {
		at, tw := &a.watch.byIndex[index], &a.twins[index]
		if at.table != nowhere {
			a.listInTable(index, at, tw)
			continue
		}
		if !tw.left && at.generation != 0 { // a listener removed what was just created
			a.lose(wire.NetworkID{Index: index, Generation: at.generation}, at)
		}
	}
	w.homeless = w.homeless[:0]
}

// writeAll writes the rows of the entities that are listed. The shadow follows,
// so that only changes of structure need more than what is written.
func (a *Apply) writeAll() {
	settled := !a.unsettled
	if !settled || len(a.writing.homeless) > 0 {
		a.unsettled = true
		a.settleLists()
	}
	if !a.watch.mark.goes(a.watch.world) {
		a.writing.forget() // a listener has reset the world
		return
	}
	a.writing.guard = a.watch.world.Query(&a.watch.everything)
	for n := range a.writing.byTable {
		list := a.writing.byTable[n]
		if len(list) == 0 {
			continue
		}
		for i := range list { // what changed before the writing
			tw := &a.twins[list[i].index]
			list[i].rows, tw.changed = tw.changed, 0
		}
		if t := a.watch.tables[n]; t.scattered {
			a.writeScattered(t, list)
		} else {
			a.writing.byTable[n] = a.writeTable(t, list, settled)
		}
	}
	if len(a.writing.ranges.list) > 0 {
		a.writeRanges()
	}
	a.writing.guard.Close()
}

// writeTable writes into a table that is one archetype, column by column. It
// returns the list without those that are not there, if there may be such.
func (a *Apply) writeTable(t *table, list []due, sure bool) []due {
	query := &a.watch.query
	*query = a.watch.world.Query(&t.filter)
	if !query.Next() {
		return list[:0]
	}
	t.open(query, 0)
	if !sure {
		list = a.present(t, list, query.Count())
	}
	for i := range t.columns {
		if c := &t.columns[i]; c.row >= 0 { // else it is of no row of the schema, and not ours
			a.writeColumn(c, list)
		}
	}
	t.release()
	query.Close()
	return list
}

// present are those of a list whose row is where the places say. A listener may
// have taken an entity away.
func (a *Apply) present(t *table, list []due, length int) []due {
	kept := list[:0]
	for _, d := range list {
		id := wire.NetworkID{Index: d.index, Generation: a.watch.byIndex[d.index].generation}
		if int(d.slot) < length && *t.replicas.replicated(int(d.slot)) == (components.Replicated{ID: id, World: a.watch.tag}) {
			kept = append(kept, d)
		}
	}
	return kept
}

// writeColumn writes one component of the entities of a list. One has no lanes when a listener of the game has received its end
// meanwhile.
func (a *Apply) writeColumn(c *column, list []due) {
	bit := snapshot.Mask(0).With(c.row)
	for i := range list {
		d := &list[i]
		if d.has&bit == 0 {
			continue
		}
		if lanes := a.value(d.index, c.row); lanes != nil {
			a.stats.Rows++
			if c.put(int(d.slot), int(d.slot), lanes) {
				d.rows |= bit
			}
		}
	}
}

// writeScattered writes into a table of many archetypes, entity by entity.
func (a *Apply) writeScattered(t *table, list []due) {
	for i := range list {
		d := &list[i]
		at := &a.watch.byIndex[d.index]
		id := wire.NetworkID{Index: d.index, Generation: at.generation}
		if int(d.slot) >= t.length || !a.watch.wears(at.entity, id) {
			continue
		}
		for j := range t.columns {
			c := &t.columns[j]
			lanes := a.value(d.index, c.row)
			if lanes == nil || !d.has.Has(c.row) || !c.aimAt(a.watch.world, at.entity) {
				continue
			}
			a.stats.Rows++
			if c.put(0, int(d.slot), lanes) {
				d.rows = d.rows.With(c.row)
			}
			c.release()
		}
	}
}

// value is what the lanes of a row are in this world: those that came, with
// the entities of this world in entity fields. Nil when there is no such row.
func (a *Apply) value(index uint32, row int) []uint32 {
	lanes := a.replica.Row(index, row)
	if lanes == nil || !a.refs.rows.Has(row) {
		return lanes
	}
	return a.resolve(index, row, lanes)
}

// kept is a component in the shadow, nil when it is in none.
func (w *watch) kept(at *place, row int) []byte {
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
