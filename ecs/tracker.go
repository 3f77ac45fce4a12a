package netecs

import (
	"cmp"
	"slices"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Rows are compared a chunk at once, then the blocks of a chunk that differs,
// then the rows of such a block. The chunk keeps the cost of an idle table near
// that of reading its memory, the block that of a few scattered changes low.
const (
	chunkRows = 16 * blockRows
	blockRows = 64
)

// leastRows is how many rows of a column that differ are worth telling of together: the way of several is more code than that of one, and a
// tick finds neither at hand.
const leastRows = 4

// tracker finds out what happened to the entities with a Replicated since it
// last looked. Capture and Apply both stand on it; they differ in what they do
// about it.
type tracker struct {
	world *ecs.World
	binding
	entityMap
	tag uint32

	with       ecs.Mask         // Replicated, with anything else
	everything ecs.CachedFilter // of with
	tables     []*table         // one for each mask that was ever seen
	activeTables
	byMask  map[ecs.Mask]*table
	query   ecs.Query  // the open one: a field, since the address of a local would escape
	guard   ecs.Query  // keeps the world locked
	present ecs.Entity // in a scattered table: that of the row that is looked at

	run  uint64           // number of the scan
	lost []wire.NetworkID // ids whose slot of the shadow was found taken or cut off
	rows []int32          // of a column that is looked at: those that differ
	left []movedEntity    // slots whose entity was found elsewhere

	locked bool // WorldLocked was noted, and the world has been locked since

	evicted []wire.NetworkID // ids that settle found out of their place

	life worldLife
	reports
}

// trackerEvents is told by scan what happened. The world is locked meanwhile.
type trackerEvents interface {
	// differs is called when the bytes of a component are not those in the slot, which
	// belongs to id. The row is the same entity as before. If it returns false, the shadow stays as it is, so that the next scan
	// finds the component different again.
	differs(id wire.NetworkID, c *column, row, slot int) (keep bool)
	// differ is differs for rows of a table that is one archetype, whose slots have the same numbers, and keeps them. It
	// is false when it did nothing: each is to be told of by itself.
	differ(t *table, c *column, rows []int32) bool
	// appears: the row's Replicated is not the one in the slot, or there is no
	// slot yet (-1 in a scattered table). The entity is new, moved, or its
	// Replicated was written.
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

// noteLocked reports whether the world is locked by an open query, and notes it once until it is unlocked again.
func (w *tracker) noteLocked() bool {
	locked := w.life.isCurrent(w.world) && w.world.IsLocked()
	if locked && !w.locked {
		w.note(Problem{Kind: WorldLocked})
	}
	w.locked = locked
	return locked
}

// release unregisters the filters. The watch knows nobody afterwards, and must
// not scan.
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

// scan compares the world with the shadow. Nothing of the shadow is given up:
// rows that only differ are kept at once, all else is for trim or settle.
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

// count is the number of entities that have a Replicated.
func (w *tracker) count() int {
	w.query = w.world.Query(&w.everything)
	n := w.query.Count()
	w.query.Close()
	return n
}

// discover makes tables for the masks that have none yet, and wakes those of masks that are there again.
func (w *tracker) discover() {
	var last ecs.Mask // never the mask of an entity that the filter finds
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

// scanTables returns the number of rows that the tables have in the world.
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

// scanArchetype goes over a table that is one archetype.
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

// scanChunk goes over the rows of a chunk.
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

// scanBlock goes over the rows of a block.
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

// scanWhole goes over a column of a chunk whose entities are where they were.
func (w *tracker) scanWhole(t *table, c *column, from, to int, h trackerEvents) {
	w.rows = w.rows[:0]
	for differed := false; from < to; from += blockRows {
		end := min(from+blockRows, to)
		if !differed && c.same(from, end) { // Where the block before differed, so does this one, most often.
			continue
		}
		n := len(w.rows)
		w.rows = c.collect(from, end, w.rows)
		differed = len(w.rows) > n
	}
	if len(w.rows) == 0 || len(w.rows) >= leastRows && h.differ(t, c, w.rows) {
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

// scanColumn finds the rows of a block with another component than before. A
// row that holds another entity than before is not for it to judge; there are
// such only where moved says so.
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

// slotOf is the slot of an entity in a scattered table by its Replicated, -1 when it has none there.
func (w *tracker) slotOf(t *table, r *components.Replicated, e ecs.Entity) int {
	at := w.entry(r.ID)
	if r.World != w.tag || at == nil || at.table != t.number || at.entity != e {
		return -1
	}
	return int(at.slot)
}

// owner is the id whose rows are in a slot, if they are an entity of ours.
func (w *tracker) owner(t *table, slot int) (wire.NetworkID, bool) {
	r := t.replicas.keptReplicated(slot)
	at := w.entry(r.ID)
	return r.ID, r.World == w.tag && at != nil && at.table == t.number && at.slot == int32(slot)
}

// noteDisplaced notes that a slot's occupant is no longer there. Where it is, if
// anywhere, is known when all tables were scanned.
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

// noteMoved notes that id's entity was found elsewhere than in its place.
func (w *tracker) noteMoved(id wire.NetworkID, at *entityEntry) {
	if at.table != nowhere && !w.tables[at.table].scattered {
		w.left = append(w.left, movedEntity{id, at.table, at.slot})
	}
}

// revisit looks again at the slots that were left. One that still seems to
// hold the same entity holds a copy of its Replicated, in another entity that
// came to lie exactly there, and the scan saw no difference.
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

// setSlot records that the scan found id's entity at a slot.
func (w *tracker) setSlot(at *entityEntry, t *table, slot int) {
	at.table, at.slot, at.stamp = t.number, int32(slot), w.run
	w.moves++
}

// entityAt is the entity of a row that the scan is at.
func (w *tracker) entityAt(t *table, row int) ecs.Entity {
	if t.scattered {
		return w.present
	}
	return w.query.EntityAt(row)
}

// foreign reports whether a Replicated is of another capture or apply, be it one of an entity without an id that an apply still shows.
func (w *tracker) foreign(r components.Replicated) bool {
	return r.World != w.tag && (r.World != 0 || !r.ID.IsZero())
}

// noteForeign reports an entity once that another manages, unless that is on this world too: a client and a server may share one.
func (w *tracker) noteForeign(e ecs.Entity, tag uint32) {
	if !w.life.manages(tag) {
		w.noteStrange(ForeignReplicated, e)
	}
}

// hasID reports whether an entity that was ours is alive and has the
// Replicated of id.
func (w *tracker) hasID(e ecs.Entity, id wire.NetworkID) bool {
	if !w.world.Alive(e) {
		return false
	}
	r := replicatedOf(w.world, e, w.replicated)
	return r != nil && *r == components.Replicated{ID: id, World: w.tag}
}

// patience is how many scans a table may hold nobody before it is not looked at any more: one that is left and come back to all the time
// costs less looked at than found again.
const patience = 64

// activeTables is the tables that are looked at, by number, and the others. A world in which game code adds and removes components has had
// ever more masks, of which most hold nobody: a query for each would be most of a tick.
type activeTables struct {
	active   []*table // all that have slots or rows, as of the last look
	idle     []*table // the others, in any order: they have neither
	patience uint64   // but for tests the constant
}

// addTable adds a table that is new.
func (o *activeTables) addTable(t *table, run uint64) {
	t.idle, t.busy = -1, run
	o.active = append(o.active, t)
	o.idle = slices.Grow(o.idle, len(o.active)) // so that nothing is allocated when tables retire and wake
	o.active = slices.Grow(o.active, len(o.idle))
}

// activate puts a table back where it is looked at in its turn, as if it had never been out: who comes first has the lower id.
func (o *activeTables) activate(t *table, run uint64) {
	last := o.idle[len(o.idle)-1]
	o.idle[t.idle], last.idle = last, t.idle
	o.idle = o.idle[:len(o.idle)-1]
	t.idle, t.busy = -1, run
	at, _ := slices.BinarySearchFunc(o.active, t.number, func(t *table, n int32) int { return cmp.Compare(t.number, n) })
	o.active = slices.Insert(o.active, at, t)
}

// updateActive finds out which tables are to be looked at: what is in the others is asked only when the number of entities says that there
// is somebody.
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
	if len(w.idle) > count { // to ask everybody is less than to ask every table
		w.discover()
		return
	}
	for n := len(w.idle) - 1; n >= 0; n-- { // from behind, as another takes the place of who wakes
		if t := w.idle[n]; w.length(t) > 0 {
			w.activate(t, w.run)
		}
	}
}

// length is the number of entities that a table has in the world.
func (w *tracker) length(t *table) int {
	w.query = w.world.Query(&t.filter)
	n := w.query.Count()
	w.query.Close()
	return n
}
