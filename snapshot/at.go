package snapshot

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// EachAt yields every entity that lived as of tick t, in ascending index order, until yield returns false. It returns false
// when t is outside the history, which reaches W ticks back, so that nobody can say. It allocates nothing.
func (s *Store) EachAt(t tick.Tick, yield func(wire.NetworkID) bool) bool {
	if t > s.tick || t < s.past.horizon || t <= tick.None {
		return false
	}
	for i, generation := range s.gens {
		index := uint32(i)
		lives := s.alive.has(index)
		if s.shape[i] > t {
			_, generation, lives = s.past.entityAt(index, t)
		}
		if lives && !yield(wire.NetworkID{Index: index, Generation: generation}) {
			break
		}
	}
	return true
}
