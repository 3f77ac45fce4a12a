package snapshot

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// ControlKind is a component that controls how an entity replicates.
type ControlKind uint8

// Kinds of control components.
const (
	NoControl       ControlKind = iota
	OwnerControl                // components.Owner
	GroupControl                // components.Group
	PriorityControl             // components.Priority
	RateControl                 // components.Rate
	ControlKinds                // the number of kinds
)

// Control is the value of a control component. The zero value is no control.
type Control struct {
	Kind  ControlKind // NoControl: none
	Value uint32      // the client, the group, the weight in 1/NormalWeight, or the period in ticks
}

// None reports whether c is no control.
func (c Control) None() bool { return c.Kind == NoControl }

// Default returns the control of an entity without the component.
func (c Control) Default() Control {
	c.Value = 0
	if c.Kind == PriorityControl {
		c.Value = NormalWeight
	}
	return c
}

// SetControl makes a control of an entity take effect. It ignores entities that are not alive. A group can be set between Begin and
// Commit only.
func (s *Store) SetControl(id wire.NetworkID, c Control) {
	if !s.Alive(id) {
		return
	}
	switch c.Kind {
	case OwnerControl:
		s.SetOwner(id, wire.ClientID(c.Value))
	case GroupControl:
		s.SetGroup(id, c.Value)
	case PriorityControl:
		s.SetPriority(id, uint16(c.Value))
	case RateControl:
		if c.Value != 0 || int(id.Index) < len(s.rates) {
			s.rates = grown(s.rates, int(id.Index)+1, cap(s.rows.masks))
			s.rates[id.Index] = uint16(c.Value)
		}
	}
}

// Rated reports whether any entity has had a components.Rate.
func (s *Store) Rated() bool { return len(s.rates) > 0 }

// Due reports whether a new value of a row that an entity has is stored in this tick: by the entity's components.Rate and by the
// schema's options for the row. before is the tick of the capture before: a turn in a tick that was skipped counts. Rows of control
// components are always due; the caller knows them.
func (s *Store) Due(id wire.NetworkID, row int, before tick.Tick) bool {
	every := max(1, tick.Tick(s.schema.Options(row).Every))
	if uint(id.Index) < uint(len(s.rates)) {
		every = max(every, tick.Tick(s.rates[id.Index]))
	}
	return every == 1 || s.Turn(id, every, before, s.tick)
}
