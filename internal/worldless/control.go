package worldless

import (
	"reflect"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

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
