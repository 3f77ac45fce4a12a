package netecs

import (
	"fmt"
	"math/bits"
	"reflect"
	"slices"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// marks stores the rows that game code marked since the last capture. A row is stored once, however often it is marked.
type marks struct {
	*Capture
	rows    snapshot.Mask   // rows that are captured only if marked
	only    bool            // all rows are captured only if marked; see Capture.ByMarks
	checked bool            // see Capture.CheckMarks
	world   bool            // MarkWorld was called
	byIndex []snapshot.Mask // by network index: the marked rows
	set     []uint64        // bits: indexes with marked rows
	words   []uint32        // numbers of the words of set that are not zero
	tables  []*table        // tables with gathered rows
	singles []singleRow     // marked rows to capture one by one
}

func newMarks(schema *snapshot.Schema, controls *controls, ids []ecs.ID) marks {
	m := marks{world: true}
	for row := range schema.Rows() {
		// Control components take effect at once, whatever the options.
		if schema.Options(row).Marked && controls.kind(ids[row]) == noControl {
			m.rows = m.rows.With(row)
		}
	}
	return m
}

// forgetMarks drops all marks. The next capture scans the whole world.
func (m *marks) forgetMarks() {
	for _, w := range m.words {
		m.set[w] = 0
	}
	clear(m.byIndex)
	m.words, m.world = m.words[:0], true
}

// has reports whether a row was marked.
func (m *marks) has(id wire.NetworkID, row int) bool {
	return uint(id.Index) < uint(len(m.byIndex)) && m.byIndex[id.Index].Has(row)
}

// Mark notes that game code wrote component T of an entity. The next Run captures the value that the component then
// has. Components with [snapshot.RowOptions].Marked need marks. After [Capture.ByMarks] all components do. For other
// components a mark changes nothing. An entity that no Run has seen needs no mark: Run captures it whole.
//
// Mark may be called while the world is locked. It ignores a T that is not in the schema. To mark many entities, a
// [Marker] is faster.
func Mark[T any](c *Capture, e ecs.Entity) {
	if row := c.tracker.schema.RowOf(reflect.TypeFor[T]()); row >= 0 {
		c.marks.mark(e, snapshot.Mask{}.With(row))
	}
}

// Marker marks components that are written together, see [Mark].
type Marker struct{ rows snapshot.Mask }

// NewMarker returns a Marker for components of a schema. It panics for a component that is not in the schema.
func NewMarker(schema *snapshot.Schema, components ...generic.Comp) (m Marker) {
	for _, t := range components {
		row := schema.RowOf(t)
		if row < 0 {
			panic(fmt.Sprintf("netecs: a Marker of %v, which is not replicated: register it with netcode.Replicate", t))
		}
		m.rows = m.rows.With(row)
	}
	return m
}

// Mark marks the Marker's components of an entity, as [Mark] does. The capture must have the schema of the Marker.
// Components that the entity does not have are ignored.
func (m Marker) Mark(c *Capture, e ecs.Entity) { c.marks.mark(e, m.rows) }

// mark notes that rows of an entity were written. Entities without an id are ignored.
func (m *marks) mark(e ecs.Entity, rows snapshot.Mask) {
	id, ok := m.tracker.idOf(e)
	if !ok {
		return
	}
	m, w := &m.marks, id.Index/64
	if uint(id.Index) >= uint(len(m.byIndex)) {
		m.byIndex = grown(m.byIndex, int(id.Index))
		m.set = grown(m.set, int(w))
	}
	if m.set[w] == 0 {
		m.words = append(m.words, w)
	}
	m.set[w] |= 1 << (id.Index % 64)
	m.byIndex[id.Index] = m.byIndex[id.Index].Union(rows)
}

// markDecides reports whether a component that differs is captured only if marked. It reports a write without a mark.
// It works only after CheckMarks. The shadow of an unmarked component stays, so that MarkWorld finds the write.
func (m *marks) markDecides(id wire.NetworkID, col *column) bool {
	if !m.checked || col.row < 0 || !(m.only && !m.world) && !m.rows.Has(col.row) {
		return false
	}
	if !m.has(id, col.row) && !m.reported[id.Index].unmarked.Has(col.row) {
		m.reported[id.Index].unmarked = m.reported[id.Index].unmarked.With(col.row)
		m.tracker.note(Problem{
			Kind: UnmarkedWrite, Entity: id, Local: m.tracker.entry(id).entity, Component: col.plan.Name(),
		})
	}
	return true
}

// noteUnmarked reports an entity that appeared, was removed or has other components without a MarkWorld.
func (m *marks) noteUnmarked(id wire.NetworkID, e ecs.Entity, now snapshot.Mask) {
	if m.only && m.checked && !m.world && now != m.store.Mask(id) {
		m.tracker.note(Problem{Kind: UnmarkedWrite, Entity: id, Local: e})
	}
}

// markedRows contains the marked entities of a table that is not scattered, in ascending order of their indexes.
type markedRows struct {
	slots    []int32
	ids      []wire.NetworkID
	rows     []snapshot.Mask // rows of each entity that are marked and always due
	any, all snapshot.Mask   // union and intersection of rows
	quick    snapshot.Mask   // rows of the table that are always due
	begun    bool            // the table has a marked entity in this capture
	stale    []uint64        // bits: slots captured by marks without a scan, so that their shadow is older than the store
}

// singleRow is a set of marked rows of an entity that is captured alone.
type singleRow struct {
	id   wire.NetworkID
	rows snapshot.Mask
}

// captureMarked captures the marked rows. Rows that are always due are captured column by column, as in a scan. Other
// rows are captured one by one.
func (m *marks) captureMarked() {
	slices.Sort(m.words) // ascending indexes: the order of the store's memory
	for _, w := range m.words {
		for set := m.set[w]; set != 0; set &= set - 1 {
			index := w*64 + uint32(bits.TrailingZeros64(set))
			m.gather(index, m.byIndex[index])
			m.byIndex[index] = snapshot.Mask{}
		}
		m.set[w] = 0
	}
	m.words = m.words[:0]
	m.captureSingles() // first: a control component among them affects the other rows
	for _, t := range m.tables {
		m.captureTable(t)
	}
	m.tables = m.tables[:0]
	m.captureSingles()
}

// gather adds the marked rows of an index to the rows of its table, or to singles.
func (m *marks) gather(index uint32, rows snapshot.Mask) {
	at, m := &m.tracker.byIndex[index], &m.marks
	if at.generation == 0 || at.table == nowhere {
		return
	}
	id, t := wire.NetworkID{Index: index, Generation: at.generation}, m.tracker.tables[at.table]
	g := &t.marked
	if !g.begun && !t.scattered {
		g.begun, g.quick, g.any, g.all = true, m.quickOf(t), snapshot.Mask{}, t.rows
		m.tables = append(m.tables, t)
	}
	if slow := rows.Minus(g.quick); !slow.IsZero() {
		m.singles = append(m.singles, singleRow{id, slow})
	}
	if rows = rows.Intersect(g.quick); !rows.IsZero() {
		g.slots, g.ids, g.rows = append(g.slots, at.slot), append(g.ids, id), append(g.rows, rows)
		g.any, g.all = g.any.Union(rows), g.all.Intersect(rows)
	}
}

// quickOf returns the rows of a table's columns that are always due.
func (m *marks) quickOf(t *table) (quick snapshot.Mask) {
	for _, columns := range [2][]column{t.columns, t.unscanned} {
		for i := range columns {
			if col := &columns[i]; col.row >= 0 && !col.relation && !m.apart && m.isQuick(col) {
				quick = quick.With(col.row)
			}
		}
	}
	return quick
}

// captureTable captures the gathered rows of a table. If this run does not scan, it does not update the shadow and
// notes the slots as stale.
func (m *marks) captureTable(t *table) {
	w, g := m.tracker, &t.marked
	g.begun = false
	if len(g.ids) == 0 {
		return
	}
	w.query = w.world.Query(&t.filter)
	if m.dropMoved(t); len(g.ids) > 0 {
		w.query.Next()
		for _, columns := range [2][]column{t.columns, t.unscanned} {
			for i := range columns {
				if col := &columns[i]; col.row >= 0 && g.any.Has(col.row) {
					col.bind(&w.query)
					m.captureMarkedColumn(t, col)
					col.unbind()
				}
			}
		}
	}
	w.query.Close()
	if !m.looked {
		g.markStale(t.length)
	}
	g.slots, g.ids, g.rows = g.slots[:0], g.ids[:0], g.rows[:0]
}

// markStale notes that the shadow of the gathered slots is stale. slots is the number of slots of the table.
func (g *markedRows) markStale(slots int) {
	g.stale = grown(g.stale, (slots-1)/64)
	for _, slot := range g.slots {
		g.stale[uint32(slot)/64] |= 1 << (uint32(slot) % 64)
	}
}

// clearStale forgets the stale slots.
func (g *markedRows) clearStale() {
	clear(g.stale)
	g.stale = g.stale[:0]
}

// dropMoved moves entities that are no longer in their slots to singles: game code may call MarkWorld late. If a mark
// set the first rate of the world, it moves all entities, since no row is then always due.
func (m *marks) dropMoved(t *table) {
	w, g := m.tracker, &t.marked
	n, count := 0, int32(min(w.query.Count(), t.length))
	if m.quickOf(t) != g.quick {
		count = 0
	}
	for k, id := range g.ids {
		if slot := g.slots[k]; slot >= count || w.query.EntityAt(int(slot)) != w.byIndex[id.Index].entity {
			m.singles = append(m.singles, singleRow{id, g.rows[k]})
			continue
		}
		g.slots[n], g.ids[n], g.rows[n] = g.slots[k], id, g.rows[k]
		n++
	}
	g.slots, g.ids, g.rows = g.slots[:n], g.ids[:n], g.rows[:n]
}

// captureMarkedColumn captures one column of the gathered rows.
func (m *marks) captureMarkedColumn(t *table, col *column) {
	marked, g := &t.marked, &m.batch
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
	g.have = m.batch.commonRows(t, slots, ids)
	for from := 0; from < len(ids); from += batchRows {
		to := min(from+batchRows, len(ids))
		m.batch.captureBatch(col, slots[from:to], ids[from:to])
	}
}

// commonRows returns the schema rows that the store has for all entities in slots of a table.
func (g *rowBatch) commonRows(t *table, slots []int32, ids []wire.NetworkID) snapshot.Mask {
	f := &t.ownedRows
	f.asOf(g.tracker.moves, g.store.Shapes(), t.length)
	if f.has(slots) {
		return t.rows
	}
	have := g.store.Common(ids)
	if t.rows.Within(have) {
		f.add(slots)
	}
	return have
}

// captureSingles captures the rows in singles.
func (m *marks) captureSingles() {
	for _, s := range m.singles {
		m.captureSingle(s.id, s.rows)
	}
	m.singles = m.singles[:0]
}

// captureSingle captures marked rows of an entity, in whatever table the entity is.
func (m *marks) captureSingle(id wire.NetworkID, rows snapshot.Mask) {
	at := m.tracker.entry(id)
	if at == nil || at.table == nowhere || !m.tracker.world.Alive(at.entity) && !m.tracker.rebind(at, id) {
		return
	}
	for at = m.tracker.entry(id); !rows.IsZero(); rows = rows.Rest() {
		m.captureMark(id, at, rows.Lowest())
	}
}

// captureMark captures one marked row of an entity.
func (m *marks) captureMark(id wire.NetworkID, at *entityEntry, row int) {
	col := m.tracker.tables[at.table].column(row)
	if col == nil || !col.bindTo(m.tracker.world, at.entity) {
		return
	}
	if col.control != noControl {
		m.control(id, col, 0)
	}
	switch {
	case m.rates.never(col):
	case m.rates.due(id, col):
		m.captureRow(id, col, 0)
		col.keepAt(at)
	default:
		m.rates.deferRow(id, row)
	}
	col.unbind()
}
