package netecs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"reflect"
	"slices"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
)

// table is the shadow of all entities that have exactly the same components.
//
// Entities without a relation are in one archetype, and the slot of a row has the number of the row. With a relation
// there is one archetype for each target, often with one row: the table is scattered. Its rows have no stable numbers,
// so slots are assigned by id.
type table struct {
	number    int32
	filter    world.Filter  // selects exactly the components of the table
	rows      snapshot.Mask // replicated components of its entities
	bare      snapshot.Mask // of rows: components without lanes, which replicate by their presence
	replicas  column        // the Replicated column
	columns   []column      // components with lanes; in a capture, control components come first
	unscanned []column      // captures: components with lanes that are captured only if marked; without a shadow
	controls  uint8         // bit k: its entities have the control component of kind k
	scattered bool          // one archetype per relation target
	length    int           // slots in use
	reserved  int           // allocated slots
	busy      uint64        // the last scan that found entities in the table, or that created it
	idle      int32         // index in activeTables.idle; -1: the table is active
	seen      int           // rows counted by the scan
	stamps    []uint64      // scattered: the scan that last saw the slot
	stamped   int           // scattered: slots that this scan saw
}

// newTable creates the shadow for a mask. It registers the mask's filter with the world, so that a query finds the
// archetype at once, however many archetypes there are.
func newTable(w *World, b *binding, mask world.Mask, number int32) *table {
	t := &table{
		number:    number,
		filter:    world.Register(w, mask.Exclusive()),
		rows:      b.rows(&mask),
		replicas:  column{id: b.replicated, row: -1, size: replicatedSize},
		scattered: hasRelation(w, &mask),
	}
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
		c := column{id: id, row: row, plan: plan, size: int(plan.Size()), plain: plan.Plain() && !aimed, relation: aimed, control: b.controls.kind(id)}
		c.steady = c.control == snapshot.NoControl && b.steady.Has(row)
		c.compare = quantize.NewRows(c.size)
		if b.unscanned.Has(row) {
			t.unscanned = append(t.unscanned, c)
		} else {
			t.columns = append(t.columns, c)
		}
	}
	b.controls.columns(w, t, &mask)
	return t
}

// bindColumns points the columns at the query's present archetype. It allocates at least slots slots.
func (t *table) bindColumns(q *world.Query, slots int) {
	t.replicas.bind(q)
	for i := range t.columns {
		t.columns[i].bind(q)
	}
	if slots > t.reserved {
		t.reserve(slots)
	}
}

// unbindColumns undoes bindColumns.
func (t *table) unbindColumns() {
	t.replicas.unbind()
	for i := range t.columns {
		t.columns[i].unbind()
	}
}

// reserve allocates slots.
func (t *table) reserve(slots int) {
	t.reserved = max(t.reserved, slots)
	t.replicas.reserve(slots)
	for i := range t.columns {
		t.columns[i].reserve(slots)
	}
}

// keepRow copies a whole row into a slot.
func (t *table) keepRow(row, slot int) {
	t.replicas.keepRow(row, slot)
	for i := range t.columns {
		t.columns[i].keepRow(row, slot)
	}
}

// newSlot returns the next slot of a scattered table.
func (t *table) newSlot(run uint64) int {
	slot := t.length
	t.length++
	t.reserve(t.length)
	t.stamps = append(t.stamps[:slot], run)
	t.stamped++
	return slot
}

// stamp notes that a scan found a slot's entity.
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

// column returns the column of a schema row, nil when the table has none.
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

// emptyShadow drops all slots. The memory stays.
func (t *table) emptyShadow() {
	t.length, t.seen = 0, 0
	t.stamps = t.stamps[:0]
}

// column is one component of a table: its address in the world while a query is open, and its shadow.
type column struct {
	id   world.ID
	row  int            // row of the schema; -1 for Replicated and for controls that are not in the schema
	plan *quantize.Plan // nil if row is -1
	size int            // bytes of a component, 0 for a relation without fields

	compare quantize.Rows // compares rows of size bytes

	plain bool // the memory of a component equals its lanes: see quantize.Plan.Plain

	control snapshot.ControlKind // captures: kind of control component
	steady  bool                 // captures: no control, no entity fields and no options

	// relation reports whether the component is a relation. Its target is not part of its bytes. target is the target
	// of the bound row, targets is the shadow. Only scattered tables have such columns.
	relation bool
	target   Entity
	targets  []Entity

	// base is the component of the first row. bind sets it and unbind clears it while the world is locked, so it is
	// never used after a structural change.
	base pointer
	// shadow has size bytes for each slot. It is allocated as []uint64, so that a slot is aligned for any component.
	shadow []byte
}

// same reports whether rows equal the slots of the same numbers.
func (c *column) same(from, to int) bool {
	return bytes.Equal(c.bytes(from, to), c.shadow[from*c.size:to*c.size])
}

// differing returns the first row from <= row < to that differs from the slot of the same number, or to. Most rows of a
// block are equal, so one loop over words is cheaper than a call for each row.
func (c *column) differing(from, to int) int {
	if from >= to {
		return to // a pointer past the last row would be invalid
	}
	live, kept := c.bytes(from, to), c.shadow[from*c.size:to*c.size]
	i := 0
	for ; i+8 <= len(live) && i+8 <= len(kept); i += 8 {
		x := binary.LittleEndian.Uint64(live[i:]) ^ binary.LittleEndian.Uint64(kept[i:])
		if x != 0 {
			return from + (i+bits.TrailingZeros64(x)/8)/c.size
		}
	}
	for ; i < len(live) && i < len(kept); i++ {
		if live[i] != kept[i] {
			return from + i/c.size
		}
	}
	return to
}

// sameRow reports whether a row equals a slot.
func (c *column) sameRow(row, slot int) bool {
	if c.relation && c.target != c.targets[slot] {
		return false
	}
	return bytes.Equal(c.bytes(row, row+1), c.shadow[slot*c.size:(slot+1)*c.size])
}

// keepRow copies one row into a slot.
func (c *column) keepRow(row, slot int) {
	if c.relation {
		c.targets[slot] = c.target
	}
	copy(c.shadow[slot*c.size:(slot+1)*c.size], c.bytes(row, row+1))
}

// moveSlot copies one slot over another.
func (c *column) moveSlot(from, to int) {
	if c.relation {
		c.targets[to] = c.targets[from]
	}
	copy(c.shadow[to*c.size:(to+1)*c.size], c.shadow[from*c.size:(from+1)*c.size])
}

// put writes the lanes into a row and its slot. It reports whether the component changed. Before the call, all fields
// that are not sent must be equal in row and slot.
func (c *column) put(row, slot int, lanes []uint32) bool {
	c.write(row, lanes)
	if c.sameRow(row, slot) {
		return false
	}
	c.keepRow(row, slot)
	return true
}

// collect appends the rows from <= row < to that differ from the slots of the same numbers. to-from is at most 64.
func (c *column) collect(from, to int, rows []int32) []int32 {
	if c.size >= 8 && c.size <= 16 {
		return appendBits(c.compare.Differing(c.bytes(from, to), c.shadow[from*c.size:to*c.size], to-from), int32(from), rows)
	}
	for row := c.differing(from, to); row < to; row = c.differing(row+1, to) {
		rows = append(rows, int32(row))
	}
	return rows
}

// appendBits appends the numbers of the set bits, plus from. If the set bits are exactly the lowest ones, it needs no
// search.
func appendBits(set uint64, from int32, rows []int32) []int32 {
	n, count := len(rows), bits.OnesCount64(set)
	rows = slices.Grow(rows, count)[:n+count]
	to := rows[n:]
	if set&(set+1) == 0 {
		for i := range to {
			to[i] = from + int32(i)
		}
		return rows
	}
	for i := range to {
		to[i] = from + int32(bits.TrailingZeros64(set))
		set &= set - 1
	}
	return rows
}

// keepRows copies rows into the slots of the same numbers. The column is no relation.
func (c *column) keepRows(rows []int32) {
	size := c.size
	if len(rows) == 0 {
		return
	}
	first, last := int(rows[0]), int(rows[len(rows)-1])
	live, kept := c.bytes(first, last+1), c.shadow[first*size:(last+1)*size]
	if size < 8 || size > 16 || len(rows) == last+1-first {
		if len(rows) == last+1-first {
			copy(kept, live)
			return
		}
		for _, row := range rows {
			at := (int(row) - first) * size
			copy(kept[at:at+size], live[at:at+size])
		}
		return
	}
	for _, row := range rows {
		at := (int(row) - first) * size
		from, to := live[at:at+size], kept[at:at+size]
		a, b := binary.LittleEndian.Uint64(from), binary.LittleEndian.Uint64(from[size-8:])
		binary.LittleEndian.PutUint64(to, a)
		binary.LittleEndian.PutUint64(to[size-8:], b)
	}
}

// binding maps the rows of the schema to component ids of a world. Arche numbers components in the order of first use,
// so their ids are never sent.
type binding struct {
	schema     *snapshot.Schema
	ids        []world.ID // by row
	replicated world.ID
	relations  snapshot.Mask // rows whose component is a relation
	unscanned  snapshot.Mask // rows that only marks capture
	steady     snapshot.Mask // captures: rows without entity fields and without options
	controls   *controls     // nil: control components have no effect
}

// bind registers every component of the schema with the world, since Arche cannot register a component while the world
// is locked.
func bind(w *World, schema *snapshot.Schema) binding {
	b := binding{schema: schema, replicated: world.ComponentID[components.Replicated](w)}
	for row := range schema.Rows() {
		id := world.TypeID(w, schema.Plan(row).Type())
		b.ids = append(b.ids, id)
		if _, aimed := schema.Plan(row).Target(); aimed != world.IsRelation(w, id) {
			panic(fmt.Sprintf("netecs: the relation %s is of another ECS: this build is for %s, so it embeds %s; %s", schema.Plan(row).Type(), world.Name, world.Marker, world.Other))
		} else if aimed {
			b.relations = b.relations.With(row)
		}
	}
	return b
}

// rows returns the schema rows of an Arche mask. Rows of distance bands are left out: they are not components of game
// code.
func (b *binding) rows(mask *world.Mask) snapshot.Mask {
	var m snapshot.Mask
	for row, id := range b.ids {
		if mask.Get(id) {
			m = m.With(row)
		}
	}
	return m.Minus(b.schema.Coarse)
}

// hasRelation reports whether a mask has a relation component of any kind, replicated or not.
func hasRelation(w *World, mask *world.Mask) bool {
	for _, id := range world.IDs(w) {
		if mask.Get(id) && world.IsRelation(w, id) {
			return true
		}
	}
	return false
}

// blankLanes returns the lanes of a component's zero value.
func blankLanes(plan *quantize.Plan) []uint32 {
	lanes := make([]uint32, plan.Lanes())
	plan.Quantise(reflect.New(plan.Type()).UnsafePointer(), lanes)
	return lanes
}

// keepRange copies n written rows into the slots of the same numbers, from slot on. It appends the positions of
// unchanged rows in the range to same.
func (c *column) keepRange(slot, n int, same []int32) []int32 {
	for from := 0; from < n; from += 64 {
		part := min(64, n-from)
		live, kept := c.bytes(slot+from, slot+from+part), c.shadow[(slot+from)*c.size:(slot+from+part)*c.size]
		same = appendBits(^c.compare.Differing(live, kept, part)&(^uint64(0)>>(64-part)), int32(from), same)
		copy(kept, live)
	}
	return same
}
