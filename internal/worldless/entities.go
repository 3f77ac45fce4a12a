package worldless

import (
	"reflect"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Entities collects commands about entities until the next capture calls Publish. A nil pointer is valid and empty.
type Entities struct {
	store    *snapshot.Store
	commands []command
	lanes    []uint32
	spawned  []uint32 // By index: generation of the living entity of Spawn, 0 for none.
	late     []latePut
	at       map[lateKey]int  // Index in late; for lookup only.
	sets     int              // Number of commandSet.
	puts     map[lateKey]bool // In Publish, where sets is not 0: the components that the game put. For lookup only.
	before   tick.Tick        // Tick of the last Publish.
}

// New returns the entities of a store.
func New(store *snapshot.Store) *Entities { return &Entities{store: store} }

// command is one change. The lanes of a component begin at from.
type command struct {
	kind commandKind
	row  int
	id   wire.NetworkID
	from int

	control snapshot.Control
}

type commandKind uint8

const (
	commandSpawn commandKind = iota
	commandPut               // Published at the component's rate.
	commandSet               // Published in this tick.
	commandRemove
	commandDespawn
	commandControl
)

// Waits reports whether the next capture has something to publish.
func (e *Entities) Waits() bool { return e != nil && len(e.commands)+len(e.late) > 0 }

// Has reports whether id is a living entity of Spawn.
func (e *Entities) Has(id wire.NetworkID) bool {
	return e != nil && int64(id.Index) < int64(len(e.spawned)) && id.Generation != 0 && e.spawned[id.Index] == id.Generation
}

// Spawn returns the id of a new entity, which exists without components from the next capture on. The zero id means that the
// maximum number of entities is alive.
func (e *Entities) Spawn() wire.NetworkID {
	id := e.store.Reserve()
	if id.IsZero() {
		return id
	}
	for int(id.Index) >= len(e.spawned) {
		e.spawned = append(e.spawned, 0)
	}
	e.spawned[id.Index] = id.Generation
	e.commands = append(e.commands, command{kind: commandSpawn, id: id})
	return id
}

// Despawn despawns an entity of Spawn and reports whether it existed.
func (e *Entities) Despawn(id wire.NetworkID) bool {
	if !e.Has(id) {
		return false
	}
	e.spawned[id.Index] = 0
	e.store.Forsake(id)
	e.commands = append(e.commands, command{kind: commandDespawn, id: id})
	return true
}

// Set sets a component of an entity to a copy of lanes, regardless of its rate. If the game puts it too until the next Publish,
// before or after, that counts.
func (e *Entities) Set(id wire.NetworkID, row int, lanes []uint32) {
	e.sets++
	e.commands = append(e.commands, command{kind: commandSet, row: row, id: id, from: len(e.lanes)})
	e.lanes = append(e.lanes, lanes...)
}

// PutBy sets a component of an entity. write fills in the lanes, which are zero before. If it returns a fault nothing is stored.
func (e *Entities) PutBy(id wire.NetworkID, row, lanes int, c snapshot.Control, write func(lanes []uint32) quantize.Fault) quantize.Fault {
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

// Remove removes a component of an entity, if it has it.
func (e *Entities) Remove(id wire.NetworkID, row int) {
	e.commands = append(e.commands, command{kind: commandRemove, row: row, id: id})
}

// Publish writes all changes to the store. It has no effect outside of the store's Begin and Commit.
func (e *Entities) Publish() {
	if !e.store.Open() {
		return
	}
	for _, c := range e.commands { // A new rate counts for all values of this tick.
		switch c.kind {
		case commandSpawn:
			e.store.Adopt(c.id)
		case commandControl:
			e.store.SetControl(c.id, c.control)
		}
	}
	if len(e.late) > 0 {
		e.putLate()
	}
	schema := e.store.Schema()
	e.findPuts()
	for _, c := range e.commands {
		if c.kind == commandSet && e.puts[lateKey{c.id, c.row}] {
			continue
		}
		switch c.kind {
		case commandPut:
			e.putNow(c.id, c.row, e.lanes[c.from:c.from+schema.Plan(c.row).Lanes()])
		case commandSet:
			e.drop(c.id, c.row)
			e.store.Set(c.id, c.row, e.lanes[c.from:c.from+schema.Plan(c.row).Lanes()])
		case commandRemove:
			e.drop(c.id, c.row)
			e.store.Remove(c.id, c.row)
		case commandDespawn:
			e.store.Despawn(c.id)
		}
	}
	e.commands, e.lanes, e.before, e.sets = e.commands[:0], e.lanes[:0], e.store.Tick(), 0
}

// findPuts fills in puts.
func (e *Entities) findPuts() {
	if clear(e.puts); e.sets == 0 {
		return
	}
	for _, c := range e.commands {
		if c.kind == commandPut {
			if e.puts == nil {
				e.puts = map[lateKey]bool{}
			}
			e.puts[lateKey{c.id, c.row}] = true
		}
	}
}

// latePut is a component that waits until it is due. Put obeys Once, Every and components.Rate, as a capture does for written
// components.
type latePut struct {
	id    wire.NetworkID
	row   int
	lanes []uint32
	gone  bool // Removed, or published meanwhile.
}

type lateKey struct {
	id  wire.NetworkID
	row int
}

// wait stores a component until it is due. It replaces an older value.
func (e *Entities) wait(id wire.NetworkID, row int, lanes []uint32) {
	i, ok := e.at[lateKey{id, row}]
	if !ok {
		if e.at == nil {
			e.at = map[lateKey]int{}
		}
		if i = len(e.late); i < cap(e.late) {
			e.late = e.late[:i+1] // Reuses the memory of a published one.
		} else {
			e.late = append(e.late, latePut{})
		}
		e.at[lateKey{id, row}] = i
	}
	l := &e.late[i]
	l.id, l.row, l.gone, l.lanes = id, row, false, append(l.lanes[:0], lanes...)
}

// drop removes the waiting value of a component.
func (e *Entities) drop(id wire.NetworkID, row int) {
	if i, ok := e.at[lateKey{id, row}]; ok {
		e.late[i].gone = true
	}
}

// putNow writes a component to the store, or makes it wait. A component that is new in this tick, or has a value of this tick, does not
// wait.
func (e *Entities) putNow(id wire.NetworkID, row int, lanes []uint32) {
	since := e.store.Since(id, row)
	if since != tick.None && since != e.store.Tick() && !IsControl(e.store.Schema().Plan(row).Type()) {
		if e.store.Schema().Options(row).Once {
			return
		}
		if !e.store.Due(id, row, e.before) {
			e.wait(id, row, lanes)
			return
		}
	}
	e.drop(id, row)
	e.store.Set(id, row, lanes)
}

// putLate publishes the components that are due.
func (e *Entities) putLate() {
	still := 0
	for i := range e.late {
		l := &e.late[i]
		gone := l.gone || !e.store.Mask(l.id).Has(l.row)
		if !gone && !e.store.Due(l.id, l.row, e.before) {
			e.at[lateKey{l.id, l.row}] = still
			e.late[still], e.late[i] = e.late[i], e.late[still]
			still++
			continue
		}
		if !gone {
			e.store.Set(l.id, l.row, l.lanes)
		}
		delete(e.at, lateKey{l.id, l.row})
	}
	e.late = e.late[:still]
}

// ControlOf returns the control of the component at v, none for other components. The fault is an invalid Priority.
func ControlOf(v any) (snapshot.Control, wire.FaultReason) {
	switch c := v.(type) {
	case *components.Owner:
		return snapshot.Control{Kind: snapshot.OwnerControl, Value: uint32(c.Client)}, wire.NoFault
	case *components.Group:
		return snapshot.Control{Kind: snapshot.GroupControl, Value: c.ID}, wire.NoFault
	case *components.Priority:
		weight, fault := snapshot.WeightOf(c.Weight)
		return snapshot.Control{Kind: snapshot.PriorityControl, Value: uint32(weight)}, fault
	case *components.Rate:
		return snapshot.Control{Kind: snapshot.RateControl, Value: uint32(c.Every)}, wire.NoFault
	}
	return snapshot.Control{}, wire.NoFault
}

// IsControl reports whether a type is a control component.
func IsControl(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[components.Owner](), reflect.TypeFor[components.Group](),
		reflect.TypeFor[components.Priority](), reflect.TypeFor[components.Rate]():
		return true
	}
	return false
}

// Control sets a control of an entity with the next Publish. A rate applies to all that is published then.
func (e *Entities) Control(id wire.NetworkID, c snapshot.Control) {
	if !c.None() {
		e.commands = append(e.commands, command{kind: commandControl, id: id, control: c})
	}
}
