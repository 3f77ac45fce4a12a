package worldless

import (
	"reflect"
	"slices"

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
	pace     pace
}

// New returns the entities of a store.
func New(store *snapshot.Store) *Entities { return &Entities{store: store} }

// command is one change. The lanes of a component begin at from.
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
	commandSet               // Published in this tick.
	commandRemove
	commandDespawn
	commandControl
)

// Waits reports whether the next capture has something to publish.
func (e *Entities) Waits() bool { return e != nil && len(e.commands)+len(e.pace.late) > 0 }

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
	e.pace.rate(id.Index, 0)
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

// Set sets a component of an entity to a copy of lanes, regardless of its rate.
func (e *Entities) Set(id wire.NetworkID, row int, lanes []uint32) {
	e.commands = append(e.commands, command{kind: commandSet, row: row, id: id, from: len(e.lanes)})
	e.lanes = append(e.lanes, lanes...)
}

// PutBy sets a component of an entity. write fills in the lanes, which are zero before. If it returns a fault nothing is stored.
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

// Remove removes a component of an entity, if it has it.
func (e *Entities) Remove(id wire.NetworkID, row int) {
	e.commands = append(e.commands, command{kind: commandRemove, row: row, id: id})
}

// Publish writes all changes to the store. It has no effect outside of the store's Begin and Commit.
func (e *Entities) Publish() {
	if !e.store.Open() {
		return
	}
	p := &e.pace
	if len(p.late)+len(p.anew) > 0 {
		e.putLate()
	}
	p.before, p.last = p.last, e.store.Tick()
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

// pace limits the rate of Put as a capture limits written components: by Once, Every and components.Rate. A component that is not
// due waits, and its newest value is published when it is.
type pace struct {
	every  []uint16 // By index: components.Rate, 0 for every tick.
	late   []latePut
	at     map[lateKey]int // Index in late; for lookup only.
	anew   []lateKey       // Removed and set again in this tick.
	last   tick.Tick       // Tick of the last Publish.
	before tick.Tick       // Tick of the Publish before that.
}

// latePut is a component that waits until it is due.
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

// rate sets the period of an entity's components, in ticks.
func (p *pace) rate(index uint32, every uint16) {
	if every == 0 && int(index) >= len(p.every) {
		return
	}
	for int(index) >= len(p.every) {
		p.every = append(p.every, 0)
	}
	p.every[index] = every
}

// options returns the minimum number of ticks between two values of a component, and whether only the first value is published.
func (p *pace) options(o snapshot.RowOptions, index uint32) (every tick.Tick, once bool) {
	every = max(1, tick.Tick(o.Every))
	if int(index) < len(p.every) {
		every = max(every, tick.Tick(p.every[index]))
	}
	return every, o.Once
}

// wait stores a component until it is due. It replaces an older value.
func (p *pace) wait(id wire.NetworkID, row int, lanes []uint32) {
	i, ok := p.at[lateKey{id, row}]
	if !ok {
		if p.at == nil {
			p.at = map[lateKey]int{}
		}
		if i = len(p.late); i < cap(p.late) {
			p.late = p.late[:i+1] // Reuses the memory of a published one.
		} else {
			p.late = append(p.late, latePut{})
		}
		p.at[lateKey{id, row}] = i
	}
	l := &p.late[i]
	l.id, l.row, l.gone, l.lanes = id, row, false, append(l.lanes[:0], lanes...)
}

// drop removes the waiting value of a component.
func (p *pace) drop(id wire.NetworkID, row int) {
	if i, ok := p.at[lateKey{id, row}]; ok {
		p.late[i].gone = true
	}
}

// putNow writes a component to the store, or makes it wait. The rate applies only to components that the entity had before this
// tick.
func (e *Entities) putNow(id wire.NetworkID, row int, lanes []uint32) {
	p, now := &e.pace, e.store.Tick()
	every, once := p.options(e.store.Schema().Options(row), id.Index)
	if every > 1 || once {
		switch had := e.hadRow(id, row, now-1); {
		case IsControl(e.store.Schema().Plan(row).Type()) || !had:
		case once:
			return
		case !e.store.Turn(id, every, p.before, now):
			p.wait(id, row, lanes)
			return
		}
		p.drop(id, row)
	}
	e.store.Set(id, row, lanes)
}

// hadRow reports whether an entity has a component now and had it in an earlier tick. For a tick that left the history it assumes
// so. Before the first tick it had none.
func (e *Entities) hadRow(id wire.NetworkID, row int, before tick.Tick) bool {
	if before <= tick.None {
		return false
	}
	if mask, err := e.store.MaskAt(id, before); err != snapshot.ErrEvicted && (err != nil || !mask.Has(row)) {
		return false
	}
	p, key := &e.pace, lateKey{id, row}
	if !e.store.Mask(id).Has(row) {
		p.anew = append(p.anew, key)
		return false
	}
	return !slices.Contains(p.anew, key)
}

// putLate publishes the components that are due.
func (e *Entities) putLate() {
	p, now := &e.pace, e.store.Tick()
	still := 0
	for i := range p.late {
		l := &p.late[i]
		gone := l.gone || !e.store.Mask(l.id).Has(l.row)
		if every, _ := p.options(e.store.Schema().Options(l.row), l.id.Index); !gone && !e.store.Turn(l.id, every, p.last, now) {
			p.at[lateKey{l.id, l.row}] = still
			p.late[still], p.late[i] = p.late[i], p.late[still]
			still++
			continue
		}
		if !gone {
			e.store.Set(l.id, l.row, l.lanes)
		}
		delete(p.at, lateKey{l.id, l.row})
	}
	p.late, p.anew = p.late[:still], p.anew[:0]
}

// Control is the value of a control component, such as components.Owner, in the store's form. The zero value means none.
type Control struct {
	kind  controlKind
	value uint32
}

type controlKind uint8

const (
	noControl controlKind = iota
	ownerControl
	groupControl
	priorityControl
	rateControl
)

// ControlOf returns the control of the component at v, none for other components. The fault is an invalid Priority.
func ControlOf(v any) (Control, wire.FaultReason) {
	switch c := v.(type) {
	case *components.Owner:
		return Control{ownerControl, uint32(c.Client)}, wire.NoFault
	case *components.Group:
		return Control{groupControl, c.ID}, wire.NoFault
	case *components.Priority:
		weight, fault := snapshot.WeightOf(c.Weight)
		return Control{priorityControl, uint32(weight)}, fault
	case *components.Rate:
		return Control{rateControl, uint32(c.Every)}, wire.NoFault
	}
	return Control{}, wire.NoFault
}

// None reports whether c is no control.
func (c Control) None() bool { return c.kind == noControl }

// Default returns the control of an entity without the component.
func (c Control) Default() Control {
	c.value = 0
	if c.kind == priorityControl {
		c.value = snapshot.NormalWeight
	}
	return c
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
func (e *Entities) Control(id wire.NetworkID, c Control) {
	switch c.kind {
	case noControl:
	case rateControl:
		e.pace.rate(id.Index, uint16(c.value))
	default:
		e.commands = append(e.commands, command{kind: commandControl, id: id, control: c})
	}
}

// apply writes a control to the store.
func (e *Entities) apply(id wire.NetworkID, c Control) {
	switch c.kind {
	case ownerControl:
		e.store.SetOwner(id, wire.ClientID(c.value))
	case groupControl:
		e.store.SetGroup(id, c.value)
	case priorityControl:
		e.store.SetPriority(id, uint16(c.value))
	}
}
