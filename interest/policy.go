package interest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Policy decides which entities each client may see. The game may implement its own. [New] turns a policy into an interest.
type Policy interface {
	// Prepare is called once a network tick, after the capture of the world. A second call for the same tick does nothing: a
	// policy may be part of several others.
	Prepare(s *snapshot.Store)
	// Sees returns the entities that a client may see, as of the last Prepare and the game's calls since then. Dead entities in
	// the set are ignored. The policy owns the set: it is valid until the next call for a client.
	Sees(client wire.ClientID) Set
	// Refine sets components and weights of visible entities. It is called for each client after Show and Hide. shown is the part
	// of sees that came into sight in this update; nothing is set for it yet.
	Refine(client wire.ClientID, v View, sees, shown Set)
	// Leave drops a client that has disconnected.
	Leave(client wire.ClientID)
}

// View changes the set of entities that one client sees. [snapshot.View] implements it.
type View interface {
	// Show makes an entity visible to the client. It is sent whole.
	Show(id wire.NetworkID)
	// Hide makes an entity invisible to the client: it despawns there.
	Hide(id wire.NetworkID)
	// Keep makes an entity invisible to the client, which keeps it in its last state.
	Keep(id wire.NetworkID)
	// SetRows sets the components of a visible entity that the client may see. The default is all.
	SetRows(id wire.NetworkID, rows snapshot.Mask)
	// SetWeight sets the priority of a visible entity for the client, in units of 1/[snapshot.NormalWeight]; 0 counts as 1.
	SetWeight(id wire.NetworkID, weight uint16)
	// ShowNew sets whether new entities are visible to the client by default.
	ShowNew(show bool)
}

// all is the policy that shows everything.
type all struct{ lifetimes }

// All returns the policy that shows everything to everybody, as a server without a policy does. Use it as part of others, such as
// [Rows].
func All() Policy { return &all{} }

// Prepare implements [Policy].
func (a *all) Prepare(s *snapshot.Store) { a.follow(s) }

// Sees implements [Policy].
func (a *all) Sees(wire.ClientID) Set { return a.alive }

// Refine implements [Policy].
func (a *all) Refine(wire.ClientID, View, Set, Set) {}

// Leave implements [Policy].
func (a *all) Leave(wire.ClientID) {}

// combined is the union or the intersection of several policies.
type combined struct {
	parts   []Policy
	both    bool
	clients perClient[Set]
}

// Any returns a policy that shows an entity if at least one of the policies shows it. It panics without any policy.
func Any(policies ...Policy) Policy { return combine(policies, false) }

// Both returns a policy that shows an entity if all of the policies show it, two or more. It panics without any policy.
func Both(policies ...Policy) Policy { return combine(policies, true) }

func combine(policies []Policy, both bool) Policy {
	if len(policies) == 0 {
		panic("interest: no policies to combine")
	}
	return &combined{parts: append([]Policy(nil), policies...), both: both}
}

// Prepare implements [Policy].
func (c *combined) Prepare(s *snapshot.Store) {
	for _, part := range c.parts {
		part.Prepare(s)
	}
}

// Sees asks every part each time, because some policies update their state only when they are asked.
func (c *combined) Sees(client wire.ClientID) Set {
	sees := c.clients.open(client)
	sees.reset(0)
	for i, part := range c.parts {
		set := part.Sees(client)
		if i == 0 || !c.both {
			sees.addAll(set)
			continue
		}
		for w := range *sees {
			(*sees)[w] &= set.word(w)
		}
	}
	return *sees
}

// Refine implements [Policy].
func (c *combined) Refine(client wire.ClientID, v View, sees, shown Set) {
	for _, part := range c.parts {
		part.Refine(client, v, sees, shown)
	}
}

// Leave implements [Policy].
func (c *combined) Leave(client wire.ClientID) {
	c.clients.drop(client)
	for _, part := range c.parts {
		part.Leave(client)
	}
}

// viewpointPolicy is a policy that can report that a client sees nothing because the game has not set its viewpoint.
type viewpointPolicy interface {
	Blind(client wire.ClientID) bool
}

// Blind reports whether a client sees nothing because it has no viewpoint. The server asks once for each client, to warn of it.
func (a *Interest) Blind(client wire.ClientID) bool { return isBlind(a.policy, client) }

func isBlind(p Policy, client wire.ClientID) bool {
	b, ok := p.(viewpointPolicy)
	return ok && b.Blind(client)
}

// Why returns the type names of the policies through which a client sees an entity. Of combined policies it names each part that
// shows the entity. It is for inspection, not for each tick. It changes no state: policies of this package answer as of the
// newest tick; a game's own policies are asked.
func (a *Interest) Why(client wire.ClientID, id wire.NetworkID) []string {
	return why(nil, a.policy, client, id.Index)
}

func why(names []string, p Policy, client wire.ClientID, index uint32) []string {
	var inner Policy // the inner policy, if p adds entities to those of another one
	switch of := p.(type) {
	case *combined:
		for _, part := range of.parts {
			names = why(names, part, client, index)
		}
		return names
	case *Rows:
		return why(names, of.of, client, index)
	case *Bands:
		return why(names, of.of, client, index)
	case *Children:
		inner = of.of
	case *Teams:
		inner = of.of
	}
	if inner != nil && known(inner, client).Has(index) {
		return why(names, inner, client, index)
	}
	if known(p, client).Has(index) {
		name := fmt.Sprintf("%T", p)
		names = append(names, name[strings.LastIndexByte(name, '.')+1:])
	}
	return names
}

// known returns the set that a policy returned last. It does not call Sees of a Grid, which would change state: entities within
// Enter would be added.
func known(p Policy, client wire.ClientID) Set {
	switch of := p.(type) {
	case *Rows:
		return known(of.of, client)
	case *Bands:
		return known(of.of, client)
	case *Grid:
		if v := of.sights.get(client); v != nil {
			return v.set
		}
		return nil
	case *combined:
		if sees := of.clients.get(client); sees != nil {
			return *sees
		}
		return nil
	case *Children:
		if f := of.clients.get(client); f != nil && len(of.order)+len(of.cycles) > 0 {
			return f.set
		}
		return known(of.of, client)
	case *Teams:
		if team := of.teams[of.TeamOf(client)]; team != nil {
			return team.set
		}
		return known(of.of, client)
	}
	return p.Sees(client)
}

// RefreshAll passes the call to all parts.
func (c *combined) RefreshAll() {
	for _, part := range c.parts {
		refreshAll(part)
	}
}

// RefreshClient passes the call to all parts.
func (c *combined) RefreshClient(client wire.ClientID) {
	for _, part := range c.parts {
		refreshClient(part, client)
	}
}

// Blind reports whether no part shows anything. For an intersection one blind part is enough, and for a union a grid that follows
// an entity without a position.
func (c *combined) Blind(client wire.ClientID) bool {
	astray := func(p Policy) bool { g, ok := p.(*Grid); return ok && g.astray(client) }
	if slices.ContainsFunc(c.parts, astray) {
		return true
	}
	for _, part := range c.parts {
		if isBlind(part, client) == c.both {
			return c.both
		}
	}
	return !c.both
}
