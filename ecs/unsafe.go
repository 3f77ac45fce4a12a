package netecs

import (
	"unsafe"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// replicatedSize is the size of a Replicated, in bytes.
const replicatedSize = int(unsafe.Sizeof(components.Replicated{}))

// pointer points into the world. Only this file reads and writes through one.
type pointer = unsafe.Pointer

// bind points the column at the query's present row.
func (c *column) bind(q *world.Query) {
	// SAFETY: the query's world stays locked until unbind is called, so the
	// column can neither grow nor move while base is set.
	c.base = q.Get(c.id)
	if c.relation {
		c.target = q.Relation(c.id)
	}
}

// unbind clears the address of the column in the world.
func (c *column) unbind() {
	// SAFETY: nil is dereferenced nowhere: at is only called between bind and unbind.
	c.base = nil
}

// at returns the component of a row.
func (c *column) at(row int) unsafe.Pointer {
	// SAFETY: rows below the query's count of this archetype lie one behind the
	// other from base on, size bytes each; callers pass only such rows.
	return unsafe.Add(c.base, row*c.size)
}

// kept returns the component in a slot of the shadow.
func (c *column) kept(slot int) unsafe.Pointer {
	// SAFETY: the slice expression checks the bounds, and the shadow's backing
	// is aligned to 8, as every multiple of a component's size then is to its own.
	return unsafe.Pointer(unsafe.SliceData(c.shadow[slot*c.size : (slot+1)*c.size]))
}

// bytes returns the bytes of the rows from <= row < to.
func (c *column) bytes(from, to int) []byte {
	// SAFETY: as for at; from and to-1 are rows of this archetype. Components
	// are plain data, so reading and comparing their bytes is defined.
	return unsafe.Slice((*byte)(unsafe.Add(c.base, from*c.size)), (to-from)*c.size)
}

// reserve allocates slots. It at least doubles the memory when it grows.
func (c *column) reserve(slots int) {
	if c.relation && slots > 0 {
		c.targets = grown(c.targets, slots-1)
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

// replicated returns the Replicated of a row, in the world.
func (c *column) replicated(row int) *components.Replicated {
	// SAFETY: called on the Replicated column only, whose component this is.
	return (*components.Replicated)(c.at(row))
}

// keptReplicated returns the Replicated in a slot of the shadow.
func (c *column) keptReplicated(slot int) components.Replicated {
	// SAFETY: called on the Replicated column only; kept is aligned.
	return *(*components.Replicated)(c.kept(slot))
}

// controlOf returns the control component of a row.
func controlOf[T components.Owner | components.Group | components.Priority | components.Rate](c *column, row int) T {
	// SAFETY: called on columns of the kind of T only, whose component this is.
	return *(*T)(c.at(row))
}

// spoil makes the Replicated in a slot differ from r and from the world, so that the next scan handles the row again.
func (c *column) spoil(slot int, r components.Replicated) {
	r.World = ^r.World
	// SAFETY: called on the Replicated column only; kept is aligned.
	*(*components.Replicated)(c.kept(slot)) = r
}

// replicatedOf returns the Replicated of an entity, or nil. The entity must be alive.
func replicatedOf(w *World, e Entity, id world.ID) *components.Replicated {
	// SAFETY: id is the component id of Replicated in this world, so Arche's
	// pointer is to one, or nil.
	return (*components.Replicated)(world.Get(w, e, id))
}

// ownerOf returns the client in the components.Owner of an entity, or 0. The entity must be alive.
func ownerOf(w *World, e Entity, id world.ID) wire.ClientID {
	// SAFETY: id is the component id of Owner in this world, so Arche's pointer is to one, or nil.
	if owner := (*components.Owner)(world.Get(w, e, id)); owner != nil {
		return owner.Client
	}
	return 0
}

// bindTo points the column at the component of one entity, as row 0. It reports whether the entity has the component.
// The entity must be alive.
func (c *column) bindTo(w *World, e Entity) bool {
	// SAFETY: the caller calls nothing that could move the component until it
	// calls unbind, or drops the column.
	c.base = world.Get(w, e, c.id)
	if c.relation && c.base != nil {
		c.target = world.Target(w, e, c.id)
	}
	return c.base != nil
}

// write writes the lanes into the sent fields of a row.
func (c *column) write(row int, lanes []uint32) {
	// SAFETY: the component is of the plan's type, since the column's id was
	// registered for it.
	c.plan.Dequantise(lanes, c.at(row))
}

// takeBack restores the sent fields of a row from a slot of a shadow of the component. lanes is scratch.
func (c *column) takeBack(row int, from *column, slot int, lanes []uint32) {
	// SAFETY: as for write, and kept is such a component too.
	clear(lanes)
	_ = c.plan.Quantise(from.kept(slot), lanes[:c.plan.Lanes()])
	c.write(row, lanes[:c.plan.Lanes()])
}

// clearHandle sets the entity field of row 0 at a lane to the zero entity. lanes is scratch.
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
	// SAFETY: as for write; callers pass only rows of the archetype that the column points at.
	return c.plan.QuantiseRows((*byte)(c.base), c.size, rows, lanes, bad)
}

// copyRange writes a component whose memory equals its lanes, for the entities of a range. all begins
// with their lanes. It appends the positions of the entities that already had the value to r.same.
func copyRange[T [3]uint32 | [4]uint32](c *column, r *tableRanges, d *tableRange, all []uint32) {
	const word = 4
	size, n, step := int(unsafe.Sizeof(*new(T))), int(d.entities.Count), int(d.entities.Width)*word
	_ = all[(n-1)*int(d.entities.Width)+size/word-1]
	from, same := unsafe.Pointer(unsafe.SliceData(all)), r.same
	if d.slot >= 0 {
		shadow := c.shadow[int(d.slot)*size:][:n*size]
		to := unsafe.Pointer(unsafe.SliceData(shadow))
		for k, v, old := 0, 0, 0; k < n; k, v, old = k+1, v+step, old+size {
			// SAFETY: a plain component is words of 4 bytes and nothing else, as many as there are lanes and T has. The shadow is aligned
			// to 4, since it begins at a multiple of that in an allocation of uint64. The slice expressions before checked that
			// there are n rows in both.
			v, old := (*T)(unsafe.Add(from, v)), (*T)(unsafe.Add(to, old))
			if *old == *v {
				same = append(same, int32(k))
			}
			*old = *v
		}
		copy(c.bytes(int(d.slot), int(d.slot)+n), shadow)
		r.same = same
		return
	}
	for k, slot := range r.slots[d.entities.Index:][:n] {
		at := int(slot) * size
		_ = c.shadow[at+size-1]
		// SAFETY: as before; the slot is a row of this archetype, as for at.
		v, to, old := (*T)(unsafe.Add(from, k*step)), (*T)(unsafe.Add(c.base, at)), (*T)(unsafe.Pointer(&c.shadow[at]))
		if *old == *v {
			same = append(same, int32(k))
		}
		*to = *v
		*old = *v
	}
	r.same = same
}

// componentOf returns a component of an entity, or nil. The entity must be alive, and id must be the id of T in this
// world.
func componentOf[T any](w *World, e Entity, id world.ID) *T {
	// SAFETY: Arche's pointer is to a T, or nil, since id is that of T.
	return (*T)(world.Get(w, e, id))
}

// mixTwin writes the blended value to an entity's twin, if it has one. The entity must be alive.
func mixTwin(w *World, e Entity, twin world.ID, blend *quantize.Blend, way *quantize.BlendInput) {
	// SAFETY: as in write.
	if at := world.Get(w, e, twin); at != nil {
		blend.Mix(way, at)
	}
}

// write writes the blended value of rows[n] to an entity's twin. It returns false if game code removed the twin. The
// entity must be alive.
func (s *Smooth) write(n int, e Entity) bool {
	// SAFETY: the twin is a components.Smooth of the row's type, whose only field is a value of it, and it is written
	// before anything could move it.
	at := world.Get(s.apply.tracker.world, e, s.rows[n].id)
	if at != nil {
		s.rows[n].blend.Mix(&s.blendInputs[n], at)
	}
	return at != nil
}
