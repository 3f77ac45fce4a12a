package guide_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
)

// The code between the marks is that of ownership.md.

type Steering struct{ X, Y float32 }

type Carried struct{ X, Y float32 }

// begin guide
func writers(protocol *netcode.Protocol) { // on both sides
	netcode.Replicate[Steering](protocol, authority.WrittenBy(authority.OwnerWrites)) // whom components.Owner names
	netcode.Replicate[Carried](protocol, authority.WrittenBy(authority.NamedWrites))  // whom authority.Grant names
}

// end guide

// begin guide
func steer(group *systems.ClientSystems, world *ecs.World, x float32) { // on the client
	writable := generic.NewFilter1[Steering]()
	for query := writable.Query(world); query.Next(); {
		if id, ok := group.ID(query.Entity()); ok && authority.MayWrite[Steering](group.Client, id) {
			query.Get().X = x // sent with the next tick
		}
	}
}

// end guide

// begin guide
func respawn(group *systems.ServerSystems, world *ecs.World, body ecs.Entity) { // on the server
	steering := generic.NewMap1[Steering](world)
	*steering.Get(body) = Steering{X: 0, Y: 0}
	if id, ok := group.ID(body); ok {
		authority.Correct(group.Server, id) // the client goes on from there
	}
}

// end guide

// begin guide
func lend(server *netcode.Server) { // on the server: whoever asks first has it
	authority.OnAsk(server, func(client netcode.ClientID, entity netcode.NetworkID) bool {
		return authority.Granted(server, entity) == 0
	})
}

func take(client *netcode.Client, box netcode.NetworkID) error { // on a client
	authority.OnChange(client, func(entity netcode.NetworkID, may bool, from netcode.Tick) {
		// from here on this client writes the box, or does not any more
	})
	return authority.Ask(client, box) // and authority.Release(client, box) gives it back
}

// end guide

func TestGuideOwnership(t *testing.T) {
	p := netcode.NewProtocol()
	writers(p)
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 2})
	lend(n.Server.Server)
	w := n.Server.World
	build := generic.NewMap4[components.Replicated, components.Owner, Steering, Carried](w)
	var own ecs.Entity
	n.Server.OnConnect(func(c netcode.ClientID) {
		if c == 1 {
			own = build.NewWith(&components.Replicated{}, &components.Owner{Client: c}, &Steering{}, &Carried{})
		}
	})
	require.True(t, n.RunUntil(3*time.Second, n.Connected))
	n.Run(time.Second)
	steering, carried := generic.NewMap1[Steering](w), generic.NewMap1[Carried](w)
	for i, c := range n.Clients {
		steer(c.Systems, c.World, float32(i+1))
	}
	require.True(t, n.RunUntil(time.Second, func() bool { return steering.Get(own).X == 1 }), "its owner's, and nobody else's")

	respawn(n.Server.Systems, w, own)
	n.Run(time.Second)
	require.Zero(t, steering.Get(own).X, "and the client has it too, or it would write 1 again")

	box, ok := n.Server.Systems.ID(own)
	require.True(t, ok)
	require.NoError(t, take(n.Clients[1].Client, box))
	require.True(t, n.RunUntil(time.Second, func() bool { return authority.MayWrite[Carried](n.Clients[1].Client, box) }))
	require.NoError(t, take(n.Clients[0].Client, box))
	n.Run(time.Second)
	require.EqualValues(t, n.Clients[1].ID(), authority.Granted(n.Server.Server, box), "who asked first")
	e, ok := n.Clients[1].Systems.Entity(box)
	require.True(t, ok)
	there := generic.NewMap1[Carried](n.Clients[1].World)
	there.Get(e).X = 9
	require.True(t, n.RunUntil(time.Second, func() bool { return carried.Get(own).X == 9 }))
}
