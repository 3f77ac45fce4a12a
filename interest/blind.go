package interest

import "github.com/arche-netcode/netcode/wire"

// blinder is a policy that can tell when a client sees nothing for want of something that game code is to say.
type blinder interface {
	blind(client wire.ClientID) bool
}

// Blind reports whether a client lacks a viewpoint, for want of which it sees nothing that is anywhere. A server asks once for each
// client, to tell of it.
func (a *applied) Blind(client wire.ClientID) bool { return isBlind(a.policy, client) }

func isBlind(p Policy, client wire.ClientID) bool {
	b, ok := p.(blinder)
	return ok && b.blind(client)
}

func (g *Grid) blind(client wire.ClientID) bool {
	v := g.sights.get(client)
	return v == nil || !v.looks
}

func (r *Rows) blind(client wire.ClientID) bool { return isBlind(r.of, client) }

// blind of several is that none shows anything: of both one is enough for that.
func (c *combined) blind(client wire.ClientID) bool {
	for _, part := range c.parts {
		if isBlind(part, client) == c.both {
			return c.both
		}
	}
	return !c.both
}
