package interest

import (
	"fmt"
	"strings"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Policy decides which entities each client may see. The game may bring its own; [New] makes an interest of it.
type Policy interface {
	// Prepare is called once a network tick, after the capture of the world. Called again for the same tick, as when
	// one policy is a part of two, it does nothing.
	Prepare(s *snapshot.Store)
	// Sees returns the entities that a client may see, as of the last Prepare and of what game code has said since; whom
	// it names and who is dead does not count. The set is the policy's own: it is read before the next call for a client.
	Sees(client wire.ClientID) Set
	// Refine is called for each client after its view was told what it sees, to set components and weights of that.
	// shown is the part of sees that has come into sight just now, for which nothing is set.
	Refine(client wire.ClientID, v View, sees, shown Set)
	// Leave is called when a client is gone.
	Leave(client wire.ClientID)
}

// View changes the sight of one client. A [snapshot.View] implements it.
type View interface {
	// Show lets the client see an entity, which is sent to it whole.
	Show(id wire.NetworkID)
	// Hide takes an entity out of the client's sight: it is despawned there.
	Hide(id wire.NetworkID)
	// Keep takes an entity out of the client's sight and leaves it there as it was.
	Keep(id wire.NetworkID)
	// SetRows tells which components of a visible entity the client may see: all, until then.
	SetRows(id wire.NetworkID, rows snapshot.Mask)
	// SetWeight tells how relevant a visible entity is to the client, in steps of 1/[snapshot.NormalWeight]; 0 counts as 1.
	SetWeight(id wire.NetworkID, weight uint16)
	// ShowNew reports whether the client sees new entities until they are hidden, or does not until they are shown.
	ShowNew(show bool)
}

// all is the policy of having none.
type all struct{ lifetimes }

// All returns the policy that a server has without any: everything is visible to everybody. It is good as a part of
// others, such as [Rows].
func All() Policy { return &all{} }

// Prepare implements [Policy].
func (a *all) Prepare(s *snapshot.Store) { a.follow(s) }

// Sees implements [Policy].
func (a *all) Sees(wire.ClientID) Set { return a.alive }

// Refine implements [Policy].
func (a *all) Refine(wire.ClientID, View, Set, Set) {}

// Leave implements [Policy].
func (a *all) Leave(wire.ClientID) {}

// combined is several policies in one.
type combined struct {
	parts   []Policy
	both    bool
	clients perClient[Set]
}

// Any returns the policy under which an entity is visible if at least one of some policies shows it. It panics without
// any.
func Any(policies ...Policy) Policy { return combine(policies, false) }

// Both returns the policy under which an entity is visible if all of some policies say so, two or more. It panics
// without any.
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

// Sees asks every part each time: some change only when they are asked.
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

// viewpointPolicy is a policy that can tell when a client sees nothing for want of something that game code is to say.
type viewpointPolicy interface {
	Blind(client wire.ClientID) bool
}

// Blind reports whether a client lacks a viewpoint, for want of which it sees nothing that is anywhere. A server asks once for each
// client, to tell of it.
func (a *Interest) Blind(client wire.ClientID) bool { return isBlind(a.policy, client) }

func isBlind(p Policy, client wire.ClientID) bool {
	b, ok := p.(viewpointPolicy)
	return ok && b.Blind(client)
}

// Why names the policies by which a client sees an entity, by their types: of those that are combined, each that shows it. It is for people
// who look into a server, and not for each tick. It changes nothing: policies of this package tell of the newest tick; a game's own are asked.
func (a *Interest) Why(client wire.ClientID, id wire.NetworkID) []string {
	return why(nil, a.policy, client, id.Index)
}

func why(names []string, p Policy, client wire.ClientID, index uint32) []string {
	var inner Policy // Shows some of what p shows.
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

// known returns what a policy saw when it was asked last: a Grid that is asked between two ticks takes in who is within Enter, and keeps them.
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

// Blind of several is that none shows anything: of both one is enough for that.
func (c *combined) Blind(client wire.ClientID) bool {
	for _, part := range c.parts {
		if isBlind(part, client) == c.both {
			return c.both
		}
	}
	return !c.both
}
