package record

import (
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// world is the state of a tick: a Reader, or the newest capture of a store.
type world interface {
	Entity(index uint32) (generation uint32, mask snapshot.Mask)
	Row(index uint32, row int) []uint32
}

// target takes the entities of a world: a server, or an open store.
type target interface {
	Spawn() wire.NetworkID
	Despawn(id wire.NetworkID) bool
	PutRow(id wire.NetworkID, row int, lanes []uint32) bool
	RemoveRow(id wire.NetworkID, row int) bool
}

// captured is a store as a world and as a target.
type captured struct{ *snapshot.Store }

func (c captured) Entity(index uint32) (generation uint32, mask snapshot.Mask) {
	id, _ := c.At(index)
	return id.Generation, c.Mask(id)
}

func (c captured) Row(index uint32, row int) []uint32 {
	id, _ := c.At(index)
	return c.Store.Row(id, row)
}

func (c captured) Despawn(id wire.NetworkID) bool {
	c.Store.Despawn(id)
	return true
}

func (c captured) PutRow(id wire.NetworkID, row int, lanes []uint32) bool {
	return c.Set(id, row, lanes)
}

func (c captured) RemoveRow(id wire.NetworkID, row int) bool {
	c.Remove(id, row)
	return true
}

// mirror copies the entities of a world into a target, under ids of the target.
type mirror struct {
	to     target
	rows   []int // by row of the world: the row of the target, -1 for none
	plans  []*quantize.Plan
	played []played // by index of the world
	was    map[wire.NetworkID]wire.NetworkID
	lanes  []uint32
}

// played is the target's entity for one of the world.
type played struct {
	generation uint32 // of the world; 0: there is none
	id         wire.NetworkID
	mask       snapshot.Mask // rows of the world that the target has
}

// newMirror returns a mirror of a world with these components.
func newMirror(to target, plans []*quantize.Plan, rows []int) mirror {
	return mirror{to: to, rows: rows, plans: plans, was: map[wire.NetworkID]wire.NetworkID{}}
}

// ID returns the target's entity for one of the world, the zero id if there is none.
func (m *mirror) ID(of wire.NetworkID) wire.NetworkID {
	if int64(of.Index) >= int64(len(m.played)) || of.Generation == 0 || m.played[of.Index].generation != of.Generation {
		return wire.NetworkID{}
	}
	return m.played[of.Index].id
}

// changed appends the indexes that a reader's tick may have changed, for copy.
func (m *mirror) changed(indexes []uint32, r *Reader) []uint32 {
	if !r.Fresh() {
		return append(append(indexes, r.ended...), r.recent...)
	}
	indexes = indexes[:0]
	for index := range max(r.indexes, len(m.played)) {
		indexes = append(indexes, uint32(index))
	}
	return indexes
}

// copy makes the entities at these indexes those of the world, and reports whether the target had room for all. All are
// spawned before any rows, which may name them.
func (m *mirror) copy(from world, indexes []uint32) (room bool) {
	room = true
	for _, index := range indexes {
		room = m.live(from, index) && room
	}
	for _, index := range indexes {
		m.put(from, index)
	}
	return room
}

// live spawns or despawns the target's entity, and returns false if there is no room for it.
func (m *mirror) live(from world, index uint32) bool {
	for int(index) >= len(m.played) {
		m.played = append(m.played, played{})
	}
	e := &m.played[index]
	generation, _ := from.Entity(index)
	if generation == e.generation {
		return true
	}
	if e.generation != 0 {
		m.to.Despawn(e.id)
		delete(m.was, e.id)
		*e = played{}
	}
	if generation == 0 {
		return true
	}
	id := m.to.Spawn()
	if id.IsZero() {
		return false
	}
	*e = played{generation: generation, id: id}
	m.was[id] = wire.NetworkID{Index: index, Generation: generation}
	return true
}

// put sets the rows of the target's entity and removes others that it had.
func (m *mirror) put(from world, index uint32) {
	e := &m.played[index]
	if e.generation == 0 {
		return
	}
	_, mask := from.Entity(index)
	for gone := e.mask.Minus(mask); !gone.IsZero(); gone = gone.Rest() {
		m.to.RemoveRow(e.id, m.rows[gone.Lowest()])
	}
	e.mask = snapshot.Mask{}
	for ; !mask.IsZero(); mask = mask.Rest() {
		row := mask.Lowest()
		if m.rows[row] < 0 {
			continue
		}
		e.mask = e.mask.With(row)
		m.lanes = append(m.lanes[:0], from.Row(index, row)...)
		for _, at := range m.plans[row].Refs() {
			id := m.ID(wire.NetworkID{Index: m.lanes[at], Generation: m.lanes[at+1]})
			m.lanes[at], m.lanes[at+1] = id.Index, id.Generation
		}
		m.to.PutRow(e.id, m.rows[row], m.lanes)
	}
}
