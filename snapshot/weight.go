package snapshot

import "github.com/arche-netcode/netcode/wire"

// Priority is the base priority of an entity, as SetPriority set it; [NormalWeight]
// for one of which nothing was said. It is 0 for entities that do not live.
func (s *Store) Priority(id wire.NetworkID) uint16 {
	if !s.Alive(id) {
		return 0
	}
	return uint16(s.priority(id.Index))
}
