package netcode

import (
	"reflect"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// control is what a control component says of an entity of Spawn, in the store's own form.
type control struct {
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

// controlOf is what a control component says, noControl if it is none.
func controlOf[T any](v *T) (control, wire.FaultReason) {
	switch c := any(v).(type) {
	case *components.Owner:
		return control{ownerControl, uint32(c.Client)}, wire.NoFault
	case *components.Group:
		return control{groupControl, c.ID}, wire.NoFault
	case *components.Priority:
		weight, fault := snapshot.WeightOf(c.Weight)
		return control{priorityControl, uint32(weight)}, fault
	case *components.Rate:
		return control{rateControl, uint32(c.Every)}, wire.NoFault
	}
	return control{}, wire.NoFault
}

// without is what holds of an entity that does not have a control component.
func (c control) without() control {
	c.value = 0
	if c.kind == priorityControl {
		c.value = snapshot.NormalWeight
	}
	return c
}

// isControl reports whether a type is a control component.
func isControl(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[components.Owner](), reflect.TypeFor[components.Group](),
		reflect.TypeFor[components.Priority](), reflect.TypeFor[components.Rate]():
		return true
	}
	return false
}

// say notes what a control component says, for the next Publish; a rate counts for all that is published then.
func (e *explicit) say(id NetworkID, c control) {
	switch c.kind {
	case noControl:
	case rateControl:
		e.pace.rate(id.Index, uint16(c.value))
	default:
		e.commands = append(e.commands, command{what: commandControl, id: id, control: c})
	}
}

// obey tells the store what a control component says.
func (s *Server) obey(id NetworkID, c control) {
	switch c.kind {
	case ownerControl:
		s.store.SetOwner(id, ClientID(c.value))
	case groupControl:
		s.store.SetGroup(id, c.value)
	case priorityControl:
		s.store.SetPriority(id, uint16(c.value))
	}
}
