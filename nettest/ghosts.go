package nettest

import (
	"fmt"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
)

// ghostCheck is NoGhostRef: it knows every network id that the server ever
// gave to an entity.
type ghostCheck struct {
	ever map[netcode.NetworkID]bool
}

// remember takes in the server's entities after its frame.
func (g *ghostCheck) remember(s *Server) {
	if g.ever == nil {
		g.ever = map[netcode.NetworkID]bool{}
	}
	for id := range s.Store().All {
		g.ever[id] = true
	}
}

// check looks at every entity with a network id in a client's world.
func (g *ghostCheck) check(n *Net, i int, c *Client) error {
	var last netcode.NetworkID
	for e, id := range netecs.Entities(&c.World) {
		broken := func(what string) error {
			return &Broken{NoGhostRef, i, n.frame, fmt.Sprintf("entity %v %s", id, what)}
		}
		if n.broken[NoGhostRef] {
			delete(g.ever, id)
		}
		switch held, ok := c.Systems.Entity(id); {
		case !g.ever[id]:
			return broken("was never spawned by the server")
		case !last.IsZero() && id.Index == last.Index:
			return broken(fmt.Sprintf("stands beside %v at the same index", last))
		case ok && held != e:
			return broken("is two entities here")
		}
		last = id
	}
	return nil
}
