package netecs

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// writing is the values of a run that are to be written, and afterwards what
// became of them: what changed.
type writing struct {
	byTable  [][]due  // entities whose rows lie in a table, by its number
	homeless []uint32 // indexes of entities whose place is not known yet
	fresh    []due    // entities that were created with their values
	forms    []form
	guard    ecs.Query // keeps the world locked while columns are aimed
	plain    []plainColumn
}

// due is an entity to write.
type due struct {
	index uint32
	slot  int32
	has   snapshot.Mask // rows that are to be written
	rows  snapshot.Mask // that got another value
	// lanes begins with those of all rows of has and of no others. Nil where
	// they do not lie in one piece.
	lanes []uint32
}

// plainColumn is where in memory a column is whose plan is plain, and where its
// rows lie among the lanes of an entity.
type plainColumn struct {
	*column
	bit         snapshot.Mask
	first, last int
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
	a.house(index, at, tw)
}

// house puts an entity on the list of its table.
func (a *Apply) house(index uint32, at *place, tw *twin) {
	w := &a.writing
	if int(at.table) >= len(w.byTable) {
		w.byTable = extended(w.byTable, len(a.watch.tables)-1)
	}
	list := &w.byTable[at.table]
	own := a.owned(wire.NetworkID{Index: index, Generation: at.generation})
	d := due{index: index, slot: at.slot, has: tw.mask &^ own}
	if own&tw.mask == 0 {
		d.lanes, _ = a.replica.Present(index, at.generation, tw.mask)
	}
	*list = append(*list, d)
}

// listUsual is list for an entity of which nothing but values has changed, as
// most have. It is false for any other.
func (a *Apply) listUsual(index uint32) bool {
	w := &a.writing
	if int(index) >= len(a.watch.byIndex) || a.unsettled {
		return false
	}
	at, tw := &a.watch.byIndex[index], &a.twins[index]
	if uint(at.table) >= uint(len(w.byTable)) || tw.left || tw.listed == a.run || tw.mask&a.aims.rows|tw.authored != 0 {
		return false
	}
	lanes, ok := a.replica.Present(index, at.generation, tw.mask)
	if !ok {
		return false
	}
	tw.listed = a.run
	w.byTable[at.table] = append(w.byTable[at.table], due{index: index, slot: at.slot, has: tw.mask, lanes: lanes})
	return true
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
	a.settle()
	for _, index := range w.homeless {
		at, tw := &a.watch.byIndex[index], &a.twins[index]
		if at.table != nowhere {
			a.house(index, at, tw)
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
		if a.early {
			a.startRows(list)
		}
		if t := a.watch.tables[n]; t.scattered {
			a.writeScattered(t, list)
		} else {
			a.writing.byTable[n] = a.writeTable(t, list, settled)
		}
	}
	a.writing.guard.Close()
	a.early = false
}

// startRows begins the masks of changed rows with what changed before.
func (a *Apply) startRows(list []due) {
	for i := range list {
		tw := &a.twins[list[i].index]
		list[i].rows, tw.changed = tw.changed, 0
	}
}

// writeTable writes into a table that is one archetype, column by column. It
// returns the list without those that are not there, if there may be such.
func (a *Apply) writeTable(t *table, list []due, sure bool) []due {
	query := &a.watch.query
	*query = a.watch.world.Query(&t.filter)
	if !query.Next() {
		return list[:0]
	}
	t.aim(query)
	if !sure {
		list = a.present(t, list, query.Count())
	}
	a.writing.plain = a.writing.plain[:0]
	for i := range t.columns {
		switch c := &t.columns[i]; {
		case c.row < 0: // of no row of the schema: it is not ours
		case a.refs.rows.Has(c.row):
			a.writeRefs(c, list)
		case c.plan.Plain():
			a.writing.plain = append(a.writing.plain, plainColumn{column: c, bit: snapshot.Mask(0).With(c.row)})
		default:
			a.stats.Rows += a.writeColumn(c, list)
		}
	}
	if len(a.writing.plain) > 0 {
		a.stats.Rows += a.writePlain(list)
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

// writeColumn writes one component of entities.
func (a *Apply) writeColumn(c *column, list []due) (count uint64) {
	bit := snapshot.Mask(0).With(c.row)
	var mask snapshot.Mask
	var first, end int
	for i := range list {
		d := &list[i]
		if d.has&bit == 0 {
			continue
		}
		count++
		if d.has != mask {
			mask = d.has
			first, end = a.replica.Place(mask, c.row)
		}
		var lanes []uint32
		if d.lanes != nil {
			lanes = d.lanes[first:end]
		} else {
			lanes = a.replica.Row(d.index, c.row)
		}
		if c.put(int(d.slot), lanes) {
			d.rows |= bit
		}
	}
	return count
}

// writePlain writes the plain columns of a table, entity by entity: what an
// entity received lies together.
func (a *Apply) writePlain(list []due) (count uint64) {
	columns := a.writing.plain
	var mask snapshot.Mask
	for i := 0; i < len(list); {
		if list[i].lanes == nil {
			count += a.writeApart(columns, &list[i])
			i++
			continue
		}
		if list[i].has != mask {
			mask = list[i].has
			for k := range columns {
				c := &columns[k]
				c.first, c.last = a.replica.Place(mask, c.row)
			}
		}
		n := 1
		for n < len(list)-i && list[i+n].has == mask && list[i+n].lanes != nil {
			n++
		}
		for k := range columns {
			if c := &columns[k]; c.bit&mask != 0 {
				count += uint64(n)
				c.copyAll(list[i:i+n], c.bit, c.first, c.last)
			}
		}
		i += n
	}
	return count
}

// writeApart writes the plain columns of an entity whose rows do not lie in one piece.
func (a *Apply) writeApart(columns []plainColumn, d *due) (count uint64) {
	for k := range columns {
		if c := &columns[k]; d.has&c.bit != 0 {
			count++
			if c.put(int(d.slot), a.replica.Row(d.index, c.row)) {
				d.rows |= c.bit
			}
		}
	}
	return count
}

// writeRefs writes one component with entity fields.
func (a *Apply) writeRefs(c *column, list []due) {
	for i := range list {
		d := &list[i]
		if !d.has.Has(c.row) {
			continue
		}
		a.stats.Rows++
		if c.put(int(d.slot), a.resolve(d.index, c.row, a.replica.Row(d.index, c.row))) {
			d.rows = d.rows.With(c.row)
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
			if c.putAt(0, int(d.slot), lanes) {
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
