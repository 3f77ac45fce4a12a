package systems

import (
	"slices"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
)

// captured is the resource of a world that lists the servers whose systems capture it.
type captured struct{ servers []*netcode.Server }

// capturedIn returns the list of a world, nil if it has none.
func capturedIn(w *ecs.World) *captured {
	list, _ := w.Resources().Get(ecs.ResourceID[captured](w)).(*captured)
	return list
}

// noteCaptured adds a server to the list of a world, unless it is there. A reset of the world drops the list, so each tick notes it again.
func noteCaptured(w *ecs.World, s *netcode.Server) {
	list := capturedIn(w)
	if list == nil {
		list = &captured{}
		ecs.AddResource(w, list)
	}
	if !slices.Contains(list.servers, s) {
		list.servers = append(list.servers, s)
	}
}

// forgetCaptured takes a server off the list of a world.
func forgetCaptured(w *ecs.World, s *netcode.Server) {
	if list := capturedIn(w); list != nil {
		list.servers = slices.DeleteFunc(list.servers, func(other *netcode.Server) bool { return other == s })
	}
}

// capturedByServerOf reports whether a world is that of the server that a client is connected to.
func capturedByServerOf(w *ecs.World, c *netcode.Client) bool {
	list := capturedIn(w)
	return list != nil && slices.ContainsFunc(list.servers, c.ConnectedTo)
}
