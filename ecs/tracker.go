package netecs

import (
	"cmp"
	"slices"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Scans compare a chunk of rows at once, then the blocks of a chunk that differs, then the rows of a block that
// differs. Large chunks make an idle table cost little more than reading its memory. Small blocks make a few scattered
// changes cheap.
const (
	chunkRows = 16 * blockRows
	blockRows = 64
)

// leastRows is the least number of differing rows of a column that are captured as a batch. A batch runs more code, and
// in each tick that code must first be loaded into the cache.
const leastRows = 4

// tracker finds the changes of entities with a Replicated since its last scan. Capture and Apply have one each. They
// handle the changes in different ways: see trackerEvents.
type tracker struct {
	world *World
	binding
	entityMap
	tag uint32

	everything world.Filter // of all entities with a Replicated
	tables     []*table     // one for each mask ever seen
	activeTables
	byMask  map[world.Mask]*table
	query   world.Query // the open query: a field, since the address of a local variable would escape
	present Entity      // in a scattered table: the entity of the scanned row

	run  uint64           // number of the scan
	lost []wire.NetworkID // ids that are no longer in their slots
	rows []int32          // scratch: differing rows of a column
	left []movedEntity    // slots of entities that were found in another slot

	locked bool // WorldLocked was noted, and the world has been locked since

	evicted []wire.NetworkID // ids whose slot assignSlots took away

	life worldLife
	reports
}

// trackerEvents handles the changes that a scan finds. The world is locked during its calls.
type trackerEvents interface {
	// differs is called when the bytes of a component differ from the slot of id. The entity is the same as before. If
	// it returns false, the shadow stays as it is, and the next scan finds the component different again.
	differs(id wire.NetworkID, c *column, row, slot int) (keep bool)
	// rowsDiffer is differs for several rows of a table that is not scattered: the slot of each row has the same
	// number. It updates the shadow. If it returns false, it did nothing, and differs is called for each row.
	rowsDiffer(t *table, c *column, rows []int32) bool
	// appears is called when the Replicated of a row differs from the slot, or when the row has no slot (-1 in a
	// scattered table). The entity is new, it moved, or its Replicated was written.
	appears(t *table, row, slot int)
}

func newTracker(w *World, schema *snapshot.Schema, tag uint32, captures bool, report func(Problem)) *tracker {
	tr := &tracker{
		world: w, binding: bind(w, schema), tag: tag,
		byMask:  map[world.Mask]*table{},
		life:    newLife(w, tag, captures),
		reports: reports{report: report}, activeTables: activeTables{patience: patience},
	}
	tr.everything = world.Register(w, world.All(tr.replicated).Without())
	return tr
}

// noteLocked reports whether an open query locks the world. It queues a WorldLocked problem once until the world is
// unlocked again.
func (tr *tracker) noteLocked() bool {
	locked := tr.life.isCurrent(tr.world) && tr.world.IsLocked()
	if locked && !tr.locked {
		tr.note(Problem{Kind: WorldLocked})
	}
	tr.locked = locked
	return locked
}

// release unregisters the filters. The tracker must not scan afterwards.
func (tr *tracker) release() {
	tr.forgetShadows()
	tr.life.leave(tr.world)
	world.Unregister(tr.world, &tr.everything)
	for _, t := range tr.tables {
		world.Unregister(tr.world, &t.filter)
	}
	tr.tables, tr.active, tr.idle = nil, nil, nil
	clear(tr.byMask)
}

// forgetShadows drops every shadow and every id. The tables and their memory stay.
func (tr *tracker) forgetShadows() {
	tr.entityMap.clear()
	clear(tr.strange)
	tr.lost = tr.lost[:0]
	for _, t := range tr.tables {
		t.emptyShadow()
	}
}

// scan compares the world with the shadow and calls h for each change. It updates the shadow of rows that differ. It
// does not remove slots: trim, cutOff and assignSlots do.
func (tr *tracker) scan(h trackerEvents) {
	tr.run++
	tr.lost, tr.left = tr.lost[:0], tr.left[:0]
	tr.updateActive()
	if n := tr.scanTables(tr.active, h); n != tr.count(&tr.everything) {
		known := len(tr.active)
		tr.discover()
		tr.scanTables(tr.active[known:], h)
	}
	if len(tr.left) > 0 {
		tr.revisit(h)
	}
}

// count returns the number of entities in the world that match a filter.
func (tr *tracker) count(filter *world.Filter) int {
	tr.query = world.Open(tr.world, filter)
	n := tr.query.Count()
	tr.query.Close()
	return n
}

// discover creates tables for new component masks, and activates idle tables whose mask has entities again.
func (tr *tracker) discover() {
	var last world.Mask // the empty mask: no entity of this query has it
	var found []world.Mask
	tr.query = world.Open(tr.world, &tr.everything)
	for tr.query.Next() {
		mask := tr.query.Mask()
		if mask == last {
			continue
		}
		last = mask
		t, known := tr.byMask[mask]
		if !known {
			tr.byMask[mask] = nil
			found = append(found, mask)
		} else if t != nil && t.idle >= 0 {
			tr.activate(t, tr.run)
		}
	}
	for _, mask := range found {
		t := newTable(tr.world, &tr.binding, mask, int32(len(tr.tables)))
		tr.byMask[mask] = t
		tr.tables = append(tr.tables, t)
		tr.addTable(t, tr.run)
	}
}

// scanTables scans tables and returns the number of their rows in the world.
func (tr *tracker) scanTables(list []*table, h trackerEvents) (sum int) {
	for _, t := range list {
		tr.query = world.Open(tr.world, &t.filter)
		t.seen = tr.query.Count()
		if t.scattered {
			tr.scanScattered(t, h)
		} else {
			tr.scanArchetype(t, h)
		}
		sum += t.seen
	}
	return sum
}

// scanArchetype scans a table that is not scattered.
func (tr *tracker) scanArchetype(t *table, h trackerEvents) {
	n, known := t.seen, min(t.seen, t.length)
	if n > 0 {
		tr.query.Next()
		t.bindColumns(&tr.query, n)
	}
	for from := 0; from < known; from += chunkRows {
		tr.scanChunk(t, from, min(from+chunkRows, known), h)
	}
	for row := known; row < n; row++ {
		h.appears(t, row, row)
	}
	for slot := n; slot < t.length; slot++ {
		tr.noteDisplaced(t, slot)
	}
	t.unbindColumns()
	tr.query.Close()
}

// scanChunk scans the rows of a chunk.
func (tr *tracker) scanChunk(t *table, from, to int, h trackerEvents) {
	if t.replicas.same(from, to) {
		for i := range t.columns {
			if c := &t.columns[i]; !c.same(from, to) {
				tr.scanWhole(t, c, from, to, h)
			}
		}
		return
	}
	for ; from < to; from += blockRows {
		tr.scanBlock(t, from, min(from+blockRows, to), h)
	}
}

// scanBlock scans the rows of a block, in which entities may have moved.
func (tr *tracker) scanBlock(t *table, from, to int, h trackerEvents) {
	moved := !t.replicas.same(from, to)
	if moved {
		for row := t.replicas.differing(from, to); row < to; row = t.replicas.differing(row+1, to) { // another Replicated than before
			tr.noteDisplaced(t, row)
			h.appears(t, row, row)
		}
	}
	for i := range t.columns {
		if c := &t.columns[i]; moved || !c.same(from, to) {
			tr.scanColumn(t, c, from, to, moved, h)
		}
	}
}

// scanWhole scans a column of a chunk in which no entity moved.
func (tr *tracker) scanWhole(t *table, c *column, from, to int, h trackerEvents) {
	tr.rows = tr.rows[:0]
	for differed := false; from < to; from += blockRows {
		end := min(from+blockRows, to)
		if !differed && c.same(from, end) { // After a block that differs, the next one most likely does, too.
			continue
		}
		n := len(tr.rows)
		tr.rows = c.collect(from, end, tr.rows)
		differed = len(tr.rows) > n
	}
	if len(tr.rows) == 0 || len(tr.rows) >= leastRows && h.rowsDiffer(t, c, tr.rows) {
		return
	}
	for _, row := range tr.rows {
		if id, ok := tr.owner(t, int(row)); !ok || h.differs(id, c, int(row), int(row)) {
			c.keepRow(int(row), int(row))
		}
	}
}

// scanColumn handles the rows of a block whose component differs. If moved, it skips rows whose Replicated changed:
// scanBlock handled them.
func (tr *tracker) scanColumn(t *table, c *column, from, to int, moved bool, h trackerEvents) {
	for row := c.differing(from, to); row < to; row = c.differing(row+1, to) {
		if moved && !t.replicas.sameRow(row, row) {
			continue
		}
		if id, ok := tr.owner(t, row); !ok || h.differs(id, c, row, row) {
			c.keepRow(row, row)
		}
	}
}

// slotOf returns the slot of an entity in a scattered table, found by its Replicated, or -1.
func (tr *tracker) slotOf(t *table, r *components.Replicated, e Entity) int {
	at := tr.entry(r.ID)
	if r.World != tr.tag || at == nil || at.table != t.number || at.entity != e {
		return -1
	}
	return int(at.slot)
}

// owner returns the id that a slot belongs to, if it belongs to an entity of this tracker.
func (tr *tracker) owner(t *table, slot int) (wire.NetworkID, bool) {
	r := t.replicas.keptReplicated(slot)
	at := tr.entry(r.ID)
	return r.ID, r.World == tr.tag && at != nil && at.table == t.number && at.slot == int32(slot)
}

// noteDisplaced notes that the entity of a slot is no longer there. The scan may still find it in another slot.
func (tr *tracker) noteDisplaced(t *table, slot int) {
	if id, ok := tr.owner(t, slot); ok {
		tr.lost = append(tr.lost, id)
	}
}

// movedEntity is a slot that an entity left for another slot.
type movedEntity struct {
	id    wire.NetworkID
	table int32
	slot  int32
}

// noteMoved notes that the entity of id was found in another slot than before.
func (tr *tracker) noteMoved(id wire.NetworkID, at *entityEntry) {
	if at.table != nowhere && !tr.tables[at.table].scattered {
		tr.left = append(tr.left, movedEntity{id, at.table, at.slot})
	}
}

// revisit examines the slots that entities left. If a slot still has the same Replicated, another entity with a copy of
// it took the row, and the scan saw no difference.
func (tr *tracker) revisit(h trackerEvents) {
	for i := 0; i < len(tr.left); i++ {
		d := tr.left[i]
		t, row := tr.tables[d.table], int(d.slot)
		if row >= t.seen {
			continue
		}
		tr.query = world.Open(tr.world, &t.filter)
		tr.query.Next()
		t.bindColumns(&tr.query, 0)
		at := tr.entry(d.id)
		r := components.Replicated{ID: d.id, World: tr.tag}
		if *t.replicas.replicated(row) == r && at != nil && at.entity != tr.query.EntityAt(row) {
			h.appears(t, row, row)
		}
		t.unbindColumns()
		tr.query.Close()
	}
}

// entityAt returns the entity of a row of the scanned table.
func (tr *tracker) entityAt(t *table, row int) Entity {
	if t.scattered {
		return tr.present
	}
	return tr.query.EntityAt(row)
}

// foreign reports whether a Replicated belongs to another capture or apply. The Replicated of a despawned entity that
// an apply still shows counts as foreign for others.
func (tr *tracker) foreign(r components.Replicated) bool {
	return r.World != tr.tag && (r.World != 0 || !r.ID.IsZero())
}

// noteForeign reports an entity of another capture or apply, once. It does not report it if that one works on this
// world too, as a client and a server in one world do.
func (tr *tracker) noteForeign(e Entity, tag uint32) {
	if !tr.life.manages(tag) {
		tr.noteStrange(ForeignReplicated, e)
	}
}

// hasID reports whether an entity of this life of the world is alive and has the Replicated of id.
func (tr *tracker) hasID(e Entity, id wire.NetworkID) bool {
	if !tr.world.Alive(e) {
		return false
	}
	r := replicatedOf(tr.world, e, tr.replicated)
	return r != nil && *r == components.Replicated{ID: id, World: tr.tag}
}

// patience is the number of scans after which an empty table becomes idle. A table that is often emptied and filled
// again is cheaper to scan than to find again.
const patience = 64

// activeTables separates tables that are scanned from idle ones. A world in which game code adds and removes components
// gets more and more masks, most of them without entities. A query for each of them would take most of a tick.
type activeTables struct {
	active   []*table // tables to scan, by number
	idle     []*table // other tables, in any order
	patience uint64   // the constant, except in tests
}

// addTable adds a new table.
func (o *activeTables) addTable(t *table, run uint64) {
	t.idle, t.busy = -1, run
	o.active = append(o.active, t)
	o.idle = slices.Grow(o.idle, len(o.active)) // a table then becomes idle or active without an allocation
	o.active = slices.Grow(o.active, len(o.idle))
}

// activate makes an idle table active again. Active tables stay in the order of their numbers, since the order of the
// scan decides which entity gets which id.
func (o *activeTables) activate(t *table, run uint64) {
	last := o.idle[len(o.idle)-1]
	o.idle[t.idle], last.idle = last, t.idle
	o.idle = o.idle[:len(o.idle)-1]
	t.idle, t.busy = -1, run
	at, _ := slices.BinarySearchFunc(o.active, t.number, func(t *table, n int32) int { return cmp.Compare(t.number, n) })
	o.active = slices.Insert(o.active, at, t)
}

// updateActive makes tables idle that were empty for long. If the number of entities shows that an idle table has
// entities, it makes that table active.
func (tr *tracker) updateActive() {
	kept := tr.active[:0]
	for _, t := range tr.active {
		if t.length+t.seen > 0 {
			t.busy = tr.run
		}
		if tr.run-t.busy <= tr.patience {
			kept = append(kept, t)
			continue
		}
		t.idle = int32(len(tr.idle))
		tr.idle = append(tr.idle, t)
	}
	clear(tr.active[len(kept):])
	tr.active = kept
	if len(tr.idle) == 0 {
		return
	}
	sum, count := 0, tr.count(&tr.everything)
	for _, t := range tr.active {
		sum += tr.count(&t.filter)
	}
	if sum == count {
		return
	}
	if len(tr.idle) > count { // one query over all entities costs less than one query for each table
		tr.discover()
		return
	}
	for n := len(tr.idle) - 1; n >= 0; n-- { // backwards, since activate moves the last table to this place
		if t := tr.idle[n]; tr.count(&t.filter) > 0 {
			tr.activate(t, tr.run)
		}
	}
}

// isReplicated reports whether an entity is alive and has a Replicated with any value.
func (tr *tracker) isReplicated(e Entity) bool {
	return tr.world.Alive(e) && world.Has(tr.world, e, tr.replicated)
}

// rebind assigns an id to the entity that is now in its slot, if that has the same Replicated. It is needed when the
// id's entity was removed and a copy took its row: the handle changed, and no byte of the row did.
func (tr *tracker) rebind(at *entityEntry, id wire.NetworkID) bool {
	if at.table < 0 || tr.tables[at.table].scattered {
		return false
	}
	tr.query = world.Open(tr.world, &tr.tables[at.table].filter)
	defer tr.query.Close()
	if int(at.slot) >= tr.query.Count() {
		return false
	}
	e := tr.query.EntityAt(int(at.slot))
	if !tr.hasID(e, id) {
		return false
	}
	table, slot, stamp := at.table, at.slot, at.stamp
	again := tr.assign(id, e)
	again.table, again.slot, again.stamp = table, slot, stamp
	return true
}

// owners appends the rows of a table that belong to entities of this tracker, and their ids.
func (tr *tracker) owners(t *table, rows, held []int32, ids []wire.NetworkID) ([]int32, []wire.NetworkID) {
	held, ids = slices.Grow(held, len(rows))[:len(rows)], slices.Grow(ids, len(rows))[:len(rows)]
	n, places, tag, number := 0, tr.byIndex, tr.tag, t.number
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

// trim drops the slots after the last row of the scan. Captures call it, since they assign a slot to every row that
// appears.
func (tr *tracker) trim() {
	for _, t := range tr.active {
		switch {
		case !t.scattered:
			t.length = t.seen
		case t.stamped < t.length:
			tr.closeGaps(t)
		}
	}
}

// closeGaps drops the slots of a scattered table that this scan did not stamp.
func (tr *tracker) closeGaps(t *table) {
	for slot := 0; slot < t.length; {
		if t.stamps[slot] == tr.run {
			slot++
			continue
		}
		last := t.length - 1
		if slot != last {
			if id, ok := tr.owner(t, last); ok {
				tr.entry(id).slot = int32(slot)
			}
			t.moveSlot(last, slot)
		}
		t.length--
	}
}

// cutOff drops the slots after the last row of the scan. An entity that was removed from there may return with the same
// id in the same row. Without cutOff it would be mistaken for the old entity.
func (tr *tracker) cutOff() {
	for _, t := range tr.active {
		if !t.scattered {
			t.length = min(t.length, t.seen)
		}
	}
}

// assignSlots assigns slots to all ids after structural changes, and fills the shadow of rows that are new in their slots.
// Of other rows it compares only the Replicated. If game code wrote their components meanwhile, they differ from the
// shadow, and the next scan finds them.
func (tr *tracker) assignSlots() {
	tr.run++
	tr.evicted = tr.evicted[:0]
	tr.updateActive()
	sum := 0
	for _, t := range tr.active {
		sum += tr.assignTable(t)
	}
	if sum == tr.count(&tr.everything) {
		return
	}
	known := len(tr.active)
	tr.discover()
	for _, t := range tr.active[known:] {
		tr.assignTable(t)
	}
}

// assignTable assigns the slots of a table and returns the number of its rows in the world.
func (tr *tracker) assignTable(t *table) int {
	tr.query = world.Open(tr.world, &t.filter)
	t.seen = tr.query.Count()
	if t.scattered {
		tr.assignScattered(t)
	} else {
		tr.assignArchetype(t)
	}
	return t.seen
}

// assignArchetype assigns the slots of a table that is not scattered.
func (tr *tracker) assignArchetype(t *table) {
	n := t.seen
	if n > 0 {
		tr.query.Next()
		t.bindColumns(&tr.query, n)
	}
	for from := 0; from < n; from += blockRows {
		to := min(from+blockRows, n)
		if to > t.length || !t.replicas.same(from, to) {
			tr.assignBlock(t, from, to)
		}
	}
	for slot := n; slot < t.length; slot++ {
		tr.evict(t, slot)
	}
	t.length = n
	t.unbindColumns()
	tr.query.Close()
}

// assignBlock assigns the slots from <= row < to to the ids in these rows.
func (tr *tracker) assignBlock(t *table, from, to int) {
	for row := from; row < to; row++ {
		if row < t.length && t.replicas.sameRow(row, row) {
			continue
		}
		if row < t.length {
			tr.evict(t, row)
		}
		tr.assignSlot(t, row, row)
		t.keepRow(row, row)
		if _, ok := tr.owner(t, row); !ok {
			tr.spoilSlot(t, row) // despawned and not yet removed: another entity with equal bytes may take the row
		}
	}
}

// spoilSlot changes the Replicated in a slot of this tracker. A later entity with the same id in that row is then found
// as new.
func (tr *tracker) spoilSlot(t *table, slot int) {
	if r := t.replicas.keptReplicated(slot); r.World == tr.tag {
		t.replicas.spoil(slot, r)
	}
}

// evict takes a slot from its id. assignSlots assigns another slot to the id, unless its entity was removed.
func (tr *tracker) evict(t *table, slot int) {
	if id, ok := tr.owner(t, slot); ok {
		tr.entry(id).table = nowhere
		tr.evicted = append(tr.evicted, id)
	}
}

// assignSlot assigns a slot to the id in a row.
func (tr *tracker) assignSlot(t *table, row, slot int) {
	r := t.replicas.replicated(row)
	if at := tr.entry(r.ID); r.World == tr.tag && at != nil && at.entity == tr.entityAt(t, row) {
		at.table, at.slot = t.number, int32(slot)
	}
}

// assignScattered assigns the slots of a scattered table.
func (tr *tracker) assignScattered(t *table) {
	t.stamped = 0
	for tr.query.Next() {
		t.replicas.bind(&tr.query)
		r := t.replicas.replicated(0)
		tr.present = tr.query.Entity()
		slot := tr.slotOf(t, r, tr.present)
		if slot < 0 {
			if at := tr.entry(r.ID); at == nil || at.entity != tr.present || r.World != tr.tag {
				continue // not managed by this tracker: it needs no shadow
			}
			t.bindColumns(&tr.query, 0)
			slot = t.newSlot(tr.run)
			tr.assignSlot(t, 0, slot)
			t.keepRow(0, slot)
		} else {
			t.stamp(slot, tr.run)
		}
	}
	t.unbindColumns()
	for slot := 0; slot < t.length && t.stamped < t.length; slot++ {
		if t.stamps[slot] != tr.run {
			tr.evict(t, slot)
		}
	}
	if t.stamped < t.length {
		tr.closeGaps(t)
	}
}

// scanScattered scans a scattered table and closes the query.
func (tr *tracker) scanScattered(t *table, h trackerEvents) {
	before := t.length
	t.stamped = 0
	for tr.query.Next() {
		t.bindColumns(&tr.query, 0)
		tr.present = tr.query.Entity()
		slot := tr.slotOf(t, t.replicas.replicated(0), tr.present)
		if slot < 0 {
			h.appears(t, 0, -1)
			continue
		}
		t.stamp(slot, tr.run)
		for i := range t.columns {
			if c := &t.columns[i]; !c.sameRow(0, slot) && h.differs(t.replicas.keptReplicated(slot).ID, c, 0, slot) {
				c.keepRow(0, slot)
			}
		}
	}
	t.unbindColumns()
	for slot := 0; slot < before && t.stamped < t.length; slot++ {
		if t.stamps[slot] != tr.run {
			tr.noteDisplaced(t, slot)
		}
	}
}

// kept returns the bytes of a component in the shadow, or nil.
func (tr *tracker) kept(at *entityEntry, row int) []byte {
	if at == nil || at.table == nowhere {
		return nil
	}
	t := tr.tables[at.table]
	c := t.column(row)
	if c == nil || int(at.slot) >= t.length {
		return nil
	}
	return c.shadow[int(at.slot)*c.size : (int(at.slot)+1)*c.size]
}

// keptTarget returns the target of a relation in the shadow, if the entity has a slot.
func (tr *tracker) keptTarget(at *entityEntry, row int) (Entity, bool) {
	if at.table == nowhere {
		return Entity{}, false
	}
	t := tr.tables[at.table]
	c := t.column(row)
	if c == nil || !c.relation || int(at.slot) >= t.length {
		return Entity{}, false
	}
	return c.targets[at.slot], true
}
