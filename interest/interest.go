package interest

import (
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Leaving says what becomes of an entity at a client that may not see it any more.
type Leaving uint8

// Effects of leaving sight.
const (
	Despawn Leaving = iota // The entity despawns there.
	Keep                   // The client keeps the last state it was sent; when the entity dies, it despawns there.
)

// applied brings the views of a server's clients to what a policy says.
type applied struct {
	policy  Policy
	leaving Leaving
	lives
	clients roll[outcome]
}

// outcome is the last sight that one client's view was given.
type outcome struct {
	view  View
	sees  Set // alive and visible, as the view was told last
	shown Set // the part of sees that came into sight in the last update
}

// New returns what SetInterest of a server takes. Each network tick it compares what each client may see with what it
// could see before, and shows, hides or keeps the difference; what is new in the world is visible only if the policy says
// so. Coming back into sight sends full state.
func New(policy Policy, leaving Leaving) snapshot.Interest {
	return &applied{policy: policy, leaving: leaving}
}

// Prepare implements snapshot.Interest.
func (a *applied) Prepare(s *snapshot.Store) {
	a.follow(s)
	a.policy.Prepare(s)
}

// Leave implements snapshot.Interest.
func (a *applied) Leave(client wire.ClientID) {
	a.clients.drop(client)
	a.policy.Leave(client)
}

// Update implements snapshot.Interest.
func (a *applied) Update(client wire.ClientID, v *snapshot.View) { a.update(client, v) }

func (a *applied) update(client wire.ClientID, v View) {
	o := a.clients.open(client)
	sees := a.policy.Sees(client)
	o.shown.reset(len(a.alive))
	if o.view != v {
		a.begin(o, v, sees)
	} else {
		a.change(o, sees)
	}
	a.policy.Refine(client, v, o.sees, o.shown)
}

// begin tells a view for the first time. It may show everything that lived when it was made, of which nothing was sent.
func (a *applied) begin(o *outcome, v View, sees Set) {
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
func (a *applied) change(o *outcome, sees Set) {
	o.sees.grow(len(a.alive))
	for w, alive := range a.alive {
		had := o.sees[w] &^ a.renewed.word(w) // nobody has seen who is new at an index
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
