package snapshot

import "github.com/arche-netcode/netcode/wire"

// NormalWeight is the weight of priority 1, and of relevance 1.
const NormalWeight = 256

// SetPriority sets the base priority of an entity, [NormalWeight] being 1.0 and
// the default, and reports whether there is such an entity. Where not all fits
// into a client's budget, an entity of twice the weight is sent twice as often.
// Zero counts as 1, the least.
func (s *Store) SetPriority(id wire.NetworkID, weight uint16) bool {
	if !s.Alive(id) {
		return false
	}
	s.weight = grown(s.weight, int(id.Index)+1, cap(s.rows.masks))
	s.weight[id.Index] = max(weight, 1)
	return true
}

// priority is the base priority of an index.
func (s *Store) priority(index uint32) int64 {
	if int(index) >= len(s.weight) || s.weight[index] == 0 {
		return NormalWeight
	}
	return int64(s.weight[index])
}

// plain gives a new entity what entities have until game code says otherwise:
// the server as its owner, and priority 1.
func (s *Store) plain(index uint32) {
	if int(index) < len(s.owners) {
		s.owners[index] = 0
	}
	if int(index) < len(s.named) {
		s.named[index] = 0
	}
	if int(index) < len(s.weight) {
		s.weight[index] = 0
	}
}
