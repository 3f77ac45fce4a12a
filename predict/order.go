package predict

import (
	"bytes"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/internal/world"
)

// place is a component of the entities that have a slot: it stores the slot in the world. While the place column of a
// table is unchanged, the rows of the table are in the same order.
type place struct {
	number int32 // 1 + slot.
}

const placeSize = 4

// order lists the entities of the simulation in their memory order in the world. Column 0 has their places, column 1+k
// has component k of the history.
type order struct {
	tables
	version int    // The version of parts, from 1 on.
	parts   []part // By table.
	in      []bool // By slot: the entity is in a part.
	count   int    // The number of entities in all parts.
}

// part has the slots of one table.
type part struct {
	mask   uint64 // The components, as a mask of the history.
	places []byte // A copy of the column of places.
	runs   []run
}

// run is a range of rows of a table with consecutive slots.
type run struct{ row, slot, count int }

// newOrder finds the components of a history in a world.
func newOrder(w *netecs.World, h *history, placeID, simulateID world.ID) order {
	o := order{tables: newTables(w, world.All(placeID, simulateID))}
	o.column(placeID, placeSize)
	for k := range h.components {
		o.column(h.components[k].id, h.components[k].size)
	}
	return o
}

// refresh updates the order. It reports whether an entity was added, removed or moved since the last call.
func (o *order) refresh(w *netecs.World, slots int) (moved bool) {
	moved = o.tables.refresh(w)
	for len(o.in) < slots {
		o.in = append(o.in, false)
	}
	for i := range o.list {
		if moved || !bytes.Equal(o.parts[i].places, o.placesOf(i)) {
			o.arrange()
			return true
		}
	}
	if moved { // No table is left.
		o.arrange()
	}
	return moved
}

// placesOf returns the column of places of a table.
func (o *order) placesOf(i int) []byte { return o.bytes(&o.list[i], 0, 0, o.list[i].rows) }

// arrange rebuilds the parts of all tables.
func (o *order) arrange() {
	clear(o.in)
	o.version++
	o.count = 0
	for len(o.parts) < len(o.list) {
		o.parts = append(o.parts, part{})
	}
	for i := range o.list {
		p := &o.parts[i]
		p.mask = alive | o.list[i].has>>1
		p.places, p.runs = append(p.places[:0], o.placesOf(i)...), p.runs[:0]
		o.count += o.list[i].rows
		for row, number := range placesAt(o.list[i].columns[0], o.list[i].rows) {
			slot := int(number) - 1
			o.in[slot] = true
			if n := len(p.runs) - 1; n >= 0 && p.runs[n].slot+p.runs[n].count == slot {
				p.runs[n].count++
				continue
			}
			p.runs = append(p.runs, run{row: row, slot: slot, count: 1})
		}
	}
}

// keep stores the entities of all tables as of a tick.
func (o *order) keep(h *history, t netcode.Tick) {
	known := h.arranged[t%Window] == o.version && !plain.On // The same order has set the masks of this place of the ring, Window ticks ago.
	h.arranged[t%Window] = o.version
	for i := range o.list {
		p := &o.parts[i]
		for _, r := range p.runs {
			masks := h.masksOf(t, r.slot, r.count)
			for n := 0; n < len(masks) && !known; n++ {
				masks[n] = p.mask
			}
			for k := range h.components {
				if p.mask>>k&1 != 0 && h.components[k].size > 0 {
					h.keepColumn(o.bytes(&o.list[i], 1+k, r.row, r.count), t, r.slot, k)
				}
			}
		}
	}
}

// restore gives the entities of all tables their state of a tick, where their components are the same as then. It appends
// the slots of the other entities.
func (o *order) restore(h *history, t netcode.Tick, others []int32) []int32 {
	for i := range o.list {
		p := &o.parts[i]
		for _, r := range p.runs {
			masks := h.masksOf(t, r.slot, r.count)
			for from := 0; from < r.count; {
				to := from
				for to < r.count && masks[to] == p.mask {
					to++
				}
				for k := range h.components {
					if to > from && p.mask>>k&1 != 0 && h.components[k].size > 0 {
						h.restoreColumn(o.bytes(&o.list[i], 1+k, r.row+from, to-from), t, r.slot+from, k)
					}
				}
				if from = to; from < r.count {
					others = append(others, int32(r.slot+from))
					from++
				}
			}
		}
	}
	return others
}
