package interest

import (
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Leaving selects what happens to an entity at a client that may no longer see it.
type Leaving uint8

// Values of Leaving.
const (
	Despawn Leaving = iota // The entity despawns at the client.
	Keep                   // The client keeps the last state that it received. The entity despawns there when it dies.
)

// Interest applies a policy to the views of a server's clients. [New] makes one; Server.SetInterest takes it.
type Interest struct {
	policy  Policy
	leaving Leaving
	lifetimes
	clients perClient[outcome]
}

// outcome is the set of entities that was last written to one client's view.
type outcome struct {
	view  View
	sees  Set       // alive and visible, as last written to the view
	shown Set       // the part of sees that came into sight in the last update
	tick  tick.Tick // of the last update
	// answer is the version of the policy's answer at the last update; 0: the policy has none.
	answer uint64
}

// versioned is a policy that knows whether its answer for a client has changed. Then its version changes, which is above 0, and also where
// an entity was born, replaced or died. While it stays Update has nothing to do.
type versioned interface {
	version(client wire.ClientID) uint64
}

// New returns the interest for Server.SetInterest. Each network tick it compares a client's visible set with the previous one,
// and calls Show, Hide or Keep for the difference. A new entity is visible only if the policy shows it. An entity that comes back
// into sight is sent whole.
func New(policy Policy, leaving Leaving) *Interest {
	return &Interest{policy: policy, leaving: leaving}
}

// Prepare implements snapshot.Interest.
func (a *Interest) Prepare(s *snapshot.Store) {
	a.follow(s)
	a.policy.Prepare(s)
}

// Leave implements snapshot.Interest.
func (a *Interest) Leave(client wire.ClientID) {
	a.clients.drop(client)
	a.policy.Leave(client)
}

// Update implements snapshot.Interest.
func (a *Interest) Update(client wire.ClientID, v *snapshot.View) { a.update(client, v) }

func (a *Interest) update(client wire.ClientID, v View) {
	o := a.clients.open(client)
	sees, answer := a.policy.Sees(client), uint64(0)
	if p, ok := a.policy.(versioned); ok {
		answer = p.version(client)
	}
	switch {
	case o.view != v:
		o.shown.reset(len(a.alive))
		a.begin(o, v, sees)
	case answer == 0 || o.answer != answer:
		o.shown.reset(len(a.alive))
		a.change(o, sees)
	default:
		o.shown.reset(0)
	}
	o.tick, o.answer = a.tick, answer
	a.policy.Refine(client, v, o.sees, o.shown)
}

// begin writes to a view for the first time. The view may show everything that was alive when it was made; nothing was sent yet.
func (a *Interest) begin(o *outcome, v View, sees Set) {
	o.view = v
	v.ShowNew(false)
	o.sees.reset(len(a.alive))
	for w, alive := range a.alive {
		o.sees[w] = sees.word(w) & alive
		o.shown[w] = o.sees[w]
		for ; alive != 0; alive &= alive - 1 {
			id := a.id(indexOf(w, alive))
			if o.sees.Has(id.Index) {
				v.Show(id)
			} else {
				v.Hide(id)
			}
		}
	}
}

// change writes the difference since the last update to a view. It skips dead entities: the view despawns them itself.
func (a *Interest) change(o *outcome, sees Set) {
	o.sees.grow(len(a.alive))
	for w, alive := range a.alive {
		had, want := o.sees[w], sees.word(w)&alive
		if had|want == 0 {
			continue
		}
		if o.tick != a.tick {
			had &^= a.renewed.word(w) // the client has not seen the new entity at this index
		}
		o.sees[w], o.shown[w] = want, want&^had
		for lost := had & alive &^ want; lost != 0; lost &= lost - 1 {
			if id := a.id(indexOf(w, lost)); a.leaving == Keep {
				o.view.Keep(id)
			} else {
				o.view.Hide(id)
			}
		}
		for shown := o.shown[w]; shown != 0; shown &= shown - 1 {
			o.view.Show(a.id(indexOf(w, shown)))
		}
	}
}

// lifetimes tracks which entity lives at each network index.
type lifetimes struct {
	generations []uint32 // by index: of the living entity, or of the last one
	alive       Set
	renewed     Set // indexes whose entity was born, replaced or died since the last Prepare
	next        Set
	tick        tick.Tick
	count       int
}

// follow reads the newest capture. It returns false and does nothing if that was read before.
func (l *lifetimes) follow(s *snapshot.Store) bool {
	if s.Tick() == l.tick {
		return false
	}
	resting := s.Tick() == l.tick+1 && len(s.Births()) == 0 && s.Len() == l.count
	l.tick, l.count = s.Tick(), s.Len()
	clear(l.renewed)
	if resting {
		return true // the number is equal and nobody was born, so nobody died
	}
	l.next.reset(len(l.alive))
	for id := range s.All {
		for int(id.Index) >= len(l.generations) {
			l.generations = append(l.generations, 0)
		}
		l.next.add(id.Index)
		if l.generations[id.Index] != id.Generation {
			l.generations[id.Index] = id.Generation
			l.renewed.add(id.Index)
		}
	}
	l.renewed.grow(len(l.next))
	for w := range l.next {
		l.renewed[w] |= l.next[w] ^ l.alive.word(w)
	}
	l.alive, l.next = l.next, l.alive
	return true
}

// id returns the entity that lives at index, or lived there last.
func (l *lifetimes) id(index uint32) wire.NetworkID {
	return wire.NetworkID{Index: index, Generation: l.generations[index]}
}

// is reports whether an entity was alive at the newest Prepare.
func (l *lifetimes) is(id wire.NetworkID) bool {
	return l.alive.Has(id.Index) && l.generations[id.Index] == id.Generation
}
