package netcode

import (
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/worldless"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Entities outside of any Arche world: Spawn makes one, Put gives it components, Despawn removes it. The store has them
// together with the entities of systems.Tick, and clients see no difference. Changes between two captures belong to
// the next capture.

// Spawn names a new entity that is in no world. It exists, without components, from the next capture on. The zero id means that no
// more entities can be alive. All calls know it at once, as they know one of ID of the server's systems.
func (s *Server) Spawn() NetworkID {
	if s.worldless == nil {
		s.worldless = worldless.New(s.store)
	}
	return s.worldless.Spawn()
}

// Has reports whether an entity is alive, or has its id and is not captured yet: see ID of the server's systems, and Spawn.
func (s *Server) Has(id NetworkID) bool { return s.store.Alive(id) || s.store.Reserved(id) }

// Despawn ends an entity of Spawn and reports whether there was one.
func (s *Server) Despawn(id NetworkID) bool { return s.worldless.Despawn(id) }

// Put gives an entity of Spawn a component with this value, or the component it has another value. The value is copied.
// Every, Once and components.Rate count as they do for the components of a world: a value that is not due waits, and of a Once
// component another value than its first has no effect. components.Owner, Group, Priority and Rate are obeyed, whether or not
// they are registered with Replicate; a Priority beyond its range is an *UnstorableError. The errors are ErrNotSpawned,
// ErrNoComponent, ErrMisuse and *UnstorableError; after each nothing was stored.
func Put[T any](s *Server, id NetworkID, v *T) error {
	row, err := spawnedRow[T](s, id)
	if v == nil && (err == nil || worldless.IsControl(reflect.TypeFor[T]())) {
		return fmt.Errorf("%w: no component: Put of nil", errs.ErrMisuse)
	}
	control, reason := worldless.ControlOf(v)
	switch {
	case !control.None() && reason != wire.NoFault && err != errs.ErrNotSpawned:
		return &errs.UnstorableError{Name: "Priority", Field: "Weight", Reason: reason}
	case err == errs.ErrNoComponent && !control.None():
		s.worldless.Control(id, control)
		return nil
	case err != nil:
		return err
	}
	plan := s.protocol.types.Schema.Plan(row)
	if _, relation := plan.Target(); relation || len(plan.Handles()) > 0 {
		return fmt.Errorf("%w: the component holds handles of a world", errs.ErrMisuse)
	}
	at := reflect.ValueOf(v).UnsafePointer()
	fault := s.worldless.PutBy(id, row, plan.Lanes(), control, func(lanes []uint32) quantize.Fault { return plan.Quantise(at, lanes) })
	if fault.Reason != wire.NoFault {
		return extend.Unstorable(plan, reflect.ValueOf(v), fault)
	}
	return nil
}

// Remove takes a component from an entity of Spawn, if it has it. The errors are ErrNotSpawned and ErrNoComponent.
func Remove[T any](s *Server, id NetworkID) error {
	row, err := spawnedRow[T](s, id)
	if err == errs.ErrNotSpawned {
		return err
	}
	control, _ := worldless.ControlOf(new(T))
	s.worldless.Control(id, control.Default())
	switch {
	case err == nil:
		s.worldless.Remove(id, row)
	case !control.None():
		return nil
	}
	return err
}

// Publish brings the changes of Spawn, Put, Remove and Despawn into the store. systems.Tick calls it. Code that fills the store
// alone calls it between Begin and Commit, elsewhere it does nothing. Where nobody captures at all, Send does.
func (s serverInside) Publish() {
	if s.worldless != nil {
		s.worldless.Publish()
	}
}

// PutRow gives an entity of Spawn a component by its lanes, for extensions, and reports whether the entity is one of Spawn. The next capture has
// it, whatever the rates of components: Every, Once and components.Rate are those of Put.
func (s serverInside) PutRow(id NetworkID, row int, lanes []uint32) bool {
	spawned := s.worldless.Has(id)
	if spawned {
		s.worldless.Set(id, row, lanes)
	}
	return spawned
}

// RemoveRow takes a component from an entity of Spawn, as PutRow gives it.
func (s serverInside) RemoveRow(id NetworkID, row int) bool {
	spawned := s.worldless.Has(id)
	if spawned {
		s.worldless.Remove(id, row)
	}
	return spawned
}

// spawnedRow returns the row of a component, if the entity is one of Spawn.
func spawnedRow[T any](s *Server, id NetworkID) (int, error) {
	if !s.worldless.Has(id) {
		return 0, errs.ErrNotSpawned
	}
	if row := s.protocol.types.Schema.RowOf(reflect.TypeFor[T]()); row >= 0 {
		return row, nil
	}
	return 0, errs.ErrNoComponent
}

// ValueAt is component T of an entity as of a captured tick, which reaches Config.Window ticks back, fewer where
// Config.HistoryBytes does not suffice; ok is false if the entity lacked it then. The errors are ErrNoComponent if T is not
// registered with Replicate, and those of Store().RowAt: snapshot.ErrEvicted for a tick before the history,
// snapshot.ErrNotYet for one after the newest capture, snapshot.ErrNotAlive if the entity did not live then. Entity handles in
// T are zero. rewind.At shows the sight of one client, also between ticks.
func ValueAt[T any](s *Server, id NetworkID, t tick.Tick) (v T, ok bool, err error) {
	schema := s.protocol.types.Schema
	row := schema.RowOf(reflect.TypeFor[T]())
	if row < 0 {
		return v, false, errs.ErrNoComponent
	}
	mask, err := s.store.MaskAt(id, t)
	if err != nil || !mask.Has(row) {
		return v, false, err
	}
	lanes, err := s.store.RowAt(id, row, t)
	if err != nil {
		return v, false, err
	}
	schema.Plan(row).Dequantise(lanes, reflect.ValueOf(&v).UnsafePointer())
	return v, true, nil
}
