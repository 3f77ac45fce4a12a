package nettest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
)

// tows is a second relation beside rides.
type tows generic.Tie

// tiedNet is a server with entities that have relations, and one client.
type tiedNet struct {
	*nettest.Net
	t          *testing.T
	world      *ecs.World
	ride, tow  ecs.ID // at the server
	mark, body ecs.ID
}

func newTiedNet(t *testing.T) *tiedNet {
	p := netcode.NewProtocol()
	netcode.Replicate[spot](p)
	netcode.Replicate[rides](p)
	netcode.Replicate[tows](p)
	n := &tiedNet{t: t}
	n.Net = nettest.New(t, nettest.Config{
		Protocol: p, Clients: 1, Seed: 3, Link: badLink(),
		Setup: func(_ *systems.ServerSystems, w *ecs.World) {
			n.world, n.ride, n.tow = w, ecs.ComponentID[rides](w), ecs.ComponentID[tows](w)
			n.mark, n.body = ecs.ComponentID[components.Replicated](w), ecs.ComponentID[spot](w)
		},
	})
	return n
}

// born creates an entity with some relations.
func (n *tiedNet) born(relations ...ecs.ID) ecs.Entity {
	return ecs.Spawn(n.world, nil, append(relations, n.mark, n.body)...)
}

// twin returns the client's entity of one of the server.
func (n *tiedNet) twin(e ecs.Entity) (twin ecs.Entity) {
	if id, ok := n.Server.Systems.ID(e); ok {
		twin, _ = n.Clients[0].Systems.Entity(id)
	}
	return twin
}

// shows requires that the client's entity gets the server's target of a relation, or the target that is given.
func (n *tiedNet) shows(e, target ecs.Entity, relation ecs.ID) {
	n.t.Helper()
	at := ecs.ComponentID[rides](n.Clients[0].World)
	if relation == n.tow {
		at = ecs.ComponentID[tows](n.Clients[0].World)
	}
	require.True(n.t, n.RunUntil(10*time.Second, func() bool {
		here := n.twin(e)
		return !here.IsZero() && ecs.Has(n.Clients[0].World, here, at) && ecs.Target(n.Clients[0].World, here, at) == n.twin(target)
	}))
}

// One rides the other, which tows the first: relations of one component alone form cycles.
func TestRelationsOfTwoComponentsFormNoCycle(t *testing.T) {
	n := newTiedNet(t)
	sledge, dog := n.born(n.ride), n.born(n.tow)
	ecs.SetTarget(n.world, sledge, n.ride, dog)
	ecs.SetTarget(n.world, dog, n.tow, sledge)
	n.shows(sledge, dog, n.ride)
	n.shows(dog, sledge, n.tow)
}

// On Ark an entity has several relations: each has its own target, and that of an entity that dies becomes zero.
func TestSeveralRelationsOfAnEntity(t *testing.T) {
	if !ecs.SeveralRelations {
		t.Skip(ecs.Name + " has one relation an entity")
	}
	n := newTiedNet(t)
	a, b, c := n.born(), n.born(), n.born()
	e := n.born(n.ride, n.tow)
	ecs.SetTarget(n.world, e, n.ride, a)
	ecs.SetTarget(n.world, e, n.tow, b)
	n.shows(e, a, n.ride)
	n.shows(e, b, n.tow)
	n.world.RemoveEntity(a)
	require.Zero(t, ecs.Target(n.world, e, n.ride), "Ark's way with the dead")
	n.shows(e, ecs.Entity{}, n.ride)
	n.shows(e, b, n.tow)
	ecs.SetTarget(n.world, e, n.ride, b)
	ecs.SetTarget(n.world, e, n.tow, c)
	n.shows(e, b, n.ride)
	n.shows(e, c, n.tow)

	ecs.Exchange(n.world, e, nil, []ecs.ID{n.tow}, nil)
	require.True(t, n.RunUntil(10*time.Second, func() bool {
		return !ecs.Has(n.Clients[0].World, n.twin(e), ecs.ComponentID[tows](n.Clients[0].World))
	}))
	n.shows(e, b, n.ride)
	ecs.Exchange(n.world, e, []ecs.ID{n.tow}, nil, nil)
	ecs.SetTarget(n.world, e, n.tow, b)
	n.shows(e, b, n.tow)

	d := n.born(n.tow) // b tows d, which tows e, which tows b: a cycle of one component, beside a ride on b
	ecs.Exchange(n.world, b, []ecs.ID{n.tow}, nil, nil)
	ecs.SetTarget(n.world, b, n.tow, d)
	ecs.SetTarget(n.world, d, n.tow, e)
	for _, on := range []ecs.Entity{b, d, e} {
		n.shows(on, ecs.Entity{}, n.tow)
	}
	n.shows(e, b, n.ride)
}
