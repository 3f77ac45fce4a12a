package netecs

import (
	"slices"

	"github.com/arche-netcode/netcode/wire"
)

// groupRows is how many rows of a column are captured together: enough that what one waits for overlaps with others, and so few
// that what was fetched for one step is still at hand in the next.
const groupRows = 128

// group is the rows of a column that are captured together.
type group struct {
	rows  []int32 // those of entities that are ours
	ids   []wire.NetworkID
	old   []uint32 // as the store has them, one row behind the other
	lanes []uint32 // likewise, as they are now
	bad   []int32  // positions of those with a fault
}

// differ captures rows of one column, each step for all of them before the next.
func (c *Capture) differ(t *table, col *column, rows []int32) bool {
	if c.apart || !c.isQuick(col) {
		return false
	}
	for len(rows) > 0 {
		some := rows[:min(groupRows, len(rows))]
		c.captureGroup(t, col, some)
		col.keepRows(some)
		rows = rows[len(some):]
	}
	return true
}

// captureGroup is captureQuick for rows of one column.
func (c *Capture) captureGroup(t *table, col *column, rows []int32) {
	g := &c.group
	g.rows, g.ids = c.watch.occupants(t, rows, g.rows[:0], g.ids[:0])
	n := len(c.blank[col.row])
	g.old = slices.Grow(g.old[:0], n*len(g.ids))[:n*len(g.ids)]
	if !c.store.Rows(g.ids, col.row, g.old) {
		for k, id := range g.ids {
			c.differs(id, col, int(g.rows[k]), int(g.rows[k]))
		}
		return
	}
	g.lanes = append(g.lanes[:0], g.old...) // what a field keeps that cannot be captured
	g.bad = col.quantiseRows(g.rows, g.lanes, g.bad[:0])
	slices.Sort(g.bad)
	for _, k := range slices.Compact(g.bad) {
		c.noteFault(g.ids[k], col, col.plan.Quantise(col.at(int(g.rows[k])), g.lanes[int(k)*n:(int(k)+1)*n]))
	}
	c.store.ReplaceRows(g.ids, col.row, g.old, g.lanes)
}

// occupants lists those of some rows of a table in which an entity of ours is, and their ids.
func (w *watch) occupants(t *table, rows, held []int32, ids []wire.NetworkID) ([]int32, []wire.NetworkID) {
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
