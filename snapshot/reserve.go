package snapshot

import (
	"slices"

	"github.com/arche-netcode/netcode/wire"
)

// Reserve gives out the network id of an entity that is to be spawned later, by
// [Store.Adopt]: the zero id when Config.MaxEntities are alive or reserved. It may be
// called at any time.
func (s *Store) Reserve() wire.NetworkID {
	index, ok := s.takeIndex()
	if !ok {
		s.refused++
		return wire.NetworkID{}
	}
	return wire.NetworkID{Index: index, Generation: max(s.gens[index]+1, 1)}
}

// Adopt spawns the entity that an id was reserved for. It must be called once
// for each reserved id, between Begin and Commit, and with no other id.
func (s *Store) Adopt(id wire.NetworkID) {
	if s.head > 0 { // Spawn takes what is at head
		s.head--
		s.free[s.head] = id.Index
	} else {
		s.free = slices.Insert(s.free, 0, id.Index)
	}
	s.Spawn()
}

// Open reports whether a capture is under way, from Begin to Commit.
func (s *Store) Open() bool { return s.open }
