package systems

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
)

// Accept brings what clients have written into a server's world: components that were registered with WrittenBy, of the
// entities that are theirs to write at this moment. It runs at the start of EarlyUpdate. For a protocol in which
// clients write nothing it is not there.
type Accept struct {
	Server  *netcode.Server // That the clients have written to.
	Capture *Capture        // Of the world that it is brought into.

	take func(client netcode.ClientID, entity netcode.NetworkID, row int, lanes []uint32) // The method, kept.
}

// Initialize implements System.
func (a *Accept) Initialize(*ecs.World) { a.take = a.write }

// Update implements System.
func (a *Accept) Update(w *ecs.World) {
	if a.take == nil {
		a.Initialize(w)
	}
	if a.Capture.capture != nil {
		a.Server.Writes(a.take)
	}
}

// Finalize implements System.
func (a *Accept) Finalize(*ecs.World) {}

func (a *Accept) write(_ netcode.ClientID, entity netcode.NetworkID, row int, lanes []uint32) {
	a.Capture.capture.Write(entity, row, lanes)
}

// Gather captures what a client writes itself, when a network tick is due. It runs after everything of stage PreLateUpdate.
// For a protocol in which clients write nothing it is not there.
type Gather struct {
	Client *netcode.Client // That writes.
	Apply  *Apply          // Of the world that it writes in.

	read func(entity netcode.NetworkID, row int, lanes []uint32) bool // The method, kept.
}

// Initialize implements System.
func (g *Gather) Initialize(*ecs.World) {
	g.read = g.value
	g.Client.OnAuthority(func(entity netcode.NetworkID, _ bool, _ netcode.Tick) {
		if g.Apply.apply != nil {
			g.Apply.apply.Revert(entity)
		}
	})
}

// Update implements System.
func (g *Gather) Update(*ecs.World) {
	if g.Apply.apply != nil && g.read != nil {
		g.Client.Gather(g.read)
	}
}

// Finalize implements System.
func (g *Gather) Finalize(*ecs.World) {}

func (g *Gather) value(entity netcode.NetworkID, row int, lanes []uint32) bool {
	return g.Apply.apply.Read(entity, row, lanes)
}
