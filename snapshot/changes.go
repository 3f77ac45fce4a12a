package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/wire"
)

// Changes yields the living entities of which the newest capture changed
// anything, those that it spawned included, in ascending index order. It costs
// one look for 64 entities and what there is to yield.
func (s *Store) Changes(yield func(wire.NetworkID) bool) {
	for w := range s.changed {
		for word := s.changedOf(w) & s.alive[w]; word != 0; word &= word - 1 {
			index := uint32(w<<6 + bits.TrailingZeros64(word))
			if !yield(wire.NetworkID{Index: index, Generation: s.gens[index]}) {
				return
			}
		}
	}
}
