package netcode

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// What follows is for entities that are in no Arche world: Spawn names one, Put gives it components, Despawn ends it. They
// live in the store beside those that systems.Capture brings there, which leaves them alone, and are to clients like any
// others. What is said between two captures belongs to the next one.

// Errors of Put and Remove.
var (
	// ErrNotSpawned says that an entity is not one that Spawn named, or that it was despawned.
	ErrNotSpawned = errors.New("netcode: not an entity of Server.Spawn")
	// ErrNoComponent says that the component type was not given to Replicate before the protocol was frozen.
	ErrNoComponent = errors.New("netcode: component type not registered")
	// ErrNoValue says that Put was given no component: nil.
	ErrNoValue = errors.New("netcode: no component: Put of nil")
	// ErrHoldsHandles says that the component is a relation or has fields that are handles of a world; outside of one, an
	// entity is named by a NetworkID.
	ErrHoldsHandles = errors.New("netcode: the component holds handles of a world")
)

// UnstorableError says that a field of a component or an input has a value that cannot travel; nothing was stored.
type UnstorableError struct {
	Name   string           // Wire name of the component or input.
	Field  string           // Path within it.
	Reason wire.FaultReason // Not finite, out of range, or a rotation of length 0.
	Detail string           // Of wire.OutOfRange the value and the bounds; may be empty.
}

// Error implements error.
func (e *UnstorableError) Error() string {
	if e.Detail != "" {
		return fmt.Sprintf("netcode: field %s of %s is %s: %s", e.Field, e.Name, e.Reason, e.Detail)
	}
	return fmt.Sprintf("netcode: field %s of %s is %s", e.Field, e.Name, e.Reason)
}

// unstorable returns the error of a value, which v points to, that has a field with a fault.
func unstorable(plan *quantize.Plan, v reflect.Value, fault quantize.Fault) error {
	return &UnstorableError{Name: plan.Name(), Field: fault.Field(), Reason: fault.Reason, Detail: plan.Outside(v.Elem(), fault)}
}

// explicit is what game code has said and no capture has taken in yet.
type explicit struct {
	commands []command
	lanes    []uint32
	mine     []uint32 // by index: the generation that Spawn gave out, 0 for none
	pace     putPace
}

// waits reports whether the next capture has anything to take in.
func (e *explicit) waits() bool { return len(e.commands)+len(e.pace.late) > 0 }

// command is one thing said. Of a component, its lanes lie at from.
type command struct {
	what commandKind
	row  int
	id   NetworkID
	from int

	control control
}

type commandKind uint8

const (
	commandSpawn commandKind = iota
	commandPut
	commandRemove
	commandDespawn
	commandControl
)

// Spawn names a new entity that is in no world. It exists, as yet without components, from the next capture on. The zero
// id says that as many entities are alive as there can be. Show and Hide know it from then on too.
func (s *Server) Spawn() NetworkID {
	id := s.store.Reserve()
	if id.IsZero() {
		return id
	}
	e := &s.explicit
	for int(id.Index) >= len(e.mine) {
		e.mine = append(e.mine, 0)
	}
	e.mine[id.Index] = id.Generation
	e.pace.rate(id.Index, 0)
	e.commands = append(e.commands, command{what: commandSpawn, id: id})
	return id
}

// Has tells if an entity lives, or was made by Spawn and is not published yet.
func (s *Server) Has(id NetworkID) bool { return s.store.Alive(id) || s.explicit.has(id) }

// Despawn ends an entity of Spawn and reports whether there was one.
func (s *Server) Despawn(id NetworkID) bool {
	if !s.explicit.has(id) {
		return false
	}
	s.explicit.mine[id.Index] = 0
	s.explicit.commands = append(s.explicit.commands, command{what: commandDespawn, id: id})
	return true
}

// Put gives an entity of Spawn a component with this value, or the component it has another value. The value is copied.
// Every, Once and components.Rate count as they do for the components of a world: what is not due yet waits, and of a Once
// component another value than its first has no effect. components.Owner, Group, Priority and Rate are obeyed, whether or not
// they are registered with Replicate; a Priority beyond its range is an *UnstorableError. The errors are ErrNotSpawned, ErrNoComponent, ErrNoValue, ErrHoldsHandles and *UnstorableError; after each nothing was stored.
func Put[T any](s *Server, id NetworkID, v *T) error {
	row, err := rowOf[T](s, id)
	if v == nil && (err == nil || isControl(reflect.TypeFor[T]())) {
		return ErrNoValue
	}
	control, reason := controlOf(v)
	switch {
	case control.kind != noControl && reason != wire.NoFault && err != ErrNotSpawned:
		return &UnstorableError{Name: "Priority", Field: "Weight", Reason: reason}
	case err == ErrNoComponent && control.kind != noControl:
		s.explicit.say(id, control)
		return nil
	case err != nil:
		return err
	}
	e, plan := &s.explicit, s.protocol.schema.Plan(row)
	if _, relation := plan.Target(); relation || len(plan.Handles()) > 0 {
		return ErrHoldsHandles
	}
	from := len(e.lanes)
	for range plan.Lanes() {
		e.lanes = append(e.lanes, 0)
	}
	fault := plan.Quantise(reflect.ValueOf(v).UnsafePointer(), e.lanes[from:])
	if fault.Reason != wire.NoFault {
		e.lanes = e.lanes[:from]
		return unstorable(plan, reflect.ValueOf(v), fault)
	}
	e.say(id, control)
	e.commands = append(e.commands, command{what: commandPut, row: row, id: id, from: from})
	return nil
}

// Remove takes a component from an entity of Spawn, if it has it. The errors are ErrNotSpawned and ErrNoComponent.
func Remove[T any](s *Server, id NetworkID) error {
	row, err := rowOf[T](s, id)
	if err == ErrNotSpawned {
		return err
	}
	control, _ := controlOf(new(T))
	if control.kind != noControl {
		s.explicit.say(id, control.without())
		if err != nil {
			return nil
		}
	}
	if err == nil {
		s.explicit.commands = append(s.explicit.commands, command{what: commandRemove, row: row, id: id})
	}
	return err
}

// Publish brings into the store what Spawn, Put, Remove and Despawn have said. systems.Capture calls it. Who fills the
// store alone calls it between Begin and Commit, elsewhere it does nothing. Where nobody captures at all, Send does.
func (s *Server) Publish() {
	if !s.store.Open() {
		return
	}
	e := &s.explicit
	if len(e.commands)+len(e.pace.late)+len(e.pace.anew) == 0 {
		e.pace.goOn(s.store.Tick())
		return
	}
	s.putLate()
	for _, c := range e.commands {
		switch c.what {
		case commandSpawn:
			s.store.Adopt(c.id)
		case commandPut:
			s.putNow(c.id, c.row, e.lanes[c.from:c.from+s.protocol.schema.Plan(c.row).Lanes()])
		case commandRemove:
			e.pace.drop(c.id, c.row)
			s.store.Remove(c.id, c.row)
		case commandControl:
			s.obey(c.id, c.control)
		case commandDespawn:
			s.store.Despawn(c.id)
		}
	}
	e.commands, e.lanes = e.commands[:0], e.lanes[:0]
}

// publishAlone is the capture of a tick in which there was none.
func (s *Server) publishAlone() {
	if !s.frame.due || s.store.Tick() >= s.Tick() {
		return
	}
	s.store.Begin(s.Tick())
	s.Publish()
	s.store.Commit()
}

// has reports whether id is an entity of Spawn that was not despawned.
func (e *explicit) has(id NetworkID) bool {
	return int64(id.Index) < int64(len(e.mine)) && id.Generation != 0 && e.mine[id.Index] == id.Generation
}

// rowOf is the row of a component that an entity of Spawn may have.
func rowOf[T any](s *Server, id NetworkID) (int, error) {
	if !s.explicit.has(id) {
		return 0, ErrNotSpawned
	}
	for row := range s.protocol.schema.Rows() {
		if s.protocol.schema.Plan(row).Type() == reflect.TypeFor[T]() {
			return row, nil
		}
	}
	return 0, ErrNoComponent
}
