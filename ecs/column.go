package netecs

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
)

// column is one component of a table: where the world keeps it while a query
// is open, and the shadow of what it held before.
type column struct {
	id   ecs.ID
	row  int            // row of the schema, -1 for Replicated and for controls without one
	plan *quantize.Plan // nil where row is -1
	size int            // bytes of a component, 0 for a relation that is nothing but that

	compare quantize.Rows // rows of as many bytes

	plain bool // the lanes of a row are its memory, see quantize.Plan.Plain

	// Of entities that have the rows of placed, the lanes of this one are those from first on and before end.
	placed     snapshot.Mask
	first, end int

	control controlKind // for captures only

	// aimed says that the component is a relation. Its target is no part of its
	// bytes: target is that of the present row while the query is open, targets
	// are the shadow. Only scattered tables have such columns.
	aimed   bool
	target  ecs.Entity
	targets []ecs.Entity

	// seats and, of a relation, goals are where the rows of a scattered table lie and what they aim at.
	seats seats
	goals []ecs.Entity

	// base is the component of the first row. It is set by aim and cleared by
	// release, both while the world is locked, so it never outlives a
	// structural change.
	base pointer
	// shadow holds size bytes a slot. Its backing is made of uint64, so that a
	// slot is aligned for any component.
	shadow []byte
}

// place is where the lanes of the column's row are among those of an entity that has the rows of the mask, this one being of them.
func (c *column) place(r *snapshot.Replica, mask snapshot.Mask) (first, end int) {
	if c.placed != mask {
		c.placed = mask
		c.first, c.end = r.Place(mask, c.row)
	}
	return c.first, c.end
}

// leave forgets the seats from the n-th on: they keep memory of the world from being freed.
func (c *column) leave(n int) {
	if n < len(c.seats) {
		clear(c.seats[n:])
		c.seats = c.seats[:n]
	}
}

// same compares rows with the slots of the same numbers.
func (c *column) same(from, to int) bool {
	return bytes.Equal(c.bytes(from, to), c.shadow[from*c.size:to*c.size])
}

// differing is the first row from <= row < to that is not the slot of the same
// number, or to. Most rows of a block are the same: going over its words is
// cheaper than a call for each row.
func (c *column) differing(from, to int) int {
	if from >= to {
		return to // also because no pointer may be made to behind the last row
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

// sameRow compares one row with a slot.
func (c *column) sameRow(row, slot int) bool {
	if c.aimed && c.target != c.targets[slot] {
		return false
	}
	return bytes.Equal(c.bytes(row, row+1), c.shadow[slot*c.size:(slot+1)*c.size])
}

// keep copies rows into the slots of the same numbers.
func (c *column) keep(from, to int) {
	copy(c.shadow[from*c.size:to*c.size], c.bytes(from, to))
}

// keepRow copies one row into a slot.
func (c *column) keepRow(row, slot int) {
	if c.aimed {
		c.targets[slot] = c.target
	}
	copy(c.shadow[slot*c.size:(slot+1)*c.size], c.bytes(row, row+1))
}

// spoilRow makes the slot of a row's number differ from the row.
func (c *column) spoilRow(row int) {
	c.shadow[row*c.size] = ^c.bytes(row, row+1)[0]
}

// moveSlot copies one slot over another.
func (c *column) moveSlot(from, to int) {
	if c.aimed {
		c.targets[to] = c.targets[from]
	}
	copy(c.shadow[to*c.size:(to+1)*c.size], c.shadow[from*c.size:(from+1)*c.size])
}

// put is write for the row of the number of a slot, which follows. It reports
// whether the component has another value now. What else is in the component
// must be in the slot already.
func (c *column) put(slot int, lanes []uint32) bool { return c.putAt(slot, slot, lanes) }

// putAt is put for a row that has another number than its slot.
func (c *column) putAt(row, slot int, lanes []uint32) bool {
	c.write(row, lanes)
	if c.sameRow(row, slot) {
		return false
	}
	c.keepRow(row, slot)
	return true
}

// copyAll is put for the first entities of a list, which are of one parcel and
// have a row, for a plan that is plain. It returns how many they are. The lanes
// of the row are the words from its place in the first entity's of all lanes on.
// Most components are of three or four words, for which a call costs more than
// the copy.
func (c *column) copyAll(list []due, row snapshot.Mask, all []uint32, words int) (n int) {
	switch words {
	case 3:
		return copyWords[[3]uint32](c, list, row, all)
	case 4:
		return copyWords[[4]uint32](c, list, row, all)
	}
	for of := list[0].parcel; n < len(list) && list[n].parcel == of && !list[n].stretch; n++ {
		if d := &list[n]; c.put(int(d.slot), all[d.first:][:words]) {
			d.rows |= row
		}
	}
	return n
}

// scatter is put for entities with slots all over the table, for a plan that is plain. Their lanes begin with all and are stride apart. It adds
// those to same, by number, that had the value already.
func (c *column) scatter(slots []int32, all []uint32, stride, words int, same []int32) []int32 {
	switch words {
	case 3:
		return copyScattered[[3]uint32](c, slots, all, stride, same)
	case 4:
		return copyScattered[[4]uint32](c, slots, all, stride, same)
	}
	for k, slot := range slots {
		if !c.put(int(slot), all[k*stride:][:words]) {
			same = append(same, int32(k))
		}
	}
	return same
}

// collect appends the rows from <= row < to that are not the slots of the same numbers, 64 at most.
func (c *column) collect(from, to int, rows []int32) []int32 {
	if c.size >= 8 && c.size <= 16 {
		return list(c.compare.Differing(c.bytes(from, to), c.shadow[from*c.size:to*c.size], to-from), int32(from), rows)
	}
	for row := c.differing(from, to); row < to; row = c.differing(row+1, to) {
		rows = append(rows, int32(row))
	}
	return rows
}

// list appends the numbers of bits, that of the lowest being from. Where all are set to the last of them, there is no need to look for each.
func list(set uint64, from int32, rows []int32) []int32 {
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
