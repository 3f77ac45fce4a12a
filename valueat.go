package netcode

import (
	"reflect"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

// ValueAt is component T of an entity as of a captured tick, which reaches Config.Window ticks back, fewer where
// Config.HistoryBytes does not suffice; ok is false if the entity lacked it then. The errors are ErrNoComponent if T is not
// registered with Replicate, and those of Store().RowAt: snapshot.ErrEvicted for a tick before the history,
// snapshot.ErrNotYet for one after the newest capture, snapshot.ErrNotAlive if the entity did not live then. Entity handles in
// T are zero. What one client saw, and between ticks, is PastOf.
func ValueAt[T any](s *Server, id NetworkID, t tick.Tick) (v T, ok bool, err error) {
	schema := s.protocol.schema
	row := rowOfType(schema, reflect.TypeFor[T]())
	if row < 0 {
		return v, false, ErrNoComponent
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

// rowOfType is the row of a component type, -1 if it does not replicate.
func rowOfType(schema *snapshot.Schema, t reflect.Type) int {
	for row := range schema.Rows() {
		if schema.Plan(row).Type() == t {
			return row
		}
	}
	return -1
}
