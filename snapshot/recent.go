package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Deaths are the entities that were alive before the newest capture and ended
// in it. The slice is the store's own: read it before the next Begin.
func (s *Store) Deaths() []wire.NetworkID { return s.deaths }

// Recent yields, in ascending order of index, every living entity that the
// newest capture changed in any way.
func (s *Store) Recent(yield func(id wire.NetworkID) bool) {
	for w := range s.changed {
		for word := s.changedOf(w); word != 0; word &= word - 1 {
			index := uint32(w<<6 + bits.TrailingZeros64(word))
			if s.alive.has(index) && !yield(wire.NetworkID{Index: index, Generation: s.gens[index]}) {
				return
			}
		}
	}
}

// Since is the tick whose capture gave a present row its value, tick.None for
// a row that the entity lacks.
func (s *Store) Since(id wire.NetworkID, row int) tick.Tick {
	if !s.Mask(id).Has(row) {
		return tick.None
	}
	return s.sinceOf(id.Index, row)
}
