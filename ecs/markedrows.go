package netecs

import (
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// markedRows is the marked entities of a table that is one archetype, in ascending order of their indexes.
type markedRows struct {
	slots    []int32
	ids      []wire.NetworkID
	rows     []snapshot.Mask // of each, which were marked and are quick
	any, all snapshot.Mask   // of one of them, of all
	quick    snapshot.Mask   // rows of the table that are captured with others
	begun    bool            // something of the table was marked
	stale    []uint64        // bits: slots whose shadow is not what the store has, since no scan looked at them
}

// stray is marked rows of an entity that are captured by themselves.
type stray struct {
	id   wire.NetworkID
	rows snapshot.Mask
}

// captureMarked captures the rows that were marked: what is quick column by column, as a scan does, and the rest row by row.
func (c *Capture) captureMarked() {
	m := &c.marks
	slices.Sort(m.words) // game code has an order of its own, and the store's memory another
	for _, w := range m.words {
		for set := m.set[w]; set != 0; set &= set - 1 {
			index := w*64 + uint32(bits.TrailingZeros64(set))
			c.gather(index, m.byIndex[index])
			m.byIndex[index] = 0
		}
		m.set[w] = 0
	}
	m.words = m.words[:0]
	c.captureStrays() // first: a control component may be among them, which the others obey
	for _, t := range m.tables {
		c.captureGathered(t)
	}
	m.tables = m.tables[:0]
	c.captureStrays()
}

// gather adds the marked rows of an index to those of its table.
func (c *Capture) gather(index uint32, rows snapshot.Mask) {
	at, m := &c.watch.byIndex[index], &c.marks
	if at.generation == 0 || at.table == nowhere {
		return
	}
	id, t := wire.NetworkID{Index: index, Generation: at.generation}, c.watch.tables[at.table]
	g := &t.marked
	if !g.begun && !t.scattered {
		g.begun, g.quick, g.any, g.all = true, c.quickOf(t), 0, t.rows
		m.tables = append(m.tables, t)
	}
	if slow := rows &^ g.quick; slow != 0 {
		m.strays = append(m.strays, stray{id, slow})
	}
	if rows &= g.quick; rows != 0 {
		g.slots, g.ids, g.rows = append(g.slots, at.slot), append(g.ids, id), append(g.rows, rows)
		g.any, g.all = g.any|rows, g.all&rows
	}
}

// quickOf is the rows of a table's columns that are quick.
func (c *Capture) quickOf(t *table) (quick snapshot.Mask) {
	for _, columns := range [2][]column{t.columns, t.unscanned} {
		for i := range columns {
			if col := &columns[i]; col.row >= 0 && !col.aimed && !c.apart && c.isQuick(col) {
				quick = quick.With(col.row)
			}
		}
	}
	return quick
}

// captureGathered captures what was gathered of a table. Where no scan has kept the shadow, that stays as it was until one comes.
func (c *Capture) captureGathered(t *table) {
	w, g := c.watch, &t.marked
	g.begun = false
	if len(g.ids) == 0 {
		return
	}
	w.query = w.world.Query(&t.filter)
	if c.settleGathered(t); len(g.ids) > 0 {
		w.query.Next()
		for _, columns := range [2][]column{t.columns, t.unscanned} {
			for i := range columns {
				if col := &columns[i]; col.row >= 0 && g.any.Has(col.row) {
					col.aim(&w.query)
					c.captureMarkedColumn(t, col)
					col.release()
				}
			}
		}
	}
	w.query.Close()
	if !c.looked {
		g.leave(t.length)
	}
	g.slots, g.ids, g.rows = g.slots[:0], g.ids[:0], g.rows[:0]
}

// leave notes that the shadow of the slots is not kept, of a table of so many.
func (g *markedRows) leave(slots int) {
	g.stale = extended(g.stale, (slots-1)/64)
	for _, slot := range g.slots {
		g.stale[uint32(slot)/64] |= 1 << (uint32(slot) % 64)
	}
}

// distrust makes the shadow of rows before an end differ where it was not kept: what is there now may be what it says by chance, while
// the store knows of something in between.
func (t *table) distrust(end int) {
	for w, set := range t.marked.stale {
		for ; set != 0; set &= set - 1 {
			row := w*64 + bits.TrailingZeros64(set)
			for i := range t.columns {
				if c := &t.columns[i]; row < end && c.row >= 0 {
					c.spoilRow(row)
				}
			}
		}
	}
	t.marked.trust()
}

// trust forgets which slots are stale.
func (g *markedRows) trust() {
	clear(g.stale)
	g.stale = g.stale[:0]
}

// settleGathered leaves those out that are not where the last scan found them, as game code did not say that the world is another; and all, where a
// rate that was the world's first was among what was marked, and nothing is quick any more.
func (c *Capture) settleGathered(t *table) {
	w, g := c.watch, &t.marked
	n, count := 0, int32(min(w.query.Count(), t.length))
	if c.quickOf(t) != g.quick {
		count = 0
	}
	for k, id := range g.ids {
		if slot := g.slots[k]; slot >= count || w.query.EntityAt(int(slot)) != w.byIndex[id.Index].entity {
			c.marks.strays = append(c.marks.strays, stray{id, g.rows[k]})
			continue
		}
		g.slots[n], g.ids[n], g.rows[n] = g.slots[k], id, g.rows[k]
		n++
	}
	g.slots, g.ids, g.rows = g.slots[:n], g.ids[:n], g.rows[:n]
}

// captureMarkedColumn captures a column of those that were gathered.
func (c *Capture) captureMarkedColumn(t *table, col *column) {
	marked, g := &t.marked, &c.group
	slots, ids := marked.slots, marked.ids
	if !marked.all.Has(col.row) {
		g.rows, g.ids = g.rows[:0], g.ids[:0]
		for k, rows := range marked.rows {
			if rows.Has(col.row) {
				g.rows, g.ids = append(g.rows, slots[k]), append(g.ids, ids[k])
			}
		}
		slots, ids = g.rows, g.ids
	}
	g.table = nil
	g.have = c.had(t, slots, ids)
	for from := 0; from < len(ids); from += groupRows {
		to := min(from+groupRows, len(ids))
		c.captureGroup(col, slots[from:to], ids[from:to])
	}
}

// had is the rows that the store has of all of some entities, which are in slots of a table.
func (c *Capture) had(t *table, slots []int32, ids []wire.NetworkID) snapshot.Mask {
	f := &t.familiar
	f.asOf(c.watch.moves, c.store.Shapes(), t.length)
	if f.has(slots) {
		return t.rows
	}
	have := c.store.Common(ids)
	if have&t.rows == t.rows {
		f.add(slots)
	}
	return have
}

// captureStrays captures what is captured by itself.
func (c *Capture) captureStrays() {
	m := &c.marks
	for _, s := range m.strays {
		c.captureStray(s.id, s.rows)
	}
	m.strays = m.strays[:0]
}

// captureStray captures marked rows of an entity wherever it is.
func (c *Capture) captureStray(id wire.NetworkID, rows snapshot.Mask) {
	at := c.watch.at(id)
	if at == nil || at.table == nowhere || !c.watch.world.Alive(at.entity) && !c.watch.relocate(at, id) {
		return
	}
	for at = c.watch.at(id); rows != 0; rows &= rows - 1 {
		c.captureMark(id, at, first(rows))
	}
}

func (c *Capture) captureMark(id wire.NetworkID, at *place, row int) {
	col := c.watch.tables[at.table].column(row)
	if col == nil || !col.aimAt(c.watch.world, at.entity) {
		return
	}
	if col.control != noControl {
		c.control(id, col, 0)
	}
	switch {
	case c.pace.never(col):
	case c.pace.due(id, col):
		c.captureRow(id, col, 0)
		c.keep(at, col)
	default:
		c.pace.putOff(id, row)
	}
	col.release()
}

// keep brings the shadow of an entity, if there is one, to what was captured of a column that is aimed at it.
func (c *Capture) keep(at *place, col *column) {
	if slot := int(at.slot); (slot+1)*col.size <= len(col.shadow) && (!col.aimed || slot < len(col.targets)) {
		col.keepRow(0, slot)
	}
}
