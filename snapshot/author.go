package snapshot

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// holder is who may write an entity beside the server: its owner, and the client that was named for it. Of each it is kept
// who it was before, so that what an honest client sent before it could know of a change is told from what no honest
// client sends.
type holder struct {
	named, wasNamed wire.ClientID
	wasOwner        wire.ClientID
	namedAt         tick.Tick // Since when named is.
	ownedAt         tick.Tick // Since when the owner is.
}

// Handover is an entity that changed hands.
type Handover struct {
	Entity wire.NetworkID
	To     wire.ClientID
}

// holderOf is where an entity's holder is kept.
func (s *Store) holderOf(index uint32) *holder {
	s.holders = grown(s.holders, int(index)+1, cap(s.rows.masks))
	return &s.holders[index]
}

// SetNamed names the client that may write those components of an entity that are written by whoever is named, 0 being
// nobody but the server, and reports whether there is such an entity.
func (s *Store) SetNamed(id wire.NetworkID, client wire.ClientID) bool {
	if !s.Alive(id) {
		return false
	}
	h := s.holderOf(id.Index)
	if h.named != client {
		h.wasNamed, h.named, h.namedAt = h.named, client, s.tick
		s.handed(id, client)
	}
	return true
}

// Named is the client that SetNamed named: 0 where there is none, and for what does not live.
func (s *Store) Named(id wire.NetworkID) wire.ClientID {
	if !s.Alive(id) || int(id.Index) >= len(s.holders) {
		return 0
	}
	return s.holders[id.Index].named
}

// HeldBy tells if a client is the owner of an entity, or named for it, or was until a tick that is not before since. What
// is dead counts as what it was last. passed says that the index has gone on to a later generation, so that nobody knows.
func (s *Store) HeldBy(id wire.NetworkID, client wire.ClientID, since tick.Tick) (owns, named, passed bool) {
	switch {
	case int(id.Index) >= len(s.gens) || client == 0 || id.Generation > s.gens[id.Index]:
		return false, false, false
	case id.Generation < s.gens[id.Index]:
		return false, false, true
	}
	owns = int(id.Index) < len(s.owners) && s.owners[id.Index] == client
	if int(id.Index) < len(s.holders) {
		h := &s.holders[id.Index]
		owns = owns || h.wasOwner == client && h.ownedAt >= since
		named = h.named == client || h.wasNamed == client && h.namedAt >= since
	}
	return owns, named, false
}

// ownerChanges notes that an entity gets another owner.
func (s *Store) ownerChanges(id wire.NetworkID, owner wire.ClientID) {
	h := s.holderOf(id.Index)
	h.wasOwner, h.ownedAt = s.owners[id.Index], s.tick
	s.handed(id, owner)
}

// maxHandovers bounds what nobody takes.
const maxHandovers = 1 << 16

func (s *Store) handed(id wire.NetworkID, to wire.ClientID) {
	if to != 0 && len(s.handovers) < maxHandovers {
		s.handovers = append(s.handovers, Handover{id, to})
	}
}

// Handovers is what came to belong to a client, or to be named for one, since ClearHandovers, in the order in which it did.
// The slice is the store's own.
func (s *Store) Handovers() []Handover { return s.handovers }

// ClearHandovers starts a new list.
func (s *Store) ClearHandovers() { s.handovers = s.handovers[:0] }

// ChangedRows is the rows of an entity that the newest capture changed.
func (s *Store) ChangedRows(id wire.NetworkID) (rows Mask) {
	for m := s.Mask(id); m != 0; m &= m - 1 {
		if row := m.next(); s.sinceOf(id.Index, row) == s.tick {
			rows = rows.With(row)
		}
	}
	return rows
}

// authored is the entities that a client writes itself, as its own View sees them.
type authored struct {
	newest []tick.Tick // per index: the newest change, when it was all the client's own
	before []tick.Tick // per index: the newest change before it that was not
}

// ObserveBut is Observe for a client that itself made all changes of some entities in the newest commit: these are not
// sent to it for them. Called after Observe it changes nothing.
func (v *View) ObserveBut(own []wire.NetworkID) {
	if v.observed == v.store.tick {
		return
	}
	v.grow()
	kept := v.author.kept(v, own)
	v.Observe()
	for _, id := range kept {
		v.unsent.unset(id.Index)
	}
}

// kept notes the changes of entities as the client's own. It returns those of which nothing was to be sent before.
func (a *authored) kept(v *View, own []wire.NetworkID) []wire.NetworkID {
	n := 0
	for _, id := range own {
		if !v.Visible(id) || v.store.born[id.Index] == v.store.tick || v.store.shape[id.Index] == v.store.tick {
			continue
		}
		a.newest = grown(a.newest, int(id.Index)+1, len(v.slots))
		a.before = grown(a.before, int(id.Index)+1, len(v.slots))
		if was := v.store.before[id.Index]; was != a.newest[id.Index] {
			a.before[id.Index] = was
		}
		a.newest[id.Index] = v.store.tick
		if !v.unsent.has(id.Index) {
			own[n] = id
			n++
		}
	}
	return own[:n]
}

// moved is the newest change of an index that is not the client's own.
func (a *authored) moved(index uint32, moved tick.Tick) tick.Tick {
	if int(index) < len(a.newest) && a.newest[index] == moved {
		return a.before[index]
	}
	return moved
}

// Again makes sure that the client gets the newest of an entity, also of what it made itself: it writes it no more.
func (v *View) Again(id wire.NetworkID) {
	v.Observe()
	if v.Visible(id) {
		v.touch(id.Index, v.next())
	}
}

// Mirror makes an entity that has its id from another store, between Begin and Commit; where it lives already nothing
// happens. A store has mirrored entities only, or none. It reports whether the entity lives.
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
