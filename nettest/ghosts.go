package nettest

import (
	"fmt"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/internal/world"
)

// ghostCheck checks NoGhostRef. It stores the newest generation that the server gave to each index; generations rise by one.
type ghostCheck struct {
	newest []uint32
	seen   []int // by index: the check that found an entity there
	checks int
}

// remember records the server's entities after its frame.
func (g *ghostCheck) remember(s *Server) {
	for id := range s.Store().All {
		for int(id.Index) >= len(g.newest) {
			g.newest, g.seen = append(g.newest, 0), append(g.seen, 0)
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
	id := world.ComponentID[components.Replicated](c.World)
	e := world.Spawn(c.World, nil, id)
	*(*components.Replicated)(world.Get(c.World, e, id)) = components.Replicated{ID: netcode.NetworkID{Index: 1 << 19, Generation: 1}, World: steps.OfClient(c).Tag()}
}

// check checks every entity with a network id in a client's world.
func (g *ghostCheck) check(n *Net, i int, c *Client) error {
	if n.broken[NoGhostRef] && i == 0 {
		haunt(c)
	}
	g.checks++
	replicated := world.ComponentID[components.Replicated](c.World)
	for query := world.Select(c.World, world.All(replicated)); query.Next(); {
		id := (*components.Replicated)(query.Get(replicated)).ID
		if id.IsZero() {
			continue
		}
		if what := g.wrong(c, query.Entity(), id); what != "" {
			query.Close()
			return &Broken{NoGhostRef, i, n.frame, fmt.Sprintf("entity %v %s", id, what)}
		}
	}
	return nil
}

// wrong returns the fault of an entity of a client's world, or "".
func (g *ghostCheck) wrong(c *Client, e netecs.Entity, id netcode.NetworkID) string {
	if !g.ever(id) {
		return "was never spawned by the server"
	}
	if g.seen[id.Index] == g.checks {
		return "is not alone at its index"
	}
	g.seen[id.Index] = g.checks
	if held, ok := c.Systems.Entity(id); ok && held != e {
		return "is two entities here"
	}
	return ""
}
