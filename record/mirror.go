package record

import (
	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// world is the state of a tick: a Reader, or the newest capture of a store.
type world interface {
	Entity(index uint32) (generation uint32, mask snapshot.Mask)
	Row(index uint32, row int) []uint32
}

// captured is the newest capture of a store as a world.
type captured struct{ *snapshot.Store }

// Entity implements world.
func (c captured) Entity(index uint32) (generation uint32, mask snapshot.Mask) {
	id, _ := c.At(index)
	return id.Generation, c.Mask(id)
}

// Row implements world.
func (c captured) Row(index uint32, row int) []uint32 {
	id, _ := c.At(index)
	return c.Store.Row(id, row)
}

// rename replaces the entities that a row of a plan names.
func rename(plan *quantize.Plan, lanes []uint32, name func(wire.NetworkID) wire.NetworkID) {
	for _, at := range plan.Refs() {
		id := name(wire.NetworkID{Index: lanes[at], Generation: lanes[at+1]})
		lanes[at], lanes[at+1] = id.Index, id.Generation
	}
}

// mirror copies the entities of a recording to a server, under ids of the server.
type mirror struct {
	server *netcode.Server
	rows   []int // by recorded row: the row of the server, -1 for none
	plans  []*quantize.Plan
	played []played // by recorded index
	was    map[wire.NetworkID]wire.NetworkID
	lanes  []uint32
}

// played is the server's entity for a recorded one.
type played struct {
	generation uint32 // recorded; 0: there is none
	id         wire.NetworkID
	mask       snapshot.Mask // recorded rows that the server has
}

// newMirror returns a mirror of a recording with these components.
func newMirror(s *netcode.Server, plans []*quantize.Plan, rows []int) mirror {
	return mirror{server: s, rows: rows, plans: plans, was: map[wire.NetworkID]wire.NetworkID{}}
}

// ID returns the server's entity for a recorded one, the zero id if it does not exist at this tick.
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

// copy makes the entities at these indexes those of the recording, and reports whether the server had room for all. All are
// spawned before any rows, which may name them.
func (m *mirror) copy(from *Reader, indexes []uint32) (room bool) {
	room = true
	for _, index := range indexes {
		room = m.live(from, index) && room
	}
	for _, index := range indexes {
		m.put(from, index)
	}
	return room
}

// live spawns or despawns the server's entity, and returns false if there is no room for it.
func (m *mirror) live(from *Reader, index uint32) bool {
	for int(index) >= len(m.played) {
		m.played = append(m.played, played{})
	}
	e := &m.played[index]
	generation, _ := from.Entity(index)
	if generation == e.generation {
		return true
	}
	if e.generation != 0 {
		m.server.Despawn(e.id)
		delete(m.was, e.id)
		*e = played{}
	}
	if generation == 0 {
		return true
	}
	id := m.server.Spawn()
	if id.IsZero() {
		return false
	}
	*e = played{generation: generation, id: id}
	m.was[id] = wire.NetworkID{Index: index, Generation: generation}
	return true
}

// put sets the rows of the server's entity and removes others that it had.
func (m *mirror) put(from *Reader, index uint32) {
	e := &m.played[index]
	if e.generation == 0 {
		return
	}
	_, mask := from.Entity(index)
	for gone := e.mask.Minus(mask); !gone.IsZero(); gone = gone.Rest() {
		extend.OfServer(m.server).RemoveRow(e.id, m.rows[gone.Lowest()])
	}
	e.mask = snapshot.Mask{}
	for ; !mask.IsZero(); mask = mask.Rest() {
		row := mask.Lowest()
		if m.rows[row] < 0 {
			continue
		}
		e.mask = e.mask.With(row)
		m.lanes = append(m.lanes[:0], from.Row(index, row)...)
		rename(m.plans[row], m.lanes, m.ID)
		extend.OfServer(m.server).PutRow(e.id, m.rows[row], m.lanes)
	}
}
