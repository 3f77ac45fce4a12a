package interest

import (
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Position says where an entity is, in the game's unit of length; ok is false if it is nowhere. A game in two dimensions
// gives 0 for the third.
type Position func(s *snapshot.Store, id wire.NetworkID) (x, y, z float32, ok bool)

// PositionOf reads positions out of a replicated component, as clients will have it. It panics if the protocol does
// not replicate T. What it returns belongs to one goroutine.
func PositionOf[T any](schema *snapshot.Schema, of func(component *T) (x, y, z float32)) Position {
	row := RowOf[T](schema)
	plan, component := schema.Plan(row), new(T)
	return func(s *snapshot.Store, id wire.NetworkID) (x, y, z float32, ok bool) {
		lanes := s.Row(id, row)
		if lanes == nil && !s.Mask(id).Has(row) {
			return 0, 0, 0, false
		}
		dequantise(plan, lanes, component)
		x, y, z = of(component)
		return x, y, z, true
	}
}
