package worldless

import (
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Entities collects commands about entities until the next capture, Publish.
type Entities struct {
	store    *snapshot.Store
	commands []command
	lanes    []uint32
	spawned  []uint32 // By index: the generation that Spawn gave out, 0 for none.
	pace     pace
}

// New returns the entities of a store.
func New(store *snapshot.Store) *Entities { return &Entities{store: store} }

// command is one change. The lanes of a component lie at from.
type command struct {
	kind commandKind
	row  int
	id   wire.NetworkID
	from int

	control Control
}

type commandKind uint8

const (
	commandSpawn commandKind = iota
	commandPut               // Published at the component's rate.
	commandSet               // Published now.
	commandRemove
	commandDespawn
	commandControl
)

// Waits reports whether the next capture has anything to publish.
func (e *Entities) Waits() bool { return len(e.commands)+len(e.pace.late) > 0 }

// Has reports whether id is an entity of Spawn that was not despawned.
func (e *Entities) Has(id wire.NetworkID) bool {
	return int64(id.Index) < int64(len(e.spawned)) && id.Generation != 0 && e.spawned[id.Index] == id.Generation
}

// Spawn names a new entity. It exists, without components, from the next capture on. The zero id means that no more entities can
// be alive.
func (e *Entities) Spawn() wire.NetworkID {
	id := e.store.Reserve()
	if id.IsZero() {
		return id
	}
	for int(id.Index) >= len(e.spawned) {
		e.spawned = append(e.spawned, 0)
	}
	e.spawned[id.Index] = id.Generation
	e.pace.rate(id.Index, 0)
	e.commands = append(e.commands, command{kind: commandSpawn, id: id})
	return id
}

// Despawn ends an entity of Spawn and reports whether there was one.
func (e *Entities) Despawn(id wire.NetworkID) bool {
	if !e.Has(id) {
		return false
	}
	e.spawned[id.Index] = 0
	e.store.Forsake(id)
	e.commands = append(e.commands, command{kind: commandDespawn, id: id})
	return true
}

// Set gives an entity a component with these lanes, which are copied, whatever its rate.
func (e *Entities) Set(id wire.NetworkID, row int, lanes []uint32) {
	e.commands = append(e.commands, command{kind: commandSet, row: row, id: id, from: len(e.lanes)})
	e.lanes = append(e.lanes, lanes...)
}

// PutBy gives an entity a component with lanes that a function writes, from zero. Where it reports a fault nothing is stored.
func (e *Entities) PutBy(id wire.NetworkID, row, lanes int, c Control, write func(lanes []uint32) quantize.Fault) quantize.Fault {
	from := len(e.lanes)
	for range lanes {
		e.lanes = append(e.lanes, 0)
	}
	if fault := write(e.lanes[from:]); fault.Reason != wire.NoFault {
		e.lanes = e.lanes[:from]
		return fault
	}
	e.Control(id, c)
	e.commands = append(e.commands, command{kind: commandPut, row: row, id: id, from: from})
	return quantize.Fault{}
}

// Remove takes a component from an entity, if it has it.
func (e *Entities) Remove(id wire.NetworkID, row int) {
	e.commands = append(e.commands, command{kind: commandRemove, row: row, id: id})
}

// Publish brings all changes into the store, between its Begin and Commit. Elsewhere it does nothing.
func (e *Entities) Publish() {
	if !e.store.Open() {
		return
	}
	if len(e.commands)+len(e.pace.late)+len(e.pace.anew) == 0 {
		e.pace.next(e.store.Tick())
		return
	}
	e.putLate()
	schema := e.store.Schema()
	for _, c := range e.commands {
		switch c.kind {
		case commandSpawn:
			e.store.Adopt(c.id)
		case commandPut:
			e.putNow(c.id, c.row, e.lanes[c.from:c.from+schema.Plan(c.row).Lanes()])
		case commandSet:
			e.pace.drop(c.id, c.row)
			e.store.Set(c.id, c.row, e.lanes[c.from:c.from+schema.Plan(c.row).Lanes()])
		case commandRemove:
			e.pace.drop(c.id, c.row)
			e.store.Remove(c.id, c.row)
		case commandControl:
			e.apply(c.id, c.control)
		case commandDespawn:
			e.store.Despawn(c.id)
		}
	}
	e.commands, e.lanes = e.commands[:0], e.lanes[:0]
}
