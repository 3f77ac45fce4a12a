package systems

import (
	"fmt"
	"iter"
	"time"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/interpolate"
	"github.com/arche-netcode/netcode/tick"
)

// ClientSystems are the systems of one client, for one world and one socket.
type ClientSystems struct {
	stages
	Client  *netcode.Client // They drive it.
	Receive *Receive        // The first of a frame.
	Apply   *Apply          // Before the messages of EarlyUpdate.
	Send    *Send           // The last of a frame.
	// Interpolate is nil for a protocol without interpolated components. Set it to nil before the first frame for a
	// client that draws nothing: entities are removed on arrival then, and there is no components.Smooth.
	Interpolate *Interpolate
	Gather      *Gather // Nil for a protocol in which clients write nothing.

	spawned   []func(ecs.Entity, netcode.NetworkID)
	ofKind    map[uint16][]func(ecs.Entity, netcode.NetworkID)
	despawned []func(ecs.Entity, netcode.NetworkID)
	presented []func(ecs.Entity, netcode.NetworkID)
}

// NewClient makes the systems of a client. now gives the time since any fixed moment: WallClock() in a game, a virtual
// clock in a test. It panics on a client, a socket or a clock that is nil, and on a client that
// another group drives.
func NewClient(client *netcode.Client, socket Socket, now func() time.Duration) *ClientSystems {
	mustBeThere(client != nil, "NewClient", "the client")
	mustBeThere(there(socket), "NewClient", "the socket")
	mustBeThere(now != nil, "NewClient", "the clock")
	mustBeAlone(client, "NewClient", "the client")
	c := &ClientSystems{
		Client:  client,
		Receive: &Receive{End: client, Socket: socket, Now: now},
		Apply:   &Apply{Client: client},
		Send:    &Send{End: client, Socket: socket},
	}
	if len(interpolate.List(client.Protocol())) > 0 {
		c.Interpolate = &Interpolate{Client: client, Apply: c.Apply}
	}
	if authority.ClientsWrite(client.Protocol()) {
		c.Gather = &Gather{Client: client, Apply: c.Apply}
	}
	c.Apply.Hooks.Spawned = c.tellSpawned
	c.Apply.Hooks.Despawned = func(e ecs.Entity, id netcode.NetworkID) {
		for _, f := range c.despawned {
			client.Contain("OnDespawn", func() { f(e, id) })
		}
	}
	return c
}

// Systems implements Group. It lists a client's frame, see the package comment.
func (c *ClientSystems) Systems() []System {
	f := c.newFrame(c.Client)
	f.run(c.Receive)
	f.stage(tick.Initialization)
	f.run(c.Apply)
	if c.Interpolate != nil {
		f.run(c.Interpolate)
	}
	f.stage(tick.EarlyUpdate, tick.FixedUpdate, tick.PreUpdate, tick.Update, tick.PreLateUpdate)
	if c.Gather != nil {
		f.run(c.Gather)
	}
	f.stage(tick.PostLateUpdate)
	f.run(c.Send)
	return f.systems
}

// OnSpawn adds a function that is called for each entity that the server shows anew. All values of the tick are written
// by then, and the world is unlocked: it may add local components, remove some, and send. If the function panics, the connection
// ends with peer.ReasonHandlerPanic, as for a handler, and so it does for OnSpawnKind and OnDespawn. OnSpawn panics on nil.
func (c *ClientSystems) OnSpawn(f func(e ecs.Entity, id netcode.NetworkID)) {
	mustBeGiven(f != nil, "OnSpawn")
	c.spawned = append(c.spawned, f)
}

// OnSpawnKind is OnSpawn for the entities whose components.Kind has this ID when they come. It is the place to give a tree
// of the server its sprite, and a player its camera. The server replicates Kind like any component. The
// functions of a kind are called after those of OnSpawn; none is called any more when one has removed the entity. It panics if
// the protocol does not replicate components.Kind, and on nil.
func (c *ClientSystems) OnSpawnKind(kind uint16, f func(e ecs.Entity, id netcode.NetworkID)) {
	if !netecs.HasKind(c.Client.Protocol().Schema()) {
		panic(fmt.Sprintf("systems: OnSpawnKind(%d): the protocol does not replicate components.Kind, so that no client learns of kinds: "+
			"call netcode.Replicate[components.Kind](protocol) on both sides", kind))
	}
	mustBeGiven(f != nil, "OnSpawnKind")
	if c.ofKind == nil {
		c.ofKind = map[uint16][]func(ecs.Entity, netcode.NetworkID){}
	}
	c.ofKind[kind] = append(c.ofKind[kind], f)
}

// tellSpawned calls the functions of OnSpawn, then those of the entity's kind, until one of them removes it.
func (c *ClientSystems) tellSpawned(e ecs.Entity, id netcode.NetworkID) {
	for _, f := range c.spawned {
		if _, there := c.ID(e); there {
			c.Client.Contain("OnSpawn", func() { f(e, id) })
		}
	}
	if c.Interpolate == nil { // It is shown as it comes.
		c.tellPresented(e, id)
	}
	kind, ok := c.Apply.kind(e)
	if !ok {
		return
	}
	for _, f := range c.ofKind[kind] {
		if _, there := c.ID(e); there {
			c.Client.Contain("OnSpawnKind", func() { f(e, id) })
		}
	}
}

// OnPresented adds a function that is called for each entity when it is shown for the first time: with Interpolate, when the presented
// moment reaches its begin, and its components.Smooth are there. It is called some frames after OnSpawn, and not at all for an entity
// that was removed before. Without Interpolate it is called behind OnSpawn. The world is unlocked. Call OnPresented before the first
// frame. It panics on nil.
func (c *ClientSystems) OnPresented(f func(e ecs.Entity, id netcode.NetworkID)) {
	mustBeGiven(f != nil, "OnPresented")
	if c.presented = append(c.presented, f); c.Interpolate != nil {
		c.Interpolate.presented = c.tellPresented
	}
}

// tellPresented calls the functions of OnPresented.
func (c *ClientSystems) tellPresented(e ecs.Entity, id netcode.NetworkID) {
	for _, f := range c.presented {
		if _, there := c.ID(e); there {
			c.Client.Contain("OnPresented", func() { f(e, id) })
		}
	}
}

// OnDespawn adds a function that is called for each entity that the server removed or hid, just before it is removed
// here: with Interpolate, when its end is presented. The world is unlocked. OnDespawn panics on nil.
func (c *ClientSystems) OnDespawn(f func(e ecs.Entity, id netcode.NetworkID)) {
	mustBeGiven(f != nil, "OnDespawn")
	c.despawned = append(c.despawned, f)
}

// Entity returns the entity of a network id, if the server shows it at present.
func (c *ClientSystems) Entity(id netcode.NetworkID) (ecs.Entity, bool) { return c.Apply.Entity(id) }

// ID returns the network id of an entity that the server shows.
func (c *ClientSystems) ID(e ecs.Entity) (netcode.NetworkID, bool) { return c.Apply.ID(e) }

// Pace implements Paced: the loop keeps its frames in step with the ticks that the client's inputs are made for.
func (c *ClientSystems) Pace() (num, den int64) { return c.Client.Pace() }

// Close implements Group: the server is told that this client leaves.
func (c *ClientSystems) Close() { c.Client.Close() }

// Closed implements Group.
func (c *ClientSystems) Closed() bool { return c.Client.Closed() }

// Changes yields the entities that the last update with something to apply has changed: see netecs.Apply.Changes.
// Apply.Applied tells whether that was in this frame. It allocates nothing.
func (c *ClientSystems) Changes(yield func(netecs.Change) bool) { c.Apply.Changes(yield) }

// Changed yields the entities to which the last update with something to apply added the component T, or gave it
// another value, with the value: see netecs.Changed.
func Changed[T any](c *ClientSystems) iter.Seq2[ecs.Entity, *T] {
	return netecs.Changed[T](c.Apply.apply)
}
