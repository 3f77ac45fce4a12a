package snapshot

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// lives is for who keeps something beside the rows for some entities, and has to know when a client can take it and when
// it is to be forgotten. Of all others nothing is noted.
type lives struct {
	attended bitset
	ended    []wire.NetworkID
}

// Attend has the store and its views note what becomes of an entity, which lives or is reserved: Ended tells when it is
// gone, and [View.Met] when a client is proved to hold it.
func (s *Store) Attend(id wire.NetworkID) {
	s.lives.attended = s.lives.attended.grownTo(int(id.Index) + 1)
	s.lives.attended.set(id.Index)
}

// unattend notes that an entity is gone.
func (s *Store) unattend(id wire.NetworkID) {
	if s.lives.attended.has(id.Index) {
		s.lives.attended.unset(id.Index)
		s.lives.ended = append(s.lives.ended, id)
	}
}

// Ended returns the attended entities that are gone since ClearEnded, in the order of their ends. They are not
// attended any more. The slice is the store's own.
func (s *Store) Ended() []wire.NetworkID { return s.lives.ended }

// ClearEnded starts a new list.
func (s *Store) ClearEnded() { s.lives.ended = s.lives.ended[:0] }

// Share says that the client looks at the world that the store is of: it holds what it sees, and nothing is sent to it.
func (v *View) Share() {
	v.shares = true
	for id := range v.store.All {
		if v.Visible(id) {
			v.meet(id.Index)
		}
	}
}

// meet notes that the client has acknowledged a record of an entity's present life, before which it had none that counts.
func (v *View) meet(index uint32) {
	if v.store.lives.attended.has(index) {
		v.met = append(v.met, wire.NetworkID{Index: index, Generation: v.tenants[index].generation})
	}
}

// Met returns the attended entities that the client has been proved to hold since ClearMet, of the life that it
// sees now: each time that it did not hold them before, and once more after a resync. The slice is the view's own.
func (v *View) Met() []wire.NetworkID { return v.met }

// ClearMet starts a new list.
func (v *View) ClearMet() { v.met = v.met[:0] }

// Held reports whether the client is proved to hold an entity, of the life that it sees now.
func (v *View) Held(id wire.NetworkID) bool {
	return v.Visible(id) && (v.shares || v.base(id.Index) != tick.None)
}

// Sent reports whether a record of an entity, of the life that the client sees now, was sent to it: the client may hold it.
func (v *View) Sent(id wire.NetworkID) bool {
	return v.Visible(id) && v.wentAt(id.Index) >= v.tenants[id.Index].life
}

// Needs returns the tick of which the client must have a record of an entity to have all that changed of it up to tick t: a later
// one does too. It is tick.None where the client is proved to have that, and where it will get none, since the entity is not
// visible or does not fit a packet.
func (v *View) Needs(id wire.NetworkID, t tick.Tick) tick.Tick {
	if v.shares || !v.Visible(id) || v.tooBig.has(id.Index) {
		return tick.None
	}
	needs := max(min(v.moved(id.Index), t), v.tenants[id.Index].life)
	if v.base(id.Index) >= needs {
		return tick.None
	}
	return needs
}

// Proved returns the newest tick as of which the client is proved to have everything that it may see. An entity that does not fit
// a packet does not count. It looks at each entity whose newest state is not acknowledged.
func (v *View) Proved() tick.Tick {
	v.born()
	proved := v.observed
	for w := range v.visible {
		for word := (v.unsent[w] | v.unacked[w]) & v.visible[w] &^ v.tooBig[w]; word != 0; word &= word - 1 {
			index := firstOf(uint32(w), word)
			if held := v.base(index); held == tick.None {
				proved = min(proved, v.tenants[index].life-1)
			} else if held < v.moved(index) {
				proved = min(proved, held)
			}
		}
		for word := v.owed[w]; word != 0; word &= word - 1 {
			proved = min(proved, v.tenants[firstOf(uint32(w), word)].ended-1)
		}
	}
	return proved
}

// TooLarge reports whether the newest state of an entity does not fit a packet, so that the client does not get it.
func (v *View) TooLarge(id wire.NetworkID) bool { return v.Visible(id) && v.tooBig.has(id.Index) }

// Life returns the tick since which the client has seen an entity without a break, and whether it sees it now. Two lives
// of one entity of which anything was sent never have the same.
func (v *View) Life(id wire.NetworkID) (since tick.Tick, visible bool) {
	if !v.Visible(id) {
		return tick.None, false
	}
	return v.tenants[id.Index].life, true
}

// SawAt reports whether an entity was in the client's sight at a tick: as far as the life that it sees now, or saw last, and the
// one before tell. Before the view was made it saw what it saw then. known is false where nothing tells, since the client was never
// shown the entity or its index is another's now.
func (v *View) SawAt(id wire.NetworkID, t tick.Tick) (saw, known bool) {
	if int(id.Index) >= len(v.tenants) || v.tenants[id.Index].generation != id.Generation {
		return false, false
	}
	p, t := &v.tenants[id.Index], max(t, v.start)
	return v.visible.has(id.Index) && t >= p.life || t >= p.began && t < p.left, true
}

// Sights returns how often an entity has come into the client's sight or left it.
func (v *View) Sights() uint64 { return v.sights }
