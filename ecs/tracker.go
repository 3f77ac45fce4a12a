package netecs

import (
	"cmp"
	"slices"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Scans compare a chunk of rows at once, then the blocks of a chunk that differs, then the rows of such a block. The chunk
// makes an idle table cost little more than reading its memory, the block a few scattered changes cheap.
const (
	chunkRows = 16 * blockRows
	blockRows = 64
)

// leastRows is the number of differing rows of a column that are worth a batch: a batch is more code, and a tick finds no code
// in the cache.
const leastRows = 4

// tracker finds the changes of the entities with a Replicated since its last scan. Capture and Apply each have one, and differ
// in their response.
type tracker struct {
	world *ecs.World
	binding
	entityMap
	tag uint32

	with       ecs.Mask         // matches Replicated, with anything else
	everything ecs.CachedFilter // of with
	tables     []*table         // one for each mask ever seen
	activeTables
	byMask  map[ecs.Mask]*table
	query   ecs.Query  // the open one: a field, since the address of a local would escape
	guard   ecs.Query  // keeps the world locked
	present ecs.Entity // in a scattered table: the entity of the row in the scan

	run  uint64           // number of the scan
	lost []wire.NetworkID // ids that are not in their slots any more
	rows []int32          // scratch: rows of a column that differ
	left []movedEntity    // slots of entities that were found elsewhere

	locked bool // WorldLocked was noted, and the world has been locked since

	evicted []wire.NetworkID // ids that settle found out of their slots

	life worldLife
	reports
}

// trackerEvents responds to the changes that a scan finds. The world is locked meanwhile.
type trackerEvents interface {
	// differs is called when the bytes of a component are not those in the slot, which belongs to id. The row is the same entity
	// as before. If it returns false, the shadow stays as it is, and the next scan finds the component different again.
	differs(id wire.NetworkID, c *column, row, slot int) (keep bool)
	// rowsDiffer is differs for rows of a table that is one archetype, whose slots have the same numbers. It updates the shadow. If it
	// returns false, it did nothing, and differs is called for each row.
	rowsDiffer(t *table, c *column, rows []int32) bool
	// appears is called when the row's Replicated is not the one in the slot, or there is no slot yet (-1 in a scattered table).
	// The entity is new, moved, or its Replicated was written.
	appears(t *table, row, slot int)
}

func newTracker(w *ecs.World, schema *snapshot.Schema, tag uint32, captures bool, report func(Problem)) *tracker {
	a := &tracker{
		world: w, binding: bind(w, schema), tag: tag,
		byMask:  map[ecs.Mask]*table{},
		life:    newLife(w, tag, captures),
		reports: reports{report: report}, activeTables: activeTables{patience: patience},
	}
	a.with = ecs.All(a.replicated)
	a.everything = w.Cache().Register(&a.with)
	return a
}

// noteLocked reports whether an open query locks the world. It notes that once until the world is unlocked again.
func (w *tracker) noteLocked() bool {
	locked := w.life.isCurrent(w.world) && w.world.IsLocked()
	if locked && !w.locked {
		w.note(Problem{Kind: WorldLocked})
	}
	w.locked = locked
	return locked
}

// release unregisters the filters. The tracker must not scan afterwards.
func (w *tracker) release() {
	w.forgetShadows()
	w.life.leave(w.world)
	w.world.Cache().Unregister(&w.everything)
	for _, t := range w.tables {
		w.world.Cache().Unregister(&t.filter)
	}
	w.tables, w.active, w.idle = nil, nil, nil
	clear(w.byMask)
}

// forgetShadows drops every shadow and every id. Tables and memory stay.
func (w *tracker) forgetShadows() {
	w.entityMap.clear()
	w.reports.forgetReported()
	w.lost = w.lost[:0]
	for _, t := range w.tables {
		t.emptyShadow()
	}
}

// scan compares the world with the shadow and calls h for each change. It updates the shadow of rows that differ, and keeps
// all slots: trim and settle remove some.
func (w *tracker) scan(h trackerEvents) {
	w.run++
	w.lost, w.left = w.lost[:0], w.left[:0]
	w.updateActive()
	if n := w.scanTables(w.active, h); n != w.count() {
		known := len(w.active)
		w.discover()
		w.scanTables(w.active[known:], h)
	}
	if len(w.left) > 0 {
		w.revisit(h)
	}
}

// count returns the number of entities that have a Replicated.
func (w *tracker) count() int {
	w.query = w.world.Query(&w.everything)
	n := w.query.Count()
	w.query.Close()
	return n
}

// discover makes tables for the masks that have none yet, and activates those of masks that are there again.
func (w *tracker) discover() {
	var last ecs.Mask // the empty mask: no entity that the filter finds has it
	var found []ecs.Mask
	w.query = w.world.Query(&w.everything)
	for w.query.Next() {
		mask := w.query.Mask()
		if mask == last {
			continue
		}
		last = mask
		t, known := w.byMask[mask]
		if !known {
			w.byMask[mask] = nil
			found = append(found, mask)
		} else if t != nil && t.idle >= 0 {
			w.activate(t, w.run)
		}
	}
	for _, mask := range found {
		t := newTable(w.world, &w.binding, mask, int32(len(w.tables)))
		w.byMask[mask] = t
		w.tables = append(w.tables, t)
		w.addTable(t, w.run)
	}
}

// scanTables scans tables and returns the number of rows that they have in the world.
func (w *tracker) scanTables(list []*table, h trackerEvents) (sum int) {
	for _, t := range list {
		w.query = w.world.Query(&t.filter)
		t.seen = w.query.Count()
		if t.scattered {
			w.scanScattered(t, h)
		} else {
			w.scanArchetype(t, h)
		}
		sum += t.seen
	}
	return sum
}

// scanArchetype scans a table that is one archetype.
func (w *tracker) scanArchetype(t *table, h trackerEvents) {
	n, known := t.seen, min(t.seen, t.length)
	if n > 0 {
		w.query.Next()
		t.bindColumns(&w.query, n)
	}
	if len(t.marked.stale) > 0 {
		t.spoilStale(known)
	}
	for from := 0; from < known; from += chunkRows {
		w.scanChunk(t, from, min(from+chunkRows, known), h)
	}
	for row := known; row < n; row++ {
		h.appears(t, row, row)
	}
	for slot := n; slot < t.length; slot++ {
		w.noteDisplaced(t, slot)
	}
	t.unbindColumns()
	w.query.Close()
}

// scanChunk scans the rows of a chunk.
func (w *tracker) scanChunk(t *table, from, to int, h trackerEvents) {
	if t.replicas.same(from, to) {
		for i := range t.columns {
			if c := &t.columns[i]; !c.same(from, to) {
				w.scanWhole(t, c, from, to, h)
			}
		}
		return
	}
	for ; from < to; from += blockRows {
		w.scanBlock(t, from, min(from+blockRows, to), h)
	}
}

// scanBlock scans the rows of a block.
func (w *tracker) scanBlock(t *table, from, to int, h trackerEvents) {
	moved := !t.replicas.same(from, to)
	if moved {
		w.scanReplicas(t, from, to, h)
	}
	for i := range t.columns {
		if c := &t.columns[i]; moved || !c.same(from, to) {
			w.scanColumn(t, c, from, to, moved, h)
		}
	}
}

// scanWhole scans a column of a chunk whose entities are where they were.
func (w *tracker) scanWhole(t *table, c *column, from, to int, h trackerEvents) {
	w.rows = w.rows[:0]
	for differed := false; from < to; from += blockRows {
		end := min(from+blockRows, to)
		if !differed && c.same(from, end) { // If the block before differed, this one most likely does.
			continue
		}
		n := len(w.rows)
		w.rows = c.collect(from, end, w.rows)
		differed = len(w.rows) > n
	}
	if len(w.rows) == 0 || len(w.rows) >= leastRows && h.rowsDiffer(t, c, w.rows) {
		return
	}
	for _, row := range w.rows {
		if id, ok := w.owner(t, int(row)); !ok || h.differs(id, c, int(row), int(row)) {
			c.keepRow(int(row), int(row))
		}
	}
}

// scanReplicas finds the rows of a block with another Replicated than before.
func (w *tracker) scanReplicas(t *table, from, to int, h trackerEvents) {
	for row := t.replicas.differing(from, to); row < to; row = t.replicas.differing(row+1, to) {
		w.noteDisplaced(t, row)
		h.appears(t, row, row)
	}
}

// scanColumn finds the rows of a block with another component than before. If moved, it skips rows with another entity than
// before: scanReplicas found them.
func (w *tracker) scanColumn(t *table, c *column, from, to int, moved bool, h trackerEvents) {
	for row := c.differing(from, to); row < to; row = c.differing(row+1, to) {
		if moved && !t.replicas.sameRow(row, row) {
			continue
		}
		if id, ok := w.owner(t, row); !ok || h.differs(id, c, row, row) {
			c.keepRow(row, row)
		}
	}
}

// slotOf returns the slot of an entity in a scattered table by its Replicated, -1 when it has none there.
func (w *tracker) slotOf(t *table, r *components.Replicated, e ecs.Entity) int {
	at := w.entry(r.ID)
	if r.World != w.tag || at == nil || at.table != t.number || at.entity != e {
		return -1
	}
	return int(at.slot)
}

// owner returns the id whose rows are in a slot, if it is an entity of ours.
func (w *tracker) owner(t *table, slot int) (wire.NetworkID, bool) {
	r := t.replicas.keptReplicated(slot)
	at := w.entry(r.ID)
	return r.ID, r.World == w.tag && at != nil && at.table == t.number && at.slot == int32(slot)
}

// noteDisplaced notes that the owner of a slot is no longer there. When all tables are scanned, it may have been found
// elsewhere.
func (w *tracker) noteDisplaced(t *table, slot int) {
	if id, ok := w.owner(t, slot); ok {
		w.lost = append(w.lost, id)
	}
}

// movedEntity is a slot that an entity left for another.
type movedEntity struct {
	id    wire.NetworkID
	table int32
	slot  int32
}

// noteMoved notes that id's entity was found in another slot than before.
func (w *tracker) noteMoved(id wire.NetworkID, at *entityEntry) {
	if at.table != nowhere && !w.tables[at.table].scattered {
		w.left = append(w.left, movedEntity{id, at.table, at.slot})
	}
}

// revisit looks again at the slots that entities left. If a slot still seems to have the same entity, another entity with a
// copy of its Replicated came to lie there, and the scan saw no difference.
func (w *tracker) revisit(h trackerEvents) {
	for i := 0; i < len(w.left); i++ {
		d := w.left[i]
		t, row := w.tables[d.table], int(d.slot)
		if row >= t.seen {
			continue
		}
		w.query = w.world.Query(&t.filter)
		w.query.Next()
		t.bindColumns(&w.query, 0)
		at := w.entry(d.id)
		r := components.Replicated{ID: d.id, World: w.tag}
		if *t.replicas.replicated(row) == r && at != nil && at.entity != w.query.EntityAt(row) {
			h.appears(t, row, row)
		}
		t.unbindColumns()
		w.query.Close()
	}
}

// setSlot notes that the scan found id's entity at a slot.
func (w *tracker) setSlot(at *entityEntry, t *table, slot int) {
	at.table, at.slot, at.stamp = t.number, int32(slot), w.run
	w.moves++
}

// entityAt returns the entity of a row in the scan.
func (w *tracker) entityAt(t *table, row int) ecs.Entity {
	if t.scattered {
		return w.present
	}
	return w.query.EntityAt(row)
}

// foreign reports whether a Replicated is of another capture or apply, also that of a despawned entity that an apply still
// shows.
func (w *tracker) foreign(r components.Replicated) bool {
	return r.World != w.tag && (r.World != 0 || !r.ID.IsZero())
}

// noteForeign reports once an entity of another capture or apply, unless that is on this world too: a client and a server may
// share one.
func (w *tracker) noteForeign(e ecs.Entity, tag uint32) {
	if !w.life.manages(tag) {
		w.noteStrange(ForeignReplicated, e)
	}
}

// hasID reports whether an entity that was ours is alive and has the Replicated of id.
func (w *tracker) hasID(e ecs.Entity, id wire.NetworkID) bool {
	if !w.world.Alive(e) {
		return false
	}
	r := replicatedOf(w.world, e, w.replicated)
	return r != nil && *r == components.Replicated{ID: id, World: w.tag}
}

// patience is the number of scans after which an empty table becomes idle. A table that is emptied and filled all the time is
// cheaper to scan than to find again.
const patience = 64

// activeTables separates the tables that are scanned from idle ones. A world in which game code adds and removes components
// gets ever more masks, most of them without entities: a query for each would be most of a tick.
type activeTables struct {
	active   []*table // with slots or rows at the last scan, by number
	idle     []*table // the others, in any order
	patience uint64   // the constant, but for tests
}

// addTable adds a new table.
func (o *activeTables) addTable(t *table, run uint64) {
	t.idle, t.busy = -1, run
	o.active = append(o.active, t)
	o.idle = slices.Grow(o.idle, len(o.active)) // becoming idle or active allocates nothing
	o.active = slices.Grow(o.active, len(o.idle))
}

// activate makes an idle table active again, in the order of the numbers: the order of the scan decides about ids.
func (o *activeTables) activate(t *table, run uint64) {
	last := o.idle[len(o.idle)-1]
	o.idle[t.idle], last.idle = last, t.idle
	o.idle = o.idle[:len(o.idle)-1]
	t.idle, t.busy = -1, run
	at, _ := slices.BinarySearchFunc(o.active, t.number, func(t *table, n int32) int { return cmp.Compare(t.number, n) })
	o.active = slices.Insert(o.active, at, t)
}

// updateActive makes tables idle that have long been empty. If the number of entities tells that an idle table has some, it
// makes that active.
func (w *tracker) updateActive() {
	kept := w.active[:0]
	for _, t := range w.active {
		if t.length+t.seen > 0 {
			t.busy = w.run
		}
		if w.run-t.busy <= w.patience {
			kept = append(kept, t)
			continue
		}
		t.idle = int32(len(w.idle))
		w.idle = append(w.idle, t)
	}
	clear(w.active[len(kept):])
	w.active = kept
	if len(w.idle) == 0 {
		return
	}
	sum, count := 0, w.count()
	for _, t := range w.active {
		sum += w.length(t)
	}
	if sum == count {
		return
	}
	if len(w.idle) > count { // a query over all entities costs less than one for each table
		w.discover()
		return
	}
	for n := len(w.idle) - 1; n >= 0; n-- { // from the end: activate puts the last one here
		if t := w.idle[n]; w.length(t) > 0 {
			w.activate(t, w.run)
		}
	}
}

// length returns the number of entities that a table has in the world.
func (w *tracker) length(t *table) int {
	w.query = w.world.Query(&t.filter)
	n := w.query.Count()
	w.query.Close()
	return n
}
