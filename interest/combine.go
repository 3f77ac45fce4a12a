package interest

import (
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// combined is several policies in one.
type combined struct {
	parts   []Policy
	both    bool
	clients roll[Set]
}

// Any returns the policy under which an entity is visible if at least one of some policies says so. It panics without
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
