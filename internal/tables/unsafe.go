package main

import (
	"reflect"
	"unsafe"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// put sets the row of a component's type to a value. It clamps a value out of range.
func put[T any](s *snapshot.Store, id wire.NetworkID, value T) {
	schema := s.Schema()
	for row := range schema.Rows() {
		p := schema.Plan(row)
		if p.Type() != reflect.TypeFor[T]() {
			continue
		}
		lanes := make([]uint32, p.Lanes())
		copy(lanes, s.Row(id, row))
		// SAFETY: value is of the plan's type.
		p.Quantise(unsafe.Pointer(&value), lanes)
		s.Set(id, row, lanes)
		return
	}
	panic("tables: no row is of " + reflect.TypeFor[T]().String())
}
