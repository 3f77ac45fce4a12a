package systems

import (
	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/snapshot"
)

// Accept writes the components that clients have written to a server's world. These are components with WrittenBy, of
// entities that the client may write now. It runs at the start of EarlyUpdate. A protocol without WrittenBy has no
// Accept.
type Accept struct {
	Server *netcode.Server // The receiver of the components.
	Tick   *Tick           // The writer of the world.

	take func(client netcode.ClientID, entity netcode.NetworkID, row int, lanes []uint32) // Method write, bound once.
	read func(entity netcode.NetworkID, row int, lanes []uint32) bool                     // Method value, bound once.
}

// Initialize implements System.
func (a *Accept) Initialize(*netecs.World) { a.take, a.read = a.write, a.value }

// Update implements System.
func (a *Accept) Update(w *netecs.World) {
	if a.take == nil {
		a.Initialize(w)
	}
	if a.Tick.capture != nil {
		authority.WritesTo(a.Server, a.read, a.take)
	}
}

// Finalize implements System.
func (a *Accept) Finalize(*netecs.World) {}

func (a *Accept) write(_ netcode.ClientID, entity netcode.NetworkID, row int, lanes []uint32) {
	a.Tick.capture.Write(entity, row, lanes)
}

func (a *Accept) value(entity netcode.NetworkID, row int, lanes []uint32) bool {
	return a.Tick.capture.Read(entity, row, lanes)
}

// Gather captures the components that a client writes, when a network tick is due. It runs at the end of stage
// PreLateUpdate. A protocol without WrittenBy has no Gather.
type Gather struct {
	Client *netcode.Client // The writer of the components.
	Apply  *Apply          // The writer of the world to read.

	state authority.ClientState
	read  func(entity netcode.NetworkID, row int, lanes []uint32) bool // Method value, bound once.
}

// Initialize implements System.
func (g *Gather) Initialize(*netecs.World) {
	g.read = g.value
	if g.state, _ = extend.ExtensionOf[authority.ClientState](g.Client); g.state == nil {
		return
	}
	g.state.OnReset(func(entity netcode.NetworkID, rows snapshot.Mask) {
		if g.Apply.apply != nil {
			g.Apply.apply.Revert(entity, rows)
		}
	})
}

// Update implements System.
func (g *Gather) Update(*netecs.World) {
	if g.Apply.apply != nil && g.state != nil {
		g.state.Gather(g.read)
	}
}

// Finalize implements System.
func (g *Gather) Finalize(*netecs.World) {}

func (g *Gather) value(entity netcode.NetworkID, row int, lanes []uint32) bool {
	return g.Apply.apply.Read(entity, row, lanes)
}
