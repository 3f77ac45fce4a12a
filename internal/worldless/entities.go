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

// Entities collects commands about entities until the next capture, Publish. A nil pointer is an Entities without any.
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
func (e *Entities) Waits() bool { return e != nil && len(e.commands)+len(e.pace.late) > 0 }

// Has reports whether id is an entity of Spawn that was not despawned.
func (e *Entities) Has(id wire.NetworkID) bool {
	return e != nil && int64(id.Index) < int64(len(e.spawned)) && id.Generation != 0 && e.spawned[id.Index] == id.Generation
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

// pace limits how often Put is published, as a capture limits written components: by Once, Every and components.Rate. A component
// that is not due waits, and its newest value is published in its next turn.
type pace struct {
	every  []uint16 // By network index: components.Rate, 0 for each tick.
	late   []latePut
	at     map[lateKey]int // Where in late; looked up only.
	anew   []lateKey       // Removed in this tick and put again.
	last   tick.Tick       // Of the last Publish.
	before tick.Tick       // Of the Publish before that.
}

// latePut is a component that waits for its turn.
type latePut struct {
	id    wire.NetworkID
	row   int
	lanes []uint32
	gone  bool // Taken back, or put meanwhile.
}

type lateKey struct {
	id  wire.NetworkID
	row int
}

// rate sets how often the components of an entity are published.
func (p *pace) rate(index uint32, every uint16) {
	if every == 0 && int(index) >= len(p.every) {
		return
	}
	for int(index) >= len(p.every) {
		p.every = append(p.every, 0)
	}
	p.every[index] = every
}

// options returns the least number of ticks between two values of a component, and whether only the first is published.
func (p *pace) options(o snapshot.RowOptions, index uint32) (every tick.Tick, once bool) {
	every = max(1, tick.Tick(o.Every))
	if int(index) < len(p.every) {
		every = max(every, tick.Tick(p.every[index]))
	}
	return every, o.Once
}

// wait stores a component for its turn, in place of an older value.
func (p *pace) wait(id wire.NetworkID, row int, lanes []uint32) {
	i, ok := p.at[lateKey{id, row}]
	if !ok {
		if p.at == nil {
			p.at = map[lateKey]int{}
		}
		if i = len(p.late); i < cap(p.late) {
			p.late = p.late[:i+1] // With the memory of one that had its turn.
		} else {
			p.late = append(p.late, latePut{})
		}
		p.at[lateKey{id, row}] = i
	}
	l := &p.late[i]
	l.id, l.row, l.gone, l.lanes = id, row, false, append(l.lanes[:0], lanes...)
}

// drop forgets the waiting value of a component.
func (p *pace) drop(id wire.NetworkID, row int) {
	if i, ok := p.at[lateKey{id, row}]; ok {
		p.late[i].gone = true
	}
}

// putNow brings a component into the store, or makes it wait: a component that the entity had before this tick is published at its
// rate.
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

// hadRow reports whether an entity has a component, and had it in an earlier tick too. For an evicted tick it assumes so. There is no
// tick before the first.
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

// putLate publishes the components whose turn has come.
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

// Control is the value of a control component, such as components.Owner, in the store's own form. The zero value is none.
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

// ControlOf returns the control of a component that v points to, none for any other component. The fault is that of a Priority out
// of its range.
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

// None reports whether there is no control.
func (c Control) None() bool { return c.kind == noControl }

// Default returns the control of an entity without that component.
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

// Control gives an entity a control with the next Publish. A rate counts for all that is published then.
func (e *Entities) Control(id wire.NetworkID, c Control) {
	switch c.kind {
	case noControl:
	case rateControl:
		e.pace.rate(id.Index, uint16(c.value))
	default:
		e.commands = append(e.commands, command{kind: commandControl, id: id, control: c})
	}
}

// apply sets a control in the store.
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
