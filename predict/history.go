package predict

import (
	"slices"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/quantize"
)

// alive is the bit of a mask that an entity is there. The others are the components of history.components.
const alive = 1 << 63

// component is a predicted or local component of a client's world.
type component struct {
	predictedRow        // row is -1 for a local one.
	id           ecs.ID // Of the component in the world.
	size         int
	lanes        []uint32      // Scratch.
	shown        *shown        // Nil without components.Smooth.
	rounds       bool          // Its values are rounded to those that travel.
	packed       bool          // It rounds, and is kept as its lanes.
	plain        bool          // Its memory is its lanes.
	compare      quantize.Rows // Of its lanes.
}

// keepsLanes tells that lanes are kept, as many bytes as the component has.
func (c *component) keepsLanes() bool { return c.packed || c.plain }

// history is the components of the predicted entities in the last Window ticks, in columns: as their lanes, or as their memory.
type history struct {
	components []component
	slots      int          // There is room for so many entities.
	masks      []uint64     // By tick modulo Window, then slot.
	arranged   [Window]int  // By tick modulo Window: the order.version that gives all masks; 0: none does.
	columns    [][]byte     // By component: by tick modulo Window, then slot.
	scratch    []uint32     // Lanes.
	saved      [][]byte     // By tick modulo Window: the resources.
	oldest     netcode.Tick // The oldest tick that is kept.
	newest     netcode.Tick // The newest tick that is kept.
}

// grow makes room for so many entities.
func (h *history) grow(slots int) {
	if slots <= h.slots {
		return
	}
	slots = max(slots, 2*h.slots, 16)
	masks, columns := make([]uint64, Window*slots), make([][]byte, len(h.components))
	for k := range columns {
		columns[k] = bytesIn(make([]uint64, (Window*slots*h.components[k].size+7)/8))
	}
	for t := range min(Window, Window*h.slots) {
		copy(masks[t*slots:], h.masks[t*h.slots:(t+1)*h.slots])
		for k := range columns {
			size := h.components[k].size
			copy(columns[k][t*slots*size:], h.columns[k][t*h.slots*size:(t+1)*h.slots*size])
		}
	}
	h.masks, h.columns, h.slots = masks, columns, slots
}

// mask returns the components of an entity in a tick.
func (h *history) mask(t netcode.Tick, slot int) uint64 {
	return h.masks[int(t%Window)*h.slots+slot]
}

// setMask notes the components of an entity in a tick.
func (h *history) setMask(t netcode.Tick, slot int, mask uint64) {
	if at := &h.masks[int(t%Window)*h.slots+slot]; *at != mask {
		*at, h.arranged[t%Window] = mask, 0
	}
}

// masksOf returns the components of entities whose slots follow each other.
func (h *history) masksOf(t netcode.Tick, slot, count int) []uint64 {
	return h.masks[int(t%Window)*h.slots+slot:][:count]
}

// column is a component of entities whose slots follow each other.
func (h *history) column(t netcode.Tick, slot, count, k int) []byte {
	size := h.components[k].size
	return h.columns[k][(int(t%Window)*h.slots+slot)*size:][:count*size]
}

// bytes is a component of an entity in a tick.
func (h *history) bytes(t netcode.Tick, slot, k int) []byte {
	c := &h.components[k]
	from := (int(t%Window)*h.slots + slot) * c.size
	return h.columns[k][from : from+c.size]
}

// lanesOf returns the lanes of a component of an entity in a tick. They are good until the next call.
func (h *history) lanesOf(t netcode.Tick, slot, k int) []uint32 {
	c := &h.components[k]
	if c.keepsLanes() {
		return wordsOf(h.bytes(t, slot, k))
	}
	c.plan.Quantise(pointerTo(h.bytes(t, slot, k)), c.lanes)
	return c.lanes
}

// holds tells if a tick is kept.
func (h *history) holds(t netcode.Tick) bool {
	return t >= h.oldest && t <= h.newest && t > h.newest-Window && t > 0
}

// maskOf returns the components of an entity of the world.
func (h *history) maskOf(w *ecs.World, e ecs.Entity, tagged ecs.ID) (mask uint64) {
	has := w.Mask(e)
	if has.Get(tagged) {
		mask = alive
	}
	for k := range h.components {
		if has.Get(h.components[k].id) {
			mask |= 1 << k
		}
	}
	return mask
}

// keep stores an entity of the world as of a tick. Its predicted components become those that travel, as at the server before its
// next step.
func (h *history) keep(w *ecs.World, e ecs.Entity, tagged ecs.ID, t netcode.Tick, slot int) {
	mask := h.maskOf(w, e, tagged)
	h.setMask(t, slot, mask)
	for k := range h.components {
		if mask>>k&1 != 0 && h.components[k].size > 0 {
			h.keepColumn(bytesOf(w, e, h.components[k].id, h.components[k].size), t, slot, k)
		}
	}
}

// keepColumn stores a component of entities whose slots follow each other.
func (h *history) keepColumn(from []byte, t netcode.Tick, slot, k int) {
	c := &h.components[k]
	n, to := len(from)/c.size, h.column(t, slot, len(from)/c.size, k)
	switch {
	case c.packed:
		c.plan.SnapRows(from, wordsOf(to), n)
		return
	case c.rounds:
		h.scratch = slices.Grow(h.scratch[:0], n*len(c.lanes))[:n*len(c.lanes)]
		c.plan.SnapRows(from, h.scratch, n)
	}
	copy(to, from)
}

// restoreColumn is the inverse of keepColumn.
func (h *history) restoreColumn(to []byte, t netcode.Tick, slot, k int) {
	c := &h.components[k]
	n := len(to) / c.size
	if from := h.column(t, slot, n, k); c.packed {
		c.plan.DequantiseRows(to, wordsOf(from), len(c.lanes), n)
	} else {
		copy(to, from)
	}
}

// same tells if the lanes of a component are the server's for all entities whose slots follow each other. It is false where no lanes are kept.
func (h *history) same(t netcode.Tick, slot, count, k int, theirs []uint32, stride int) bool {
	c := &h.components[k]
	return c.keepsLanes() && c.compare.SameAt(wordsOf(h.column(t, slot, count, k)), theirs, stride, count)
}

// unlike returns a bit for each of up to 64 entities, whose slots follow each other, whose component has other lanes than the
// server's. Those are stride apart.
func (h *history) unlike(t netcode.Tick, slot, count, k int, theirs []uint32, stride int) (set uint64) {
	c := &h.components[k]
	if c.keepsLanes() {
		return c.compare.DifferingAt(wordsOf(h.column(t, slot, count, k)), theirs, stride, count)
	}
	for i := range count {
		if !slices.Equal(h.lanesOf(t, slot+i, k), theirs[i*stride:][:len(c.lanes)]) {
			set |= 1 << i
		}
	}
	return set
}

// correct makes a component of entities whose slots follow each other the server's.
func (h *history) correct(t netcode.Tick, slot, count, k int, theirs []uint32, stride int) {
	c, to := &h.components[k], h.column(t, slot, count, k)
	width := len(c.lanes)
	if c.keepsLanes() {
		for i, ours := 0, wordsOf(to); i < count; i++ {
			copy(ours[i*width:][:width], theirs[i*stride:])
		}
		return
	}
	if !c.plan.DequantiseRows(to, theirs, stride, count) {
		for i := range count {
			c.plan.Dequantise(theirs[i*stride:][:width], pointerTo(h.bytes(t, slot+i, k)))
		}
	}
}

// structure changes the components of entities of the world. Its lists are lent to the world: others would be on the heap.
type structure struct{ add, remove []ecs.ID }

// with adds one component.
func (s *structure) with(w *ecs.World, e ecs.Entity, id ecs.ID) {
	s.add = append(s.add[:0], id)
	w.Add(e, s.add...)
}

// without removes one component.
func (s *structure) without(w *ecs.World, e ecs.Entity, id ecs.ID) {
	s.remove = append(s.remove[:0], id)
	w.Remove(e, s.remove...)
}

// change gives an entity the components of a mask.
func (s *structure) change(h *history, w *ecs.World, e ecs.Entity, tagged ecs.ID, mask uint64) {
	now := h.maskOf(w, e, tagged)
	if now == mask {
		return
	}
	s.add, s.remove = s.add[:0], s.remove[:0]
	list := func(bit uint64, id ecs.ID) {
		switch {
		case mask&bit != 0 && now&bit == 0:
			s.add = append(s.add, id)
		case mask&bit == 0 && now&bit != 0:
			s.remove = append(s.remove, id)
		}
	}
	list(alive, tagged)
	for k := range h.components {
		list(1<<k, h.components[k].id)
	}
	w.Exchange(e, s.add, s.remove)
}

// restore makes an entity of the world as it was in a tick.
func (h *history) restore(s *structure, w *ecs.World, e ecs.Entity, tagged ecs.ID, t netcode.Tick, slot int) {
	mask := h.mask(t, slot)
	s.change(h, w, e, tagged, mask)
	for k := range h.components {
		if mask>>k&1 != 0 {
			if c := &h.components[k]; c.size > 0 {
				h.restoreColumn(bytesOf(w, e, c.id, c.size), t, slot, k)
			}
		}
	}
}
