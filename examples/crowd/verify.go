package main

import (
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
)

// compare looks for the first entity, component and field in which a client's world is not what the server's
// dequantised rows are, byte for byte, of the entities that the client may see. Empty: there is none.
func compare(s *crowdServer, c *crowdClient) string {
	if c.net.State() != netcode.Connected {
		return "it is not connected"
	}
	difference, differs := netecs.FirstDifferenceOf(s.net.Store(), netecs.VisibleTo(s.net, c.net.ID()), &c.world, s.net.Protocol().Schema())
	if !differs {
		return ""
	}
	return difference.String()
}

// sabotage changes one value in the client's world. The next frame would restore it, so the comparison comes first.
func (c *crowdClient) sabotage() {
	query := generic.NewFilter2[components.Replicated, Position]().Query(&c.world)
	defer query.Close()
	if query.Next() {
		_, pos := query.Get()
		pos.X += 0.25
	}
}
