package main

import (
	"encoding/binary"
	"unsafe"

	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// rowBytes is one row of the floor: a 16-bit index and the bytes of position, rotation and velocity.
const rowBytes = 2 + 12 + 16 + 12

// columns returns the three columns of a world whose n bodies have the same components and are never added to.
func columns(w *ecs.World, n int) ([]position, []rotation, []velocity) {
	p, r, v := ecs.ComponentID[position](w), ecs.ComponentID[rotation](w), ecs.ComponentID[velocity](w)
	query := ecs.Select(w, ecs.All(p, r, v))
	defer query.Close()
	query.Next()
	// SAFETY: entities with the same components are in one table, whose columns are contiguous arrays of n items; nothing is added to the
	// world or removed from it afterwards, so they never move.
	return unsafe.Slice((*position)(query.Get(p)), n),
		unsafe.Slice((*rotation)(query.Get(r)), n),
		unsafe.Slice((*velocity)(query.Get(v)), n)
}

// putRow copies one row to the first rowBytes bytes of dst.
func putRow(dst []byte, index int, p *position, r *rotation, v *velocity) {
	d := (*[rowBytes]byte)(dst)
	binary.LittleEndian.PutUint16(d[:], uint16(index))
	// SAFETY: the three types hold float32 only, without padding, and are 12, 16 and 12 bytes long.
	*(*[12]byte)(d[2:]) = *(*[12]byte)(unsafe.Pointer(p))
	*(*[16]byte)(d[14:]) = *(*[16]byte)(unsafe.Pointer(r))
	*(*[12]byte)(d[30:]) = *(*[12]byte)(unsafe.Pointer(v))
}

// quantisePass quantises every moving row of the scene once, and does nothing else; exact rows have nothing to quantise.
func quantisePass(schema *snapshot.Schema, s *scene, exact bool) func() {
	if exact {
		return func() {}
	}
	plans := map[string]*quantize.Plan{}
	widest := 0
	for row := range schema.Rows() {
		plan := schema.Plan(row)
		plans[plan.Name()] = plan
		widest = max(widest, plan.Lanes())
	}
	p, r, v := plans["quantPosition"], plans["quantRotation"], plans["quantVelocity"]
	lanes := make([]uint32, widest)
	return func() {
		for _, i := range s.moving {
			// SAFETY: the scene's types differ from those of the plans in tags only, which do not change their layout.
			p.Quantise(unsafe.Pointer(&s.positions[i]), lanes[:p.Lanes()])
			r.Quantise(unsafe.Pointer(&s.rotations[i]), lanes[:r.Lanes()])
			v.Quantise(unsafe.Pointer(&s.velocity[i]), lanes[:v.Lanes()])
		}
	}
}

// quantiseRow is a row's way into lanes.
func quantiseRow(plan *quantize.Plan, row *codecRow, lanes []uint32) {
	// SAFETY: the plan was compiled from codecRow.
	plan.Quantise(unsafe.Pointer(row), lanes)
}

// dequantiseRow is a row's way out of lanes.
func dequantiseRow(plan *quantize.Plan, lanes []uint32, row *codecRow) {
	// SAFETY: the plan was compiled from codecRow.
	plan.Dequantise(lanes, unsafe.Pointer(row))
}

// takeRow copies one plain row to its three components.
func takeRow(row *[plainRow]byte, p *position, r *rotation, v *velocity) {
	// SAFETY: the three types hold float32 only, without padding, and are 12, 16 and 12 bytes long.
	*(*[12]byte)(unsafe.Pointer(p)) = *(*[12]byte)(row[4:])
	*(*[16]byte)(unsafe.Pointer(r)) = *(*[16]byte)(row[16:])
	*(*[12]byte)(unsafe.Pointer(v)) = *(*[12]byte)(row[32:])
}

// setRow sets a row of a store to a component.
func setRow[T any](s *snapshot.Store, id wire.NetworkID, row int, value *T, lanes []uint32) {
	p := s.Schema().Plan(row)
	lanes = lanes[:p.Lanes()]
	clear(lanes)
	// SAFETY: value is of the type that the row's plan was compiled from.
	p.Quantise(unsafe.Pointer(value), lanes)
	s.Set(id, row, lanes)
}
