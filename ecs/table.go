package netecs

import (
	"slices"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
)

// table is the shadow of all entities that have exactly the same components.
//
// Without a relation they lie in one archetype, row after row, and a slot of
// the shadow is the row of the same number. With a relation there is one
// archetype per target, often of one row: rows then have no stable number, and
// slots are given out by id.
type table struct {
	number    int32
	exact     ecs.MaskFilter
	filter    ecs.CachedFilter // of exact
	rows      snapshot.Mask    // replicated components of its entities
	bare      snapshot.Mask    // those of them without lanes: only their presence replicates
	replicas  column           // the Replicated column
	columns   []column         // the components with lanes; before them, in a capture, controls
	unscanned []column         // captures: components with lanes that are captured by marks alone, which have no shadow
	controls  uint8            // bit k: its entities have the control component of kind k
	scattered bool             // one archetype per relation target
	length    int              // slots in use
	busy      uint64           // the last scan that found it to hold somebody, or that it came with
	idle      int32            // where among those that are not looked at, -1 when it is
	seen      int              // rows counted by the scan
	stamps    []uint64         // scattered: the scan that last saw the slot
	stamped   int              // scattered: slots that this scan saw
	handles   []ecs.Entity     // scattered: of the rows in the order of the scan's walk
	slots     []int32          // scattered: as many, negative where there was none
	spares    []spare          // ascending: rows that a run will overwrite
	goal      int              // the column of the relation, negative where that does not replicate
	familiar  familiar         // captures: rows of which nothing has to be asked
	marked    markedRows       // captures: those that were marked, while they are gathered
}

// newTable makes the shadow for a mask and registers its filter with the
// world, so that finding the archetype costs nothing however many there are.
func newTable(w *ecs.World, b *binding, mask ecs.Mask, number int32) *table {
	t := &table{
		number:    number,
		exact:     mask.Exclusive(),
		rows:      b.rows(&mask),
		replicas:  column{id: b.replicated, row: -1, size: replicatedSize},
		scattered: hasRelation(w, &mask),
		spares:    make([]spare, 0, mostSpares),
	}
	t.filter = w.Cache().Register(&t.exact)
	for row, id := range b.ids {
		if !t.rows.Has(row) {
			continue
		}
		plan := b.schema.Plan(row)
		if plan.Lanes() == 0 {
			t.bare = t.bare.With(row)
			continue
		}
		_, aimed := plan.Target()
		c := column{id: id, row: row, plan: plan, size: int(plan.Size()), plain: plan.Plain() && !aimed, aimed: aimed, control: b.controls.kind(id)}
		c.compare = quantize.NewRows(c.size)
		if b.unscanned.Has(row) {
			t.unscanned = append(t.unscanned, c)
		} else {
			t.columns = append(t.columns, c)
		}
	}
	b.controls.columns(w, t, &mask)
	t.goal = slices.IndexFunc(t.columns, func(c column) bool { return c.aimed })
	return t
}

func (t *table) aim(q *ecs.Query) {
	t.replicas.aim(q)
	for i := range t.columns {
		t.columns[i].aim(q)
	}
}

func (t *table) release() {
	t.replicas.release()
	for i := range t.columns {
		t.columns[i].release()
	}
}

func (t *table) reserve(slots int) {
	t.replicas.reserve(slots)
	for i := range t.columns {
		t.columns[i].reserve(slots)
	}
}

// same compares whole rows with the slots of the same numbers.
func (t *table) same(from, to int) bool {
	if !t.replicas.same(from, to) {
		return false
	}
	for i := range t.columns {
		if !t.columns[i].same(from, to) {
			return false
		}
	}
	return true
}

// keepRow copies a whole row into a slot.
func (t *table) keepRow(row, slot int) {
	t.replicas.keepRow(row, slot)
	for i := range t.columns {
		t.columns[i].keepRow(row, slot)
	}
}

// newSlot gives out the next slot of a scattered table.
func (t *table) newSlot(run uint64) int {
	slot := t.length
	t.length++
	t.reserve(t.length)
	t.stamps = append(t.stamps[:slot], run)
	t.stamped++
	return slot
}

// stamp notes that a scan saw a slot.
func (t *table) stamp(slot int, run uint64) {
	t.stamps[slot] = run
	t.stamped++
}

// moveSlot copies a whole slot over another.
func (t *table) moveSlot(from, to int) {
	t.replicas.moveSlot(from, to)
	for i := range t.columns {
		t.columns[i].moveSlot(from, to)
	}
	t.stamps[to] = t.stamps[from]
}

// column is the column of a schema row, nil when the table has none.
func (t *table) column(row int) *column {
	for i := range t.columns {
		if t.columns[i].row == row {
			return &t.columns[i]
		}
	}
	for i := range t.unscanned {
		if t.unscanned[i].row == row {
			return &t.unscanned[i]
		}
	}
	return nil
}

// forget empties the shadow. Its memory stays.
func (t *table) forget() {
	t.length, t.seen = 0, 0
	t.stamps = t.stamps[:0]
	t.marked.trust()
	t.leave(0)
}
