package predict

import (
	"slices"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
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
	plain        bool          // Its memory is its lanes.
	compare      quantize.Rows // Of its lanes.
}

// history is the components of the predicted entities in the last Window ticks, as bytes, in columns.
type history struct {
	components []component
	slots      int          // There is room for so many entities.
	masks      []uint64     // By tick modulo Window, then slot.
	columns    [][]byte     // By component: by tick modulo Window, then slot: its bytes.
	rows       [][]uint32   // By component that is rounded: by tick modulo Window, then slot: its lanes.
	numbers    []int32      // 0, 1, 2 and so on, by slot.
	bad        []int32      // Scratch.
	fetched    uint32       // Of no use but to fetch.
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
		size, lanes := c.size, len(c.lanes)
		columns[k] = bytesIn(make([]uint64, (Window*slots*size+7)/8))
		if !c.rounds {
			lanes = 0
		}
		rows[k] = make([]uint32, Window*slots*lanes)
		for t := 0; t < Window && h.slots > 0; t++ {
			copy(columns[k][t*slots*size:], h.columns[k][t*h.slots*size:(t+1)*h.slots*size])
			copy(rows[k][t*slots*lanes:], h.rows[k][t*h.slots*lanes:(t+1)*h.slots*lanes])
		}
	}
	h.masks, h.columns, h.rows, h.slots = masks, columns, rows, slots
	for len(h.numbers) < slots {
		h.numbers = append(h.numbers, int32(len(h.numbers)))
	}
}

// mask returns the components of an entity in a tick.
func (h *history) mask(t netcode.Tick, slot int) *uint64 {
	return &h.masks[int(t%Window)*h.slots+slot]
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

// rowsOf is the lanes of a component, that is rounded, of entities whose slots follow each other.
func (h *history) rowsOf(t netcode.Tick, slot, count, k int) []uint32 {
	lanes := len(h.components[k].lanes)
	return h.rows[k][(int(t%Window)*h.slots+slot)*lanes:][:count*lanes]
}

// bytes is a component of an entity in a tick.
func (h *history) bytes(t netcode.Tick, slot, k int) []byte {
	c := &h.components[k]
	from := (int(t%Window)*h.slots + slot) * c.size
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
		if mask>>k&1 != 0 && h.components[k].size > 0 {
			h.keepColumn(bytesOf(w, e, h.components[k].id, h.components[k].size), t, slot, k)
		}
	}
}

// keepColumn stores a component of entities whose slots follow each other.
func (h *history) keepColumn(from []byte, t netcode.Tick, slot, k int) {
	c := &h.components[k]
	n := len(from) / c.size
	if c.rounds {
		lanes := h.rowsOf(t, slot, n, k)
		h.bad = c.plan.QuantiseRows(&from[0], c.size, h.numbers[:n], lanes, h.bad[:0])
		if len(h.bad) > 0 || !c.plan.DequantiseRows(from, lanes, len(c.lanes), n) {
			for i := range n {
				row, value := lanes[i*len(c.lanes):][:len(c.lanes)], pointerTo(from[i*c.size:])
				if fault := c.plan.Quantise(value, row); fault.Reason == wire.NoFault {
					c.plan.Dequantise(row, value)
				}
			}
		}
	}
	copy(h.column(t, slot, n, k), from)
}

// unlike returns a bit for each of up to 64 entities, whose slots follow each other, whose component has other lanes than the
// server's. Those are stride apart.
func (h *history) unlike(t netcode.Tick, slot, count, k int, theirs []uint32, stride int) (set uint64) {
	c := &h.components[k]
	if c.rounds || c.plain {
		return c.compare.DifferingAt(c.columnLanes(h, t, slot, count, k), theirs, stride, count)
	}
	for i := range count {
		if !slices.Equal(h.lanesOf(t, slot+i, k), theirs[i*stride:][:len(c.lanes)]) {
			set |= 1 << i
		}
	}
	return set
}

// fetch reads a word of each cache line of what columnLanes returns. It is of a tick a round trip ago, and in no near cache: these reads wait for
// memory together, those of a comparison would one after the other.
func (h *history) fetch(t netcode.Tick, slot, count, k int) {
	if c := &h.components[k]; c.rounds || c.plain {
		lanes := c.columnLanes(h, t, slot, count, k)
		for at := 0; at < len(lanes); at += 16 {
			h.fetched |= lanes[at]
		}
	}
}

// columnLanes is the lanes of entities whose slots follow each other.
func (c *component) columnLanes(h *history, t netcode.Tick, slot, count, k int) []uint32 {
	if c.rounds {
		return h.rowsOf(t, slot, count, k)
	}
	return wordsOf(h.column(t, slot, count, k))
}

// correct makes a component of entities whose slots follow each other the server's.
func (h *history) correct(t netcode.Tick, slot, count, k int, theirs []uint32, stride int) {
	c := &h.components[k]
	width := len(c.lanes)
	if c.rounds || c.plain {
		ours := c.columnLanes(h, t, slot, count, k)
		for i := range count {
			copy(ours[i*width:][:width], theirs[i*stride:])
		}
	}
	if !c.plain {
		dequantiseRows(c.plan, h.column(t, slot, count, k), theirs, stride, count)
	}
}

// dequantiseRows writes rows, stride lanes apart, into n components that lie one behind the other.
func dequantiseRows(plan *quantize.Plan, to []byte, lanes []uint32, stride, n int) {
	if plan.DequantiseRows(to, lanes, stride, n) {
		return
	}
	size := int(plan.Size())
	for i := range n {
		plan.Dequantise(lanes[i*stride:][:plan.Lanes()], pointerTo(to[i*size:]))
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
