package netecs

import (
	"slices"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// groupRows is how many rows of a column are captured together: enough that what one waits for overlaps with others, and so few
// that what was fetched for one step is still at hand in the next.
const groupRows = 128

// group is rows that are captured together. Whose they are and what the store has of those is asked for the first column: for
// the next ones it is known, if it is the same rows that differ.
type group struct {
	table *table           // of which asked are the rows; nil when they are nobody's
	asked []int32          // whose was asked for
	rows  []int32          // those of entities that are ours
	ids   []wire.NetworkID // of these
	have  snapshot.Mask    // what all of them have
	lanes []uint32         // as they are now, one row behind the other
	bad   []int32          // positions of those with a fault
}

// ask finds out whose rows of a table are.
func (c *Capture) ask(t *table, rows []int32) {
	g := &c.group
	if g.table == t && slices.Equal(g.asked, rows) {
		return
	}
	g.table, g.asked = t, append(g.asked[:0], rows...)
	f := &t.familiar
	f.asOf(c.watch.moves, c.store.Shapes(), t.length)
	var all bool
	if g.ids, all = f.ids(t, rows, g.ids[:0]); all {
		g.rows, g.have = append(g.rows[:0], rows...), t.rows
		return
	}
	g.rows, g.ids = c.watch.occupants(t, rows, g.rows[:0], g.ids[:0])
	if g.have = c.store.Common(g.ids); g.have&t.rows == t.rows {
		f.add(g.rows)
	}
}

// familiar is the rows of a table of which it is known that an entity of ours is in each and that the store has all its rows: while no
// entity of either changes its place or its rows, that stays so. To ask anew is lines of memory all over the places and the store.
type familiar struct {
	moves, shapes uint64   // as of which
	rows          []uint64 // bits
}

// asOf forgets what was known before something changed.
func (f *familiar) asOf(moves, shapes uint64, rows int) {
	if words := (rows + 63) / 64; f.moves != moves || f.shapes != shapes || words > len(f.rows) {
		f.moves, f.shapes = moves, shapes
		f.rows = slices.Grow(f.rows[:0], words)[:words]
		clear(f.rows)
	}
}

// ids lists whose some rows are, if all are known.
func (f *familiar) ids(t *table, rows []int32, ids []wire.NetworkID) ([]wire.NetworkID, bool) {
	ids = slices.Grow(ids, len(rows))[:len(rows)]
	all := uint64(1)
	for k, row := range rows {
		all &= f.rows[uint32(row)/64] >> (uint32(row) % 64)
		ids[k] = t.replicas.keptReplicated(int(row)).ID
	}
	return ids, all != 0
}

// has reports whether all rows are known.
func (f *familiar) has(rows []int32) bool {
	all := uint64(1)
	for _, row := range rows {
		all &= f.rows[uint32(row)/64] >> (uint32(row) % 64)
	}
	return all != 0
}

func (f *familiar) add(rows []int32) {
	for _, row := range rows {
		f.rows[uint32(row)/64] |= 1 << (uint32(row) % 64)
	}
}

// differ captures rows of one column, each step for all of them before the next.
func (c *Capture) differ(t *table, col *column, rows []int32) bool {
	if c.apart || !c.isQuick(col) {
		return false
	}
	c.ask(t, rows)
	g := &c.group
	for from := 0; from < len(g.ids); from += groupRows {
		to := min(from+groupRows, len(g.ids))
		c.captureGroup(col, g.rows[from:to], g.ids[from:to])
	}
	col.keepRows(rows)
	return true
}

// captureGroup is captureQuick for rows of one column.
func (c *Capture) captureGroup(col *column, rows []int32, ids []wire.NetworkID) {
	g := &c.group
	if !g.have.Has(col.row) {
		for k, id := range ids {
			c.differs(id, col, int(rows[k]), int(rows[k]))
		}
		return
	}
	n := len(c.blank[col.row])
	g.lanes = slices.Grow(g.lanes[:0], n*len(ids))[:n*len(ids)] // rows without a fault have all lanes written
	g.bad = col.quantiseRows(rows, g.lanes, g.bad[:0])
	if len(g.bad) > 0 {
		c.noteFaults(col, rows, ids)
	}
	c.store.ReplaceRows(ids, col.row, g.lanes)
}

// noteFaults reports the rows of a group that have faults, and quantises them anew into what they were.
func (c *Capture) noteFaults(col *column, rows []int32, ids []wire.NetworkID) {
	g, n := &c.group, len(c.blank[col.row])
	slices.Sort(g.bad)
	for _, k := range slices.Compact(g.bad) {
		lanes := g.lanes[int(k)*n : (int(k)+1)*n]
		copy(lanes, c.store.Row(ids[k], col.row)) // what a field keeps that cannot be captured
		c.noteFault(ids[k], col, int(rows[k]), col.plan.Quantise(col.at(int(rows[k])), lanes))
	}
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
