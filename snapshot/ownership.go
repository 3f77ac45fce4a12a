package snapshot

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Handover is an entity with a new owner, or with a new named client (SetNamed).
type Handover struct {
	Entity wire.NetworkID // alive at that time
	To     wire.ClientID  // the new owner or named client, never 0
	Named  bool           // by SetNamed
}

// SetNamed sets the client that may write those components of an entity that a named client writes; 0 means the server alone. It
// reports whether the entity is alive or reserved.
func (s *Store) SetNamed(id wire.NetworkID, client wire.ClientID) bool {
	if !s.Alive(id) {
		return s.wish(id, earlyNamed, client)
	}
	s.named = grown(s.named, int(id.Index)+1, cap(s.rows.masks))
	if s.named[id.Index] != client {
		s.named[id.Index] = client
		s.noteHandover(id, client, true)
	}
	return true
}

// Named returns the client that SetNamed set. It returns 0 if there is none, or if the entity is neither alive nor reserved.
func (s *Store) Named(id wire.NetworkID) wire.ClientID {
	if !s.Alive(id) {
		return s.wished(id, earlyNamed)
	}
	if uint(id.Index) >= uint(len(s.named)) {
		return 0
	}
	return s.named[id.Index]
}

// maxHandovers bounds the list of handovers, for servers that never clear it.
const maxHandovers = 1 << 16

// noteHandover notes that an entity was given to a client.
func (s *Store) noteHandover(id wire.NetworkID, to wire.ClientID, named bool) {
	if to != 0 && len(s.handovers) < maxHandovers {
		s.handovers = append(s.handovers, Handover{id, to, named})
	}
}

// Handovers returns the changes of owners and named clients since ClearHandovers, in order. The slice is the store's own.
func (s *Store) Handovers() []Handover { return s.handovers }

// ClearHandovers empties the list of Handovers.
func (s *Store) ClearHandovers() { s.handovers = s.handovers[:0] }

// ChangedRows returns the rows of an entity that the newest capture changed.
func (s *Store) ChangedRows(id wire.NetworkID) (rows Mask) {
	return s.changedRows(id, s.schema.Coarse.Not())
}

// changedRows returns the components of an entity with a row in of that the newest capture changed.
func (s *Store) changedRows(id wire.NetworkID, of Mask) (rows Mask) {
	if !s.Alive(id) {
		return Mask{}
	}
	for m := s.rows.masks[id.Index].Intersect(of); !m.IsZero(); m = m.Rest() {
		if row := m.Lowest(); s.past.changedAfter(row, id.Index, s.tick-1) {
			rows = rows.With(row)
		}
	}
	return s.schema.Fold(rows)
}

// SetOwner sets the client that owns an entity, 0 for the server, and reports whether the entity is alive or reserved. A new entity
// belongs to the server. The owner may change at any time, also between two captures.
func (s *Store) SetOwner(id wire.NetworkID, owner wire.ClientID) bool {
	if !s.Alive(id) {
		return s.wish(id, earlyOwner, owner)
	}
	s.owners = grown(s.owners, int(id.Index)+1, cap(s.rows.masks))
	if s.owners[id.Index] != owner {
		s.noteHandover(id, owner, false)
		s.owners[id.Index] = owner
		s.reowned = append(s.reowned, newOwner{id.Index, s.tick})
	}
	return true
}

// Owner returns the client that owns an entity. It returns 0, the server, if no owner was set, or if the entity is neither alive nor
// reserved.
func (s *Store) Owner(id wire.NetworkID) wire.ClientID {
	if !s.Alive(id) {
		return s.wished(id, earlyOwner)
	}
	if uint(id.Index) >= uint(len(s.owners)) {
		return 0
	}
	return s.owners[id.Index]
}

// newOwner is an entity that got another owner after a capture.
type newOwner struct {
	index uint32
	at    tick.Tick
}

// NewOwners yields the indexes of the entities that got another owner since the capture before the newest one, some of them more than
// once.
func (s *Store) NewOwners(yield func(index uint32) bool) {
	for _, o := range s.reowned {
		if !yield(o.index) {
			return
		}
	}
}

// Past reports whether an entity has lived and is dead.
func (s *Store) Past(id wire.NetworkID) bool {
	return uint(id.Index) < uint(len(s.gens)) && !s.Alive(id) && int32(s.gens[id.Index]-id.Generation) >= 0 // generations wrap
}
