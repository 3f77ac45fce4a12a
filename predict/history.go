package predict

import (
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
	stride       int      // size, to a multiple of 8.
	lanes        []uint32 // Scratch.
	shown        *shown   // Nil without components.Smooth.
	plain        bool     // It needs no rounding.
}

// history is the components of the predicted entities in the last Window ticks, as bytes, in columns.
type history struct {
	components []component
	slots      int          // There is room for so many entities.
	masks      []uint64     // By tick modulo Window, then slot.
	columns    [][]byte     // By component: by tick modulo Window, then slot: its bytes.
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
	columns := make([][]byte, len(h.components))
	for k := range columns {
		stride := h.components[k].stride
		columns[k] = bytesIn(make([]uint64, Window*slots*stride/8))
		for t := 0; t < Window && h.slots > 0; t++ {
			copy(columns[k][t*slots*stride:], h.columns[k][t*h.slots*stride:(t+1)*h.slots*stride])
		}
	}
	h.masks, h.columns, h.slots = masks, columns, slots
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

// keep stores an entity of the world as of a tick.
func (h *history) keep(w *ecs.World, e ecs.Entity, tagged ecs.ID, t netcode.Tick, slot int) {
	mask := h.maskOf(w, e, tagged)
	*h.mask(t, slot) = mask
	for k := range h.components {
		if mask>>k&1 != 0 {
			c := &h.components[k]
			copy(h.bytes(t, slot, k), bytesOf(w, e, c.id, c.size))
		}
	}
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

// plainOf tells if a plan's values travel exactly.
func plainOf(plan *quantize.Plan) bool { return plan.Plain() || plan.Lanes() == 0 }
