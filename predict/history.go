package predict

import (
	"slices"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/quantize"
)

// alive is the bit of a mask for "the entity exists". The other bits are the components of history.components.
const alive = 1 << 63

// component is a predicted or local component of a client's world.
type component struct {
	predictedRow          // row is -1 for a local component.
	id           world.ID // The component in the world.
	size         int
	lanes        []uint32      // Scratch.
	shown        *shown        // Nil without components.Smooth.
	rounds       bool          // Its values are rounded to the quantised values that are sent.
	packed       bool          // It rounds, and its column has lanes in place of memory.
	plain        bool          // Its memory equals its lanes.
	compare      quantize.Rows // Compares its lanes.
}

// keepsLanes reports whether the column has lanes. Lanes then have the same size in bytes as the component.
func (c *component) keepsLanes() bool { return c.packed || c.plain }

// history has the components of the predicted entities in the last Window ticks. Each component has a column, with the
// lanes or the memory of each value.
type history struct {
	components []component
	slots      int          // The capacity in entities.
	masks      []uint64     // By tick modulo Window, then slot.
	arranged   [Window]int  // By tick modulo Window: the order.version that set all masks; 0: none did.
	columns    [][]byte     // By component: by tick modulo Window, then slot.
	scratch    []uint32     // Scratch: lanes.
	saved      [][]byte     // By tick modulo Window: the resources.
	oldest     netcode.Tick // The oldest stored tick.
	newest     netcode.Tick // The newest stored tick.
}

// grow raises the capacity to at least a number of entities.
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

// setMask sets the components of an entity in a tick.
func (h *history) setMask(t netcode.Tick, slot int, mask uint64) {
	if at := &h.masks[int(t%Window)*h.slots+slot]; *at != mask {
		*at, h.arranged[t%Window] = mask, 0
	}
}

// masksOf returns the masks of count consecutive slots.
func (h *history) masksOf(t netcode.Tick, slot, count int) []uint64 {
	return h.masks[int(t%Window)*h.slots+slot:][:count]
}

// column returns the values of component k in count consecutive slots.
func (h *history) column(t netcode.Tick, slot, count, k int) []byte {
	size := h.components[k].size
	return h.columns[k][(int(t%Window)*h.slots+slot)*size:][:count*size]
}

// bytes returns the value of component k of an entity in a tick.
func (h *history) bytes(t netcode.Tick, slot, k int) []byte {
	c := &h.components[k]
	from := (int(t%Window)*h.slots + slot) * c.size
	return h.columns[k][from : from+c.size]
}

// lanesOf returns the lanes of a component of an entity in a tick. They are valid until the next call.
func (h *history) lanesOf(t netcode.Tick, slot, k int) []uint32 {
	c := &h.components[k]
	if c.keepsLanes() {
		return wordsOf(h.bytes(t, slot, k))
	}
	c.plan.Quantise(pointerTo(h.bytes(t, slot, k)), c.lanes)
	return c.lanes
}

// holds reports whether a tick is stored.
func (h *history) holds(t netcode.Tick) bool {
	return t >= h.oldest && t <= h.newest && t > h.newest-Window && t > 0
}

// maskOf returns the present components of an entity of the world.
func (h *history) maskOf(w *netecs.World, e netecs.Entity, simulateID world.ID) (mask uint64) {
	has := world.MaskOf(w, e)
	if has.Get(simulateID) {
		mask = alive
	}
	for k := range h.components {
		if has.Get(h.components[k].id) {
			mask |= 1 << k
		}
	}
	return mask
}

// keep stores an entity of the world as of a tick. It rounds the predicted components in the world to the values that are
// sent, as the server does before its next step.
func (h *history) keep(w *netecs.World, e netecs.Entity, simulateID world.ID, t netcode.Tick, slot int) {
	mask := h.maskOf(w, e, simulateID)
	h.setMask(t, slot, mask)
	for k := range h.components {
		if mask>>k&1 != 0 && h.components[k].size > 0 {
			h.keepColumn(bytesOf(w, e, h.components[k].id, h.components[k].size), t, slot, k)
		}
	}
}

// keepColumn stores component k of entities with consecutive slots.
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

// equal reports whether the lanes of a component equal the server's for count consecutive slots. It is false where no
// lanes are stored.
func (h *history) equal(t netcode.Tick, slot, count, k int, theirs []uint32, stride int) bool {
	c := &h.components[k]
	return c.keepsLanes() && c.compare.SameAt(wordsOf(h.column(t, slot, count, k)), theirs, stride, count)
}

// differing compares a component of up to 64 consecutive slots with the server's lanes, which are stride lanes apart. It
// returns a bit for each entity that differs.
func (h *history) differing(t netcode.Tick, slot, count, k int, theirs []uint32, stride int) (set uint64) {
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

// correct writes the server's lanes of a component into count consecutive slots.
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

// structure adds and removes components of entities. Its lists are scratch: lists of a call would be on the heap.
type structure struct{ add, remove []world.ID }

// with adds one component.
func (s *structure) with(w *netecs.World, e netecs.Entity, id world.ID) {
	s.add = append(s.add[:0], id)
	world.Exchange(w, e, s.add, nil, nil)
}

// without removes one component.
func (s *structure) without(w *netecs.World, e netecs.Entity, id world.ID) {
	s.remove = append(s.remove[:0], id)
	world.Exchange(w, e, nil, s.remove, nil)
}

// change gives an entity of the world exactly the components of a mask.
func (s *structure) change(h *history, w *netecs.World, e netecs.Entity, simulateID world.ID, mask uint64) {
	now := h.maskOf(w, e, simulateID)
	if now == mask {
		return
	}
	s.add, s.remove = s.add[:0], s.remove[:0]
	list := func(bit uint64, id world.ID) {
		switch {
		case mask&bit != 0 && now&bit == 0:
			s.add = append(s.add, id)
		case mask&bit == 0 && now&bit != 0:
			s.remove = append(s.remove, id)
		}
	}
	list(alive, simulateID)
	for k := range h.components {
		list(1<<k, h.components[k].id)
	}
	world.Exchange(w, e, s.add, s.remove, nil)
}

// restore gives an entity of the world its state of a tick.
func (h *history) restore(s *structure, w *netecs.World, e netecs.Entity, simulateID world.ID, t netcode.Tick, slot int) {
	mask := h.mask(t, slot)
	s.change(h, w, e, simulateID, mask)
	for k := range h.components {
		if mask>>k&1 != 0 {
			if c := &h.components[k]; c.size > 0 {
				h.restoreColumn(bytesOf(w, e, c.id, c.size), t, slot, k)
			}
		}
	}
}
