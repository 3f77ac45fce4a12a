package nettest

import (
	"fmt"

	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
)

// ghostCheck checks NoGhostRef. It stores the newest generation that the server gave to each index; generations rise by one.
type ghostCheck struct {
	newest []uint32
}

// remember records the server's entities after its frame.
func (g *ghostCheck) remember(s *Server) {
	for id := range s.Store().All {
		for int(id.Index) >= len(g.newest) {
			g.newest = append(g.newest, 0)
		}
		g.newest[id.Index] = max(g.newest[id.Index], id.Generation)
	}
}

// ever reports whether the server ever gave this id to an entity.
func (g *ghostCheck) ever(id netcode.NetworkID) bool {
	return int(id.Index) < len(g.newest) && id.Generation > 0 && id.Generation <= g.newest[id.Index]
}

// haunt adds an entity to a client's world that the server never had.
func haunt(c *Client) {
	ghosts := generic.NewMap1[netcode.Replicated](&c.World)
	ghosts.NewWith(&netcode.Replicated{ID: netcode.NetworkID{Index: 1 << 19, Generation: 1}, World: c.Tag()})
}

// check checks every entity with a network id in a client's world.
func (g *ghostCheck) check(n *Net, i int, c *Client) error {
	if n.broken[NoGhostRef] && i == 0 {
		haunt(c)
	}
	var last netcode.NetworkID
	for e, id := range netecs.Entities(&c.World) {
		broken := func(what string) error {
			return &Broken{NoGhostRef, i, n.frame, fmt.Sprintf("entity %v %s", id, what)}
		}
		switch held, ok := c.Systems.Entity(id); {
		case !g.ever(id):
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
