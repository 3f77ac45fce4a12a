package snapshot

import (
	"math"

	"github.com/arche-netcode/netcode/wire"
)

// maxPriority is the largest weight of a components.Priority.
const maxPriority = 255

// WeightOf is the form in which SetPriority takes the weight of a
// components.Priority, in steps of 1/[NormalWeight]. OutOfRange goes with the
// nearest weight there is; what is not finite has none.
func WeightOf(weight float32) (uint16, wire.FaultReason) {
	switch w := float64(weight); {
	case w-w != 0:
		return 0, wire.NotFinite
	case w < 0:
		return 1, wire.OutOfRange
	case w > maxPriority:
		return maxPriority * NormalWeight, wire.OutOfRange
	default:
		return uint16(max(math.Round(w*NormalWeight), 1)), wire.NoFault
	}
}

// Priority is the base priority of an entity, as SetPriority set it; [NormalWeight]
// for one of which nothing was said. It is 0 for entities that do not live.
func (s *Store) Priority(id wire.NetworkID) uint16 {
	if !s.Alive(id) {
		return 0
	}
	return uint16(s.priority(id.Index))
}
