package predict

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/wire"
)

// alive is the bit of a mask that an entity is there. The others are the components of history.components.
const alive = 1 << 63

// component is a predicted or local component of a client's world.
type component struct {
	predictedRow        // row is -1 for a local one.
	id           ecs.ID // Of the component in the world.
	size         int
	stride       int      // size, to a multiple of 8.
	lanes        []uint32 // Scratch.
	shown        *shown   // Nil without components.Smooth.
	rounds       bool     // Its values are rounded to those that travel.
	plain        bool     // Its memory is its lanes.
}

// history is the components of the predicted entities in the last Window ticks, as bytes, in columns.
type history struct {
	components []component
	slots      int          // There is room for so many entities.
	masks      []uint64     // By tick modulo Window, then slot.
	columns    [][]byte     // By component: by tick modulo Window, then slot: its bytes.
	rows       [][]uint32   // By component that is rounded: by tick modulo Window, then slot: its lanes.
	seen       []bool       // Scratch, by slot.
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
	masks := make([]uint64, Window*slots)
	for t := range Window {
		copy(masks[t*slots:], h.masks[t*h.slots:(t+1)*h.slots])
	}
	columns, rows := make([][]byte, len(h.components)), make([][]uint32, len(h.components))
	for k := range columns {
		c := &h.components[k]
		stride, lanes := c.stride, len(c.lanes)
		columns[k] = bytesIn(make([]uint64, Window*slots*stride/8))
		if !c.rounds {
			lanes = 0
		}
		rows[k] = make([]uint32, Window*slots*lanes)
		for t := 0; t < Window && h.slots > 0; t++ {
			copy(columns[k][t*slots*stride:], h.columns[k][t*h.slots*stride:(t+1)*h.slots*stride])
			copy(rows[k][t*slots*lanes:], h.rows[k][t*h.slots*lanes:(t+1)*h.slots*lanes])
		}
	}
	h.masks, h.columns, h.rows, h.slots, h.seen = masks, columns, rows, slots, make([]bool, slots)
}

// mask returns the components of an entity in a tick.
func (h *history) mask(t netcode.Tick, slot int) *uint64 {
	return &h.masks[int(t%Window)*h.slots+slot]
}

// bytes is a component of an entity in a tick.
func (h *history) bytes(t netcode.Tick, slot, k int) []byte {
	c := &h.components[k]
	from := (int(t%Window)*h.slots + slot) * c.stride
	return h.columns[k][from : from+c.size]
}

// row is the lanes of a component, that is rounded, of an entity in a tick.
func (h *history) row(t netcode.Tick, slot, k int) []uint32 {
	lanes := len(h.components[k].lanes)
	from := (int(t%Window)*h.slots + slot) * lanes
	return h.rows[k][from : from+lanes]
}

// lanesOf returns the lanes of a component of an entity in a tick. They are good until the next call.
func (h *history) lanesOf(t netcode.Tick, slot, k int) []uint32 {
	switch c := &h.components[k]; {
	case c.rounds:
		return h.row(t, slot, k)
	case c.plain:
		return wordsOf(h.bytes(t, slot, k))
	default:
		c.plan.Quantise(pointerTo(h.bytes(t, slot, k)), c.lanes)
		return c.lanes
	}
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
	*h.mask(t, slot) = mask
	for k := range h.components {
		if mask>>k&1 != 0 {
			h.keepOne(bytesOf(w, e, h.components[k].id, h.components[k].size), t, slot, k)
		}
	}
}

// keepOne stores a component of an entity.
func (h *history) keepOne(from []byte, t netcode.Tick, slot, k int) {
	if c := &h.components[k]; c.rounds {
		lanes := h.row(t, slot, k)
		if fault := c.plan.Quantise(pointerTo(from), lanes); fault.Reason == wire.NoFault {
			c.plan.Dequantise(lanes, pointerTo(from))
		}
	}
	copy(h.bytes(t, slot, k), from)
}

// at returns the slot and the components of the entity that a query is at, of those that are simulated. slot is -1 if it has none.
func (c *client) at(query *ecs.Query) (slot int, mask uint64) {
	e := query.Entity()
	if int(e.ID()) >= len(c.byEntity) {
		return -1, 0
	}
	slot = int(c.byEntity[e.ID()]) - 1
	if slot < 0 || c.slots[slot].entity != e {
		return -1, 0
	}
	mask = alive
	for k := range c.history.components {
		if query.Has(c.history.components[k].id) {
			mask |= 1 << k
		}
	}
	return slot, mask
}

// structure gives an entity of the world the components of a mask.
type structure struct{ add, remove []ecs.ID }

// change adds and removes components.
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
	mask := *h.mask(t, slot)
	s.change(h, w, e, tagged, mask)
	for k := range h.components {
		if mask>>k&1 != 0 {
			c := &h.components[k]
			copy(bytesOf(w, e, c.id, c.size), h.bytes(t, slot, k))
		}
	}
}
