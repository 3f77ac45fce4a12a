package record

import (
	"reflect"
	"unsafe"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// place is the position of an object in a made-up game.
type place struct {
	X, Y, Z float32 `net:"min=-512,max=512,step=0.002"`
}

// turning, touched, vitals and exactPlace are its other components.
type (
	turning struct {
		Q [4]float32 `net:"quat,bits=9"`
	}
	touched struct{ On bool }
	vitals  struct {
		Health uint8 `net:"min=0,max=100"`
		Armour uint8
		Ammo   uint16
	}
	exactPlace struct{ X, Y, Z float32 }
)

// cast assigns ids to the entities of a game.
type cast struct{ ids []wire.NetworkID }

// id returns the n-th entity, which is spawned at the first call.
func (c *cast) id(s *snapshot.Store, n int) wire.NetworkID {
	for n >= len(c.ids) {
		c.ids = append(c.ids, s.Spawn())
	}
	return c.ids[n]
}

// types lists component types.
func types(values ...any) (list []reflect.Type) {
	for _, v := range values {
		list = append(list, reflect.TypeOf(v))
	}
	return list
}

// put sets the row of a component's type to a value.
func put[T any](s *snapshot.Store, id wire.NetworkID, value T) {
	for row := range s.Schema().Rows() {
		if p := s.Schema().Plan(row); p.Type() == reflect.TypeFor[T]() {
			lanes := make([]uint32, p.Lanes())
			p.Quantise(unsafe.Pointer(&value), lanes)
			s.Set(id, row, lanes)
		}
	}
}
