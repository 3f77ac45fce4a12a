package systems

import (
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/interpolate"
	"github.com/arche-netcode/netcode/tick"
)

// ClientSystems has the systems of one client, for one world and one socket.
type ClientSystems struct {
	stages
	playerHooks
	Client  *netcode.Client // The client that the systems run.
	Receive *Receive        // The first system of a frame.
	Apply   *Apply          // Before the messages of EarlyUpdate.
	Send    *Send           // The last system of a frame.
	// Interpolate is nil for a protocol without interpolated components. Set it to nil before the first frame for a
	// client that draws nothing: then entities are removed on arrival, and there is no components.Smooth.
	Interpolate *Interpolate
	Gather      *Gather // Nil for a protocol without components that clients write.
}

// NewClient makes the systems of a client. now returns the time since any fixed moment: WallClock() in a game, a virtual
// clock in a test. It panics on a nil argument, and on a client that another group runs.
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
	if _, ok := extend.ExtensionOf[authority.ClientState](client); ok {
		c.Gather = &Gather{Client: client, Apply: c.Apply}
	}
	c.playerHooks = playerHooks{client: client, id: c.ID, kind: c.Apply.kind, smooth: func() *Interpolate { return c.Interpolate }}
	c.Apply.Hooks.Spawned, c.Apply.Hooks.Despawned = c.tellSpawned, c.tellDespawned
	return c
}

// Systems implements Group. It lists a client's frame: see the package comment.
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

// Entity returns the entity of a network id, if the server shows it now.
func (c *ClientSystems) Entity(id netcode.NetworkID) (netecs.Entity, bool) { return c.Apply.Entity(id) }

// ID returns the network id of an entity that the server shows.
func (c *ClientSystems) ID(e netecs.Entity) (netcode.NetworkID, bool) { return c.Apply.ID(e) }

// Pace implements Paced. The loop adjusts its speed so that its frames begin with the ticks of the client's inputs.
func (c *ClientSystems) Pace() (num, den int64) { return c.Client.Pace() }

// Close implements Group. It tells the server that this client leaves.
func (c *ClientSystems) Close() { c.Client.Close() }

// Closed implements Group.
func (c *ClientSystems) Closed() bool { return c.Client.Closed() }

// Changes yields the entities that the last effective update has changed: see netecs.Apply.Changes. Applied reports
// whether that update was in this frame. Changes allocates nothing.
func (c *ClientSystems) Changes(yield func(netecs.Change) bool) { c.Apply.Changes(yield) }

// Applied reports whether this frame's update applied something. Otherwise Changes yields the changes of an earlier
// frame.
func (c *ClientSystems) Applied() bool { return c.Apply.Applied() }

// Sees reports whether the server shows an entity of this world now.
func (c *ClientSystems) Sees(e netecs.Entity) bool {
	_, ok := c.ID(e)
	return ok
}

// Player returns the client.
func (c *ClientSystems) Player() *netcode.Client { return c.Client }
