package netecs

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
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
	parcels  []parcel
	long     []snapshot.Span // who is listed in stretches
	longs    []uint64        // the same, a bit for each index
	details  []snapshot.Mask // of stretches of which not all got the same rows
	same     []int32
	few      [mostDue]int32 // the same, of what is written as one
	lone     bool           // the lists are one stretch that a flow has written, and nothing else
}

// due is an entity to write, or a stretch of them: one behind the other by index
// and by where their lanes are. It is small and without pointers, since there may
// be very many.
type due struct {
	index  uint32
	n      int32 // 1, or how many
	slot   int32 // theirs are one behind the other too; -1: they are as the berths say
	first  int32 // the lanes of the first among those of the parcel
	parcel int32
	detail int32         // 1 + where the rows of each are; 0: they are the same
	rows   snapshot.Mask // that got another value
	// stretch says that it came as one, though one entity may be left of it.
	stretch bool
	mixed   int32 // 1 + the berth that it is all of, which has a piece of the table to itself; see writeMixed
}

// parcel is what entities have in common that have the same rows and whose
// lanes came in the same tick.
type parcel struct {
	tick  tick.Tick
	mask  snapshot.Mask // rows that the server's entity has
	has   snapshot.Mask // of them: that are to be written
	lanes []uint32      // nil: they do not lie in one piece
	// stride is how many of them an entity has, where there are stretches.
	stride int32
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
	w.homeless, w.fresh, w.forms, w.parcels = w.homeless[:0], w.fresh[:0], w.forms[:0], w.parcels[:0]
	w.details, w.lone = w.details[:0], false
	w.unstretch()
}

// parcelOf is the number of a parcel, which most likely is one of the last.
func (w *writing) parcelOf(t tick.Tick, mask, has snapshot.Mask) int32 {
	for n := len(w.parcels) - 1; n >= max(0, len(w.parcels)-8); n-- {
		if p := &w.parcels[n]; p.tick == t && p.mask == mask && p.has == has {
			return int32(n)
		}
	}
	w.parcels = append(w.parcels, parcel{tick: t, mask: mask, has: has})
	return int32(len(w.parcels) - 1)
}

// list notes that an entity's rows are to be written, once a run.
func (a *Apply) list(index uint32, at *place, tw *twin) {
	if tw.listed == a.run || a.writing.stretched(index) {
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
	t, first, ok := a.replica.Present(index, at.generation, tw.mask)
	if !ok {
		t, first = tick.None, 0
	}
	*list = append(*list, due{index: index, n: 1, slot: at.slot, first: first, parcel: w.parcelOf(t, tw.mask, tw.mask&^own)})
}

// listChanged lists what the replica received. Of most entities nothing but
// values has changed: they are listed here, stretches of them as one, the others
// by updateEntity.
func (a *Apply) listChanged() {
	if a.watch.sparing { // it was all gone over before
		for i := range a.legs {
			l := &a.legs[i]
			a.enter(&l.stretch, &l.berth)
			a.writing.stretch(l.berth.index, l.berth.n)
		}
		return
	}
	for _, span := range a.replica.ChangedSpans() {
		single := uint32(0)
		for index, end := span.First, span.First+span.Count; index < end; {
			if single == 0 && !a.unsettled {
				n := uint32(0)
				if n, single = a.listStretch(index, end-index); n > 0 {
					index += n
					continue
				}
			}
			n := max(1, min(single, end-index))
			a.listSingles(index, n)
			index, single = index+n, single-min(n, single)
		}
	}
}

// listSingles lists entities one by one.
func (a *Apply) listSingles(from, count uint32) {
	w := &a.writing
	table, list := nowhere, []due(nil)
	last, of := parcel{}, int32(-1)
	for index := from; index-from < count; index++ {
		if !a.unsettled && int(index) < len(a.watch.byIndex) {
			at, tw := &a.watch.byIndex[index], &a.twins[index]
			t, first, ok := a.replica.Present(index, at.generation, tw.mask)
			if ok && !tw.left && tw.listed != a.run && tw.mask&a.aims.rows|tw.authored == 0 && at.table != nowhere {
				if at.table != table {
					w.keep(table, list)
					table, list = at.table, w.of(at.table)
				}
				if last.tick != t || last.mask != tw.mask || of < 0 {
					of = w.parcelOf(t, tw.mask, tw.mask)
					last = w.parcels[of]
				}
				tw.listed = a.run
				list = append(list, due{index: index, n: 1, slot: at.slot, first: first, parcel: of})
				continue
			}
		}
		w.keep(table, list)
		table, list = nowhere, nil
		a.updateEntity(index)
	}
	w.keep(table, list)
}

// of is the list of a table.
func (w *writing) of(table int32) []due {
	if int(table) >= len(w.byTable) {
		w.byTable = extended(w.byTable, int(table))
	}
	return w.byTable[table]
}

// keep gives back a list that of gave.
func (w *writing) keep(table int32, list []due) {
	if table != nowhere {
		w.byTable[table] = list
	}
}

// settleLists makes the places of what is listed good after a change of
// structure, when rows may lie anywhere.
func (a *Apply) settleLists() {
	w := &a.writing
	for t := range w.byTable {
		for _, d := range w.byTable[t] {
			for k := range uint32(d.n) {
				w.homeless = append(w.homeless, d.index+k)
			}
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
	a.unpack()
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

// unpack finds the lanes of what is to be written.
func (a *Apply) unpack() {
	for i := range a.writing.parcels {
		if p := &a.writing.parcels[i]; p.tick != tick.None {
			p.lanes = a.replica.Lanes(p.tick)
		}
	}
}

// startRows begins the masks of changed rows with what changed before.
func (a *Apply) startRows(list []due) {
	for i := range list {
		d := &list[i]
		if d.n == 1 {
			tw := &a.twins[d.index]
			d.rows, tw.changed = tw.changed, 0
			continue
		}
		for k := range uint32(d.n) {
			if tw := &a.twins[d.index+k]; tw.changed != 0 {
				a.writing.detailOf(d)[k], tw.changed = tw.changed, 0
			}
		}
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
	if len(a.writing.long) > 0 {
		a.writeStretches(t, list)
	}
	for i := range t.columns {
		switch c := &t.columns[i]; {
		case c.row < 0: // of no row of the schema: it is not ours
		case a.refs.rows.Has(c.row):
			a.writeRefs(c, list)
		default:
			a.stats.Rows += a.writeColumn(c, list)
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

// writeColumn writes one component of entities, those of a parcel together.
func (a *Apply) writeColumn(c *column, list []due) (count uint64) {
	bit, plain := snapshot.Mask(0).With(c.row), c.plain
	for i := 0; i < len(list); {
		if list[i].stretch {
			i++
			continue
		}
		p := &a.writing.parcels[list[i].parcel]
		first, end := a.replica.Place(p.mask, c.row)
		if p.has&bit != 0 && p.lanes != nil && plain {
			n := c.copyAll(list[i:], bit, p.lanes[first:], end-first)
			i, count = i+n, count+uint64(n)
			continue
		}
		for of := list[i].parcel; i < len(list) && list[i].parcel == of && !list[i].stretch; i++ {
			d := &list[i]
			switch {
			case p.has&bit == 0:
				continue
			case p.lanes != nil:
				c.putDue(d, bit, p.lanes[int(d.first)+first:int(d.first)+end])
			default:
				c.putDue(d, bit, a.replica.Row(d.index, c.row))
			}
			count++
		}
	}
	return count
}

// putDue is put for an entity of a list. It has no lanes when a listener of the
// game has received its end meanwhile.
func (c *column) putDue(d *due, row snapshot.Mask, lanes []uint32) {
	if lanes != nil && c.put(int(d.slot), lanes) {
		d.rows |= row
	}
}

// writeRefs writes one component with entity fields.
func (a *Apply) writeRefs(c *column, list []due) {
	for i := range list {
		d := &list[i]
		if d.stretch || !a.writing.parcels[d.parcel].has.Has(c.row) { // the rows of stretches are floats
			continue
		}
		if lanes := a.replica.Row(d.index, c.row); lanes != nil {
			a.stats.Rows++
			c.putDue(d, snapshot.Mask(0).With(c.row), a.resolve(d.index, c.row, lanes))
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
			if lanes == nil || !a.writing.parcels[d.parcel].has.Has(c.row) || !c.aimAt(a.watch.world, at.entity) {
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
