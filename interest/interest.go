package interest

import (
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Leaving is the fate of an entity at a client that may not see it any more.
type Leaving uint8

// Effects of leaving sight.
const (
	Despawn Leaving = iota // The entity despawns there.
	Keep                   // The client keeps the last state it was sent; when the entity dies, it despawns there.
)

// Interest applies a policy to the views of a server's clients. [New] makes one; SetInterest of a server takes it.
type Interest struct {
	policy  Policy
	leaving Leaving
	lifetimes
	clients perClient[outcome]
}

// outcome is the last sight that one client's view was given.
type outcome struct {
	view  View
	sees  Set       // alive and visible, as the view was told last
	shown Set       // the part of sees that came into sight in the last update
	tick  tick.Tick // of the last update
}

// New returns the interest for SetInterest of a server. Each network tick it compares each client's sight with the one
// before, and shows, hides or keeps the difference. A new entity is visible only if the policy says so. An entity that comes
// back into sight is sent whole.
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
	sees := a.policy.Sees(client)
	o.shown.reset(len(a.alive))
	if o.view != v {
		a.begin(o, v, sees)
	} else {
		a.change(o, sees)
	}
	o.tick = a.tick
	a.policy.Refine(client, v, o.sees, o.shown)
}

// begin tells a view for the first time. It may show everything that lived when it was made, of which nothing was sent.
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

// change tells a view what is other than before. An entity that has died is the view's own business.
func (a *Interest) change(o *outcome, sees Set) {
	o.sees.grow(len(a.alive))
	for w, alive := range a.alive {
		had := o.sees[w]
		if o.tick != a.tick {
			had &^= a.renewed.word(w) // nobody has seen who is new at an index
		}
		want := sees.word(w) & alive
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

// lifetimes follows which entity lives at each network index, from one Prepare to the next.
type lifetimes struct {
	generations []uint32 // of who lives there, or lived there last
	alive       Set
	renewed     Set // indexes at which not the same lives as at the Prepare before: somebody else, or nobody
	next        Set
	tick        tick.Tick
	count       int
}

// follow takes in the newest capture. It returns false if that was taken in before: then nothing was done.
func (l *lifetimes) follow(s *snapshot.Store) bool {
	if s.Tick() == l.tick {
		return false
	}
	resting := s.Tick() == l.tick+1 && len(s.Births()) == 0 && s.Len() == l.count
	l.tick, l.count = s.Tick(), s.Len()
	clear(l.renewed)
	if resting {
		return true // nobody came, so nobody went either
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

// id is the entity that lives at index, or lived there last.
func (l *lifetimes) id(index uint32) wire.NetworkID {
	return wire.NetworkID{Index: index, Generation: l.generations[index]}
}

// is reports whether an entity was alive at the newest Prepare.
func (l *lifetimes) is(id wire.NetworkID) bool {
	return l.alive.Has(id.Index) && l.generations[id.Index] == id.Generation
}
