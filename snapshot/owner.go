package snapshot

import "github.com/arche-netcode/netcode/wire"

// SetOwner says which client an entity belongs to, 0 being the server, and reports whether there is such an entity. An
// entity belongs to the server when it is spawned. Ownership may change at any time, also between two captures.
func (s *Store) SetOwner(id wire.NetworkID, owner wire.ClientID) bool {
	if !s.Alive(id) {
		return false
	}
	s.owners = grown(s.owners, int(id.Index)+1, cap(s.rows.masks))
	if s.owners[id.Index] != owner {
		s.handed(id, owner)
		s.owners[id.Index] = owner
	}
	return true
}

// Owner returns the client that an entity belongs to: 0, the server, for what nobody was made the owner of, and for
// entities that do not live.
func (s *Store) Owner(id wire.NetworkID) wire.ClientID {
	if !s.Alive(id) || int(id.Index) >= len(s.owners) {
		return 0
	}
	return s.owners[id.Index]
}
