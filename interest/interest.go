package interest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	store   *snapshot.Store
	tick    tick.Tick // of the newest Prepare
	before  tick.Tick // of the Prepare before
	all     bool      // the newest Prepare came after captures that it has not seen
	clients map[wire.ClientID]*audience
	again   Again // scratch
}

// audience is one client.
type audience struct {
	view  *snapshot.View
	tick  tick.Tick // of the last update
	blind bool
}

// New returns the interest for Server.SetInterest. In each network tick it asks the policy again about entities for which the
// answer may have changed. The client's view holds the answers, so that the cost is that of changes. A new entity is visible
// only if the policy shows it. An entity that comes back into sight is sent whole.
func New(policy Policy, leaving Leaving) *Interest {
	return &Interest{policy: policy, leaving: leaving, clients: map[wire.ClientID]*audience{}}
}

// Prepare implements snapshot.Interest.
func (a *Interest) Prepare(s *snapshot.Store) {
	if a.store == s && a.tick == s.Tick() {
		return
	}
	a.all = a.store != s || s.Before() != a.tick // a frame may leave ticks out
	a.store, a.before, a.tick = s, a.tick, s.Tick()
	a.policy.Prepare(s, a.all)
}

// Leave implements snapshot.Interest.
func (a *Interest) Leave(client wire.ClientID) {
	delete(a.clients, client)
	a.policy.Leave(client)
}

// Update implements snapshot.Interest.
func (a *Interest) Update(client wire.ClientID, v *snapshot.View) { a.update(client, v, false) }

// update asks the policy about what may have changed for a client, or about everything.
func (a *Interest) update(client wire.ClientID, v *snapshot.View, all bool) {
	c := a.clients[client]
	if c == nil {
		c = &audience{}
		a.clients[client] = c
	}
	again := &a.again
	again.reset()
	for _, id := range a.store.Births() {
		again.Add(id.Index)
	}
	for index := range a.store.NewOwners {
		again.Add(index)
	}
	a.policy.Changed(client, again)
	if again.banded {
		v.SetBanded()
	}
	if c.view != v {
		c.view = v
		v.ShowNew(false)
		all = true
	}
	all = all || a.all || c.tick != a.tick && c.tick != a.before
	c.tick, c.blind = a.tick, again.blind != looks
	for _, other := range again.seen {
		if o := a.clients[other]; o != nil {
			for id := range o.view.Seen {
				again.Add(id.Index)
			}
		} else {
			all = true // nobody knows
		}
	}
	if all {
		for id := range a.store.All {
			a.judge(client, v, id)
		}
		return
	}
	slices.Sort(again.list) // the order in which policies change is not the game's business
	for _, index := range again.list {
		if id, alive := a.store.At(index); alive {
			a.judge(client, v, id)
		}
	}
}

// judge writes the policy's answer about an entity to a client's view.
func (a *Interest) judge(client wire.ClientID, v *snapshot.View, id wire.NetworkID) {
	was := v.Sight(id)
	rows, weight := a.policy.Sees(client, id, was)
	switch {
	case !rows.IsZero():
		v.SetSight(id, rows)
		v.SetWeight(id, cmp.Or(weight, snapshot.NormalWeight))
	case was.IsZero():
	case a.leaving == Keep:
		v.Keep(id)
	default:
		v.Hide(id)
	}
}

// RefreshAll decides anew for all clients at once, instead of in the next network tick. Messages about entities that come into
// sight need not wait then. It also calls the game's functions again whose results policies keep. It covers the entities of the
// newest network tick. Use it for changes of the whole game, such as the start of a match: it costs as much as a tick in which
// everything changed.
func (a *Interest) RefreshAll() {
	if a.store == nil {
		return
	}
	a.policy.Prepare(a.store, true)
	for _, client := range slices.Sorted(maps.Keys(a.clients)) {
		a.update(client, a.clients[client].view, true)
	}
}

// RefreshClient decides anew for one client at once. It returns false for a client that no network tick has covered yet: the next
// tick decides for it.
func (a *Interest) RefreshClient(client wire.ClientID) bool {
	c := a.clients[client]
	if c != nil {
		a.update(client, c.view, true)
	}
	return c != nil
}

// Refresh decides anew about one entity at once, for all clients. Call it when the result of a [RowsFunc] has changed.
func (a *Interest) Refresh(id wire.NetworkID) {
	if a.store == nil || !a.store.Alive(id) {
		return
	}
	for _, client := range slices.Sorted(maps.Keys(a.clients)) {
		again := &a.again
		again.reset()
		again.Add(id.Index)
		a.policy.Changed(client, again) // its children
		slices.Sort(again.list)
		for _, index := range again.list {
			if other, alive := a.store.At(index); alive {
				a.judge(client, a.clients[client].view, other)
			}
		}
	}
}

// Blind reports whether a client sees nothing because it has no viewpoint. The server asks once for each client, to warn of it.
func (a *Interest) Blind(client wire.ClientID) bool {
	c := a.clients[client]
	return c != nil && c.blind
}

// Why returns the type names of the policies through which a client sees an entity. Of combined policies it names each part that
// shows the entity. It is for inspection, not for each tick.
func (a *Interest) Why(client wire.ClientID, id wire.NetworkID) []string {
	return why(nil, a.policy, client, id)
}

func why(names []string, p Policy, client wire.ClientID, id wire.NetworkID) []string {
	before := len(names)
	if of, ok := p.(interface{ partsOf() []Policy }); ok {
		for _, part := range of.partsOf() {
			names = why(names, part, client, id)
		}
	}
	if len(names) == before && sees(p, client, id) {
		name := fmt.Sprintf("%T", p)
		names = append(names, name[strings.LastIndexByte(name, '.')+1:])
	}
	return names
}

// sees reports whether a policy shows an entity to a client.
func sees(p Policy, client wire.ClientID, id wire.NetworkID) bool {
	rows, _ := p.Sees(client, id, snapshot.Mask{})
	return !rows.IsZero()
}
