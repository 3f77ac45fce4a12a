package snapshot

import (
	"slices"

	"github.com/arche-netcode/netcode/wire"
)

// early is the ids that are reserved and not adopted.
type early struct {
	ids     []uint32           // by index: the generation; 0: not reserved
	count   int                // number of reserved ids
	clients [2][]wire.ClientID // by index: the owner, and the named client, that Adopt sets
}

// Places in early.clients.
const (
	earlyOwner = 0
	earlyNamed = 1
)

// Reserve returns the network id of an entity that [Store.Adopt] will spawn later. It returns the zero id if Config.MaxEntities are
// alive or reserved. It may be called at any time. So a message can name a new entity before the capture spawns it.
func (s *Store) Reserve() wire.NetworkID {
	index, ok := s.takeIndex()
	if !ok {
		s.refused++
		return wire.NetworkID{}
	}
	id := wire.NetworkID{Index: index, Generation: max(s.gens[index]+1, 1)}
	for i := range s.early.clients {
		s.early.clients[i] = grown(s.early.clients[i], len(s.gens), cap(s.gens))
		s.early.clients[i][index] = 0
	}
	s.early.ids = grown(s.early.ids, len(s.gens), cap(s.gens))
	s.early.ids[index] = id.Generation
	s.early.count++
	return id
}

// Adopt spawns the entity that an id was reserved for. Call it once for each reserved id, between Begin and Commit, and for no other
// id. The entity gets what [Store.SetOwner] and [Store.SetNamed] set for the reserved id.
func (s *Store) Adopt(id wire.NetworkID) {
	s.Forsake(id)
	if s.head > 0 { // Spawn takes the index at head
		s.head--
		s.free[s.head] = id.Index
	} else {
		s.free = slices.Insert(s.free, 0, id.Index)
	}
	s.Spawn()
	if owner := s.early.clients[earlyOwner][id.Index]; owner != 0 {
		s.SetOwner(id, owner)
	}
	if named := s.early.clients[earlyNamed][id.Index]; named != 0 {
		s.SetNamed(id, named)
	}
}

// Reserved reports whether an id was returned by [Store.Reserve] and is not adopted yet.
func (s *Store) Reserved(id wire.NetworkID) bool {
	return uint(id.Index) < uint(len(s.early.ids)) && id.Generation != 0 && s.early.ids[id.Index] == id.Generation
}

// Reserves reports whether any id is reserved.
func (s *Store) Reserves() bool { return s.early.count > 0 }

// Forsake makes a reserved id count as reserved no more: its entity ended before it was spawned. Adopt must be called for it all the
// same.
func (s *Store) Forsake(id wire.NetworkID) {
	if s.Reserved(id) {
		s.early.ids[id.Index] = 0
		s.early.count--
	}
}

// wish stores a client, the owner or the named one, for a reserved id. It returns false for other ids.
func (s *Store) wish(id wire.NetworkID, what int, client wire.ClientID) bool {
	reserved := s.Reserved(id)
	if reserved {
		s.early.clients[what][id.Index] = client
	}
	return reserved
}

// wished returns what wish stored for a reserved id, 0 for other ids.
func (s *Store) wished(id wire.NetworkID, what int) wire.ClientID {
	if !s.Reserved(id) {
		return 0
	}
	return s.early.clients[what][id.Index]
}

// Mirror spawns an entity with an id of another store, between Begin and Commit. It does nothing if the entity is alive. A store
// mirrors all of its entities or none. It reports whether the entity is alive afterwards.
func (s *Store) Mirror(id wire.NetworkID) bool {
	if !s.open || id.Generation == 0 || id.Index >= MaxEntities {
		return false
	}
	if s.Alive(id) {
		return true
	}
	s.mirrors = true
	for int(id.Index) >= len(s.gens) {
		s.takeIndex()
	}
	if s.alive.has(id.Index) {
		s.Despawn(wire.NetworkID{Index: id.Index, Generation: s.gens[id.Index]})
	}
	s.free, s.freed = append(s.free[:0], id.Index), s.freed[:0]
	s.gens[id.Index] = id.Generation - 1
	s.Spawn()
	s.free, s.head = s.free[:0], 0
	return true
}
