package netecs

import (
	"encoding/binary"
	"unsafe"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/snapshot"
)

// replicatedSize is the bytes of a Replicated.
const replicatedSize = int(unsafe.Sizeof(components.Replicated{}))

// pointer is where the world keeps something. Only this file reads and writes through one.
type pointer = unsafe.Pointer

// aim points the column at the query's present row.
func (c *column) aim(q *ecs.Query) {
	// SAFETY: the query's world stays locked until release is called, so the
	// column can neither grow nor move while base is set.
	c.base = q.Get(c.id)
	if c.aimed {
		c.target = q.Relation(c.id)
	}
}

// seats are where the rows of a scattered table lie, in the order of the last walk over it.
type seats []unsafe.Pointer

// seat finds where the row lies that the query of a scattered table is at, the n-th of its walk. Asking Arche for every
// component costs more than comparing them, so what it said in the walk before is believed as long as the Replicated is where
// it was.
func (t *table) seat(q *ecs.Query, n int) {
	r := q.Get(t.replicas.id)
	// SAFETY: Arche gives each archetype buffers of its own for good, and when it grows gets all of them anew. The pointer that
	// is kept keeps the old buffer from being used for anything else, so the same address is the same row of the same
	// archetype, not grown since, and its other components are where they were.
	if n >= len(t.replicas.seats) || t.replicas.seats[n] != r {
		t.replicas.seats = extended(t.replicas.seats, n)
		t.replicas.seats[n] = r
		for i := range t.columns {
			c := &t.columns[i]
			c.seats = extended(c.seats, n)
			c.seats[n] = q.Get(c.id)
		}
	}
}

// seated is the Replicated of a row that seat has found in this walk.
func (c *column) seated(n int) *components.Replicated {
	// SAFETY: called on the Replicated column only, whose component this is; the world is still locked.
	return (*components.Replicated)(c.seats[n])
}

// aimSeat points the column at a row that seat has found in this walk.
func (c *column) aimSeat(n int) {
	// SAFETY: as for aim.
	c.base = c.seats[n]
	if c.aimed {
		c.target = c.goals[n]
	}
}

// seatedAt reports whether an entity's component is in a row of an archetype whose first row lies where seat found it. The entity must be
// alive.
func (c *column) seatedAt(w *ecs.World, e ecs.Entity, row int) bool {
	// SAFETY: nothing is read; that both are the same says that the memory has as many rows.
	return w.GetUnchecked(e, c.id) == unsafe.Add(c.seats[0], row*c.size)
}

// sit points the columns of a table that is one archetype at its rows, of which seated has said that they are where they were.
func (t *table) sit() {
	// SAFETY: as for seat: the first row of the archetype is where it was, and so it has not grown, and all other components are where they
	// were too. Nobody changes the world until release is called.
	t.replicas.base = t.replicas.seats[0]
	for i := range t.columns {
		t.columns[i].base = t.columns[i].seats[0]
	}
}

// differingSeat is the first row from the n-th on that seat has found in this walk and that is not in its slot, or the number
// of rows. Those with a negative slot are passed over. It is a loop over little else than loads of two or four words, so that
// many are under way at once: they are all over the memory.
func (c *column) differingSeat(n int, slots []int32) int {
	// SAFETY: as for bytes; the rows are one component long, and the words lie inside of it, the last maybe over the one
	// before. The slice expressions check the bounds of the shadow.
	load := func(p unsafe.Pointer, at int) uint64 {
		return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(p, at))[:])
	}
	size, last := c.size, c.size-8
	switch at := c.seats[:len(slots)]; {
	case c.aimed || size < 8 || size > 32:
		for ; n < len(slots); n++ {
			if slot := slots[n]; slot >= 0 {
				if c.aimSeat(n); !c.sameRow(0, int(slot)) {
					return n
				}
			}
		}
	case size <= 16:
		for ; n < len(slots); n++ {
			if slot := int(slots[n]); slot >= 0 {
				p, kept := at[n], unsafe.Pointer(unsafe.SliceData(c.shadow[slot*size:(slot+1)*size]))
				if (load(p, 0)^load(kept, 0))|(load(p, last)^load(kept, last)) != 0 {
					return n
				}
			}
		}
	default:
		for ; n < len(slots); n++ {
			if slot := int(slots[n]); slot >= 0 {
				p, kept := at[n], unsafe.Pointer(unsafe.SliceData(c.shadow[slot*size:(slot+1)*size]))
				if (load(p, 0)^load(kept, 0))|(load(p, 8)^load(kept, 8))|
					(load(p, last-8)^load(kept, last-8))|(load(p, last)^load(kept, last)) != 0 {
					return n
				}
			}
		}
	}
	return n
}

// release forgets where the world keeps the column.
func (c *column) release() {
	// SAFETY: nil is dereferenced nowhere: at is only called between aim and release.
	c.base = nil
}

// at is the component of a row.
func (c *column) at(row int) unsafe.Pointer {
	// SAFETY: rows below the query's count of this archetype lie one behind the
	// other from base on, size bytes each; callers pass only such rows.
	return unsafe.Add(c.base, row*c.size)
}

// kept is the component in a slot of the shadow.
func (c *column) kept(slot int) unsafe.Pointer {
	// SAFETY: the slice expression checks the bounds, and the shadow's backing
	// is aligned to 8, as every multiple of a component's size then is to its own.
	return unsafe.Pointer(unsafe.SliceData(c.shadow[slot*c.size : (slot+1)*c.size]))
}

// bytes are the bytes of the rows from <= row < to.
func (c *column) bytes(from, to int) []byte {
	// SAFETY: as for at; from and to-1 are rows of this archetype. Components
	// are plain data, so reading and comparing their bytes is defined.
	return unsafe.Slice((*byte)(unsafe.Add(c.base, from*c.size)), (to-from)*c.size)
}

// reserve makes room for slots, growing by doubling.
func (c *column) reserve(slots int) {
	if c.aimed && slots > 0 {
		c.targets = extended(c.targets, slots-1)
	}
	need := slots * c.size
	if need <= len(c.shadow) {
		return
	}
	words := make([]uint64, (max(need, 2*len(c.shadow))+7)/8)
	// SAFETY: the bytes are exactly those of words, which the slice keeps alive.
	grown := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))
	copy(grown, c.shadow)
	c.shadow = grown
}

// replicated is the Replicated of a row, in the world.
func (c *column) replicated(row int) *components.Replicated {
	// SAFETY: called on the Replicated column only, whose component this is.
	return (*components.Replicated)(c.at(row))
}

// keptReplicated is the Replicated in a slot of the shadow.
func (c *column) keptReplicated(slot int) components.Replicated {
	// SAFETY: called on the Replicated column only; kept is aligned.
	return *(*components.Replicated)(c.kept(slot))
}

// controlOf is the control component of a row.
func controlOf[T components.Owner | components.Group | components.Priority | components.Rate](c *column, row int) T {
	// SAFETY: called on columns of the kind of T only, whose component this is.
	return *(*T)(c.at(row))
}

// spoil makes the Replicated in a slot differ from r, whatever the world has
// there now, so that the next scan looks at the row again.
func (c *column) spoil(slot int, r components.Replicated) {
	r.World = ^r.World
	// SAFETY: called on the Replicated column only; kept is aligned.
	*(*components.Replicated)(c.kept(slot)) = r
}

// replicatedOf is an entity's Replicated, nil when it has none. The entity
// must be alive.
func replicatedOf(w *ecs.World, e ecs.Entity, id ecs.ID) *components.Replicated {
	// SAFETY: id is the component id of Replicated in this world, so Arche's
	// pointer is to one, or nil.
	return (*components.Replicated)(w.Get(e, id))
}

// aimAt points the column at the component of one entity, which becomes row 0.
// It reports whether the entity has the component. The entity must be alive.
func (c *column) aimAt(w *ecs.World, e ecs.Entity) bool {
	// SAFETY: the caller calls nothing that could move the component until it
	// calls release, or drops the column.
	c.base = w.GetUnchecked(e, c.id)
	if c.aimed && c.base != nil {
		c.target = w.Relations().Get(e, c.id)
	}
	return c.base != nil
}

// write writes the fields of a row that travel into a component.
func (c *column) write(row int, lanes []uint32) {
	// SAFETY: the component is of the plan's type, since the column's id was
	// registered for it.
	c.plan.Dequantise(lanes, c.at(row))
}

// takeBack writes the fields of a row that travel as they are in a slot of a shadow of the component. The lanes are for its use.
func (c *column) takeBack(row int, from *column, slot int, lanes []uint32) {
	// SAFETY: as for write, and kept is such a component too.
	clear(lanes)
	_ = c.plan.Quantise(from.kept(slot), lanes[:c.plan.Lanes()])
	c.write(row, lanes[:c.plan.Lanes()])
}

// clearHandle makes an entity field of row 0, the one of a lane, the zero entity. The lanes are for its use.
func (c *column) clearHandle(lane int, lanes []uint32) {
	// SAFETY: as for write.
	lanes = lanes[:c.plan.Lanes()]
	clear(lanes)
	_ = c.plan.Quantise(c.at(0), lanes)
	lanes[lane], lanes[lane+1] = 0, 0
	c.write(0, lanes)
}

// quantiseRows quantises rows of the column; see [quantize.Plan.QuantiseRows].
func (c *column) quantiseRows(rows []int32, lanes []uint32, bad []int32) []int32 {
	// SAFETY: as for write; callers pass only rows of the archetype that the column is aimed at.
	return c.plan.QuantiseRows((*byte)(c.base), c.size, rows, lanes, bad)
}

// copyWords is copyAll for a row of as many words as T has.
func copyWords[T [3]uint32 | [4]uint32](c *column, list []due, row snapshot.Mask, all []uint32) (n int) {
	const word = 4
	size := int(unsafe.Sizeof(*new(T)))
	for of := list[0].parcel; n < len(list) && list[n].parcel == of && !list[n].stretch; n++ {
		d := &list[n]
		from, at := int(d.first), int(d.slot)*size
		_, _ = all[from+size/word-1], c.shadow[at+size-1]
		// SAFETY: a plain component is words of 4 bytes and nothing else, as many as
		// there are lanes and T has; as for at, the slot is a row of this archetype. The
		// shadow's slot is of the same size and aligned to 4, since it begins at a
		// multiple of that in an allocation of uint64. That the words are there was
		// looked at just now: none of the numbers is below zero.
		v, to, old := (*T)(unsafe.Pointer(&all[from])), (*T)(unsafe.Add(c.base, at)), (*T)(unsafe.Pointer(&c.shadow[at]))
		if *old != *v {
			d.rows |= row
		}
		*to = *v
		*old = *v
	}
	return n
}

// overlayRows writes the first of n rows that are one behind the other from slot on, of as many words as T has, to the component and the
// shadow. Their lanes are stride apart. It ends before one that the world does not have as the shadow does, or that had the value already.
func overlayRows[T [2]uint32 | [4]uint32](c *column, slot int, all []uint32, stride, n int) int {
	const word = 4
	size, step, left := int(unsafe.Sizeof(*new(T))), uintptr(stride)*word, n
	_, _ = c.shadow[(slot+n)*size-1], all[(n-1)*stride+size/word-1]
	// SAFETY: as for copyWords; that there are n rows in the shadow and among the lanes was looked at just now, and there is one at least. No
	// pointer is made to behind the last.
	from, kept, live := unsafe.Pointer(unsafe.SliceData(all)), c.kept(slot), c.at(slot)
	for *(*T)(live) == *(*T)(kept) && *(*T)(from) != *(*T)(kept) {
		*(*T)(kept) = *(*T)(from)
		*(*T)(live) = *(*T)(from)
		if left--; left == 0 {
			break
		}
		from, kept, live = unsafe.Add(from, step), unsafe.Add(kept, size), unsafe.Add(live, size)
	}
	return n - left
}

// overlayPairs is overlayRows for rows of three words, two of them at a time: what is the same, or goes elsewhere, are three words of 64 bits.
func overlayPairs(c *column, slot int, all []uint32, stride, n int) int {
	const word, size = 4, 3 * 4
	if n &^= 1; n == 0 {
		return 0
	}
	step, left := uintptr(stride)*word, n
	_, _ = c.shadow[(slot+n)*size-1], all[(n-1)*stride+size/word-1]
	// SAFETY: as for overlayRows; processors that want words aligned do not come here, see quickWords.
	from, kept, live := unsafe.Pointer(unsafe.SliceData(all)), c.kept(slot), c.at(slot)
	for {
		x, y, z := *(*uint64)(kept), *(*uint64)(unsafe.Add(kept, 8)), *(*uint64)(unsafe.Add(kept, 16))
		if *(*uint64)(live) != x || *(*uint64)(unsafe.Add(live, 8)) != y || *(*uint64)(unsafe.Add(live, 16)) != z {
			break
		}
		a, b := *(*uint64)(from), uint64(*(*uint32)(unsafe.Add(from, 8)))
		from = unsafe.Add(from, step)
		b |= uint64(*(*uint32)(from)) << 32
		d := *(*uint64)(unsafe.Add(from, 4))
		if a == x && uint32(b) == uint32(y) || d == z && b>>32 == y>>32 {
			break
		}
		*(*uint64)(kept), *(*uint64)(unsafe.Add(kept, 8)), *(*uint64)(unsafe.Add(kept, 16)) = a, b, d
		*(*uint64)(live), *(*uint64)(unsafe.Add(live, 8)), *(*uint64)(unsafe.Add(live, 16)) = a, b, d
		if left -= 2; left == 0 {
			break
		}
		from, kept, live = unsafe.Add(from, step), unsafe.Add(kept, 2*size), unsafe.Add(live, 2*size)
	}
	return n - left
}

// overlay copies n rows of as many words as T has, which are stride apart, into slots one behind the other. It lists those that had the value
// already and returns how many they are. There is no call in the loop, so that its numbers stay in registers.
func overlay[T [2]uint32 | [3]uint32 | [4]uint32](shadow []byte, all []uint32, stride, n int, same *[mostDue]int32) (m int) {
	const word = 4
	size, step := int(unsafe.Sizeof(*new(T))), stride*word
	last := size - 8
	_, _ = shadow[n*size-1], all[(n-1)*stride+size/word-1]
	from, to := unsafe.Pointer(unsafe.SliceData(all)), unsafe.Pointer(unsafe.SliceData(shadow))
	for k, v, old := 0, 0, 0; k < n; k, v, old = k+1, v+step, old+size {
		// SAFETY: that there are n rows in both was looked at just now, and a row is 8 bytes at least, which are taken in two pieces that may
		// overlap; as bytes they need no alignment.
		v0, v1 := (*[8]byte)(unsafe.Add(from, v)), (*[8]byte)(unsafe.Add(from, v+last))
		old0, old1 := (*[8]byte)(unsafe.Add(to, old)), (*[8]byte)(unsafe.Add(to, old+last))
		a, b := binary.LittleEndian.Uint64(v0[:]), binary.LittleEndian.Uint64(v1[:])
		if a == binary.LittleEndian.Uint64(old0[:]) && b == binary.LittleEndian.Uint64(old1[:]) {
			same[m&(mostDue-1)] = int32(k)
			m++
		}
		binary.LittleEndian.PutUint64(old0[:], a)
		binary.LittleEndian.PutUint64(old1[:], b)
	}
	return m
}

// overlayMixed is overlay for rows of which order says where they are.
func overlayMixed[T [2]uint32 | [3]uint32 | [4]uint32](shadow []byte, all []uint32, stride int, order []int32, same *[mostDue]int32) (m int) {
	const word = 4
	size := int(unsafe.Sizeof(*new(T)))
	last, old := size-8, 0
	_ = shadow[len(order)*size-1]
	from, to := unsafe.Pointer(unsafe.SliceData(all)), unsafe.Pointer(unsafe.SliceData(shadow))
	for k, of := range order {
		at := int(of) * stride
		_ = all[at+size/word-1]
		// SAFETY: as for overlay; that the row is among the lanes was looked at just now, and none of the numbers is below zero.
		v0, v1 := (*[8]byte)(unsafe.Add(from, at*word)), (*[8]byte)(unsafe.Add(from, at*word+last))
		old0, old1 := (*[8]byte)(unsafe.Add(to, old)), (*[8]byte)(unsafe.Add(to, old+last))
		a, b := binary.LittleEndian.Uint64(v0[:]), binary.LittleEndian.Uint64(v1[:])
		if a == binary.LittleEndian.Uint64(old0[:]) && b == binary.LittleEndian.Uint64(old1[:]) {
			same[m&(mostDue-1)] = int32(k)
			m++
		}
		binary.LittleEndian.PutUint64(old0[:], a)
		binary.LittleEndian.PutUint64(old1[:], b)
		old += size
	}
	return m
}

// copyScattered is overlay for rows all over a column.
func copyScattered[T [3]uint32 | [4]uint32](c *column, slots []int32, all []uint32, stride int, same []int32) []int32 {
	const word = 4
	size := int(unsafe.Sizeof(*new(T)))
	for k, slot := range slots {
		from, at := k*stride, int(slot)*size
		_, _ = all[from+size/word-1], c.shadow[at+size-1]
		// SAFETY: as for copyWords.
		v, to, old := (*T)(unsafe.Pointer(&all[from])), (*T)(unsafe.Add(c.base, at)), (*T)(unsafe.Pointer(&c.shadow[at]))
		if *old == *v {
			same = append(same, int32(k))
		}
		*to = *v
		*old = *v
	}
	return same
}

// componentOf is an entity's component, nil when it has none. The entity must
// be alive, and id that of T in this world.
func componentOf[T any](w *ecs.World, e ecs.Entity, id ecs.ID) *T {
	// SAFETY: Arche's pointer is to a T, or nil, since id is that of T.
	return (*T)(w.Get(e, id))
}

// write mixes the value of rows[n] into an entity's twin. It is false when game code has removed that. The entity must be
// alive.
func (s *Smooth) write(n int, e ecs.Entity) bool {
	// SAFETY: the twin is a components.Smooth of the row's type, whose only field is a value of it, and it is written
	// before anything could move it.
	at := s.apply.watch.world.Get(e, s.rows[n].id)
	if at != nil {
		s.rows[n].blend.Mix(&s.ways[n], at)
	}
	return at != nil
}
