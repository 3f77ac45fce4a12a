package snapshot

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Handover is an entity with a new owner, or with a new named client (SetNamed).
type Handover struct {
	Entity wire.NetworkID // alive at that time
	To     wire.ClientID  // the new owner or named client, never 0
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
		s.noteHandover(id, client)
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
func (s *Store) noteHandover(id wire.NetworkID, to wire.ClientID) {
	if to != 0 && len(s.handovers) < maxHandovers {
		s.handovers = append(s.handovers, Handover{id, to})
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
		if row := m.Lowest(); s.sinceOf(id.Index, row) == s.tick {
			rows = rows.With(row)
		}
	}
	return s.schema.Fold(rows)
}

// ownWrites stores changes that the client made itself, or that are hidden from it. They count as no changes for this client.
type ownWrites struct {
	newest []tick.Tick // by index: tick of the newest change, if all of it was the client's own or hidden from it
	before []tick.Tick // by index: tick of the newest change before that which was neither
	latest []tick.Tick // by index: newest tick in which all changes were the client's own, also in rows that name entities
}

// ObserveBut does what Observe does, for a client that made all changes of the entities in own in the newest commit itself. These
// changes are not sent to it. It does nothing after Observe, and between Begin and Commit. It changes the order in own. Package authority uses it.
func (v *View) ObserveBut(own []wire.NetworkID) {
	if v.observed == v.store.tick || v.store.open {
		return
	}
	v.grow()
	kept := v.ownWrites.kept(v, own)
	v.observe()
	for _, id := range kept {
		if v.touchedAt(id.Index) < v.store.tick {
			v.unsent.unset(id.Index)
		}
	}
	v.applyDeferred()
}

// kept notes the changes of the entities in own as the client's own. It returns those for which nothing waited to be sent.
func (a *ownWrites) kept(v *View, own []wire.NetworkID) []wire.NetworkID {
	n := 0
	for _, id := range own {
		if !v.Visible(id) || v.maskChanged(id.Index) {
			continue
		}
		a.latest = grown(a.latest, int(id.Index)+1, len(v.acks))
		a.latest[id.Index] = v.store.tick
		if v.store.changed.has(id.Index) {
			a.skipOwn(v, id.Index)
		}
		if !v.unsent.has(id.Index) {
			own[n] = id
			n++
		}
	}
	return own[:n]
}

// skipOwn notes that the changes of an index in the newest commit are no changes for the client.
func (a *ownWrites) skipOwn(v *View, index uint32) {
	a.newest = grown(a.newest, int(index)+1, len(v.acks))
	a.before = grown(a.before, int(index)+1, len(v.acks))
	if a.newest[index] == v.store.tick {
		return
	}
	if was := v.store.movedBefore(index); was != a.newest[index] {
		a.before[index] = was
	}
	a.newest[index] = v.store.tick
}

// wrote reports whether all changes of an index at tick t were the client's own.
func (a *ownWrites) wrote(index uint32, t tick.Tick) bool {
	return int(index) < len(a.latest) && a.latest[index] == t
}

// moved returns the tick of the newest change of an index that is neither the client's own nor hidden from it. moved is the tick of
// the newest change of any kind.
func (a *ownWrites) moved(index uint32, moved tick.Tick) tick.Tick {
	if int(index) < len(a.newest) && a.newest[index] == moved {
		return a.before[index]
	}
	return moved
}

// Again makes the newest state of an entity be sent to the client, with the rows that the client wrote itself. It is for an entity
// that the client no longer writes. Package authority uses it.
func (v *View) Again(id wire.NetworkID) {
	if v.store.open {
		v.deferred = append(v.deferred, func() { v.Again(id) })
		return
	}
	v.Observe()
	if v.Visible(id) {
		v.touch(id.Index, v.next())
	}
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
