package guide_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/interest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/systems"
)

// The code between the marks, and in recipes_test.go, is that of interest.md.

// begin guide
func fog(server *netcode.Server, near interest.Policy) (revealed, allowed *interest.Explicit) {
	revealed, allowed = interest.NewExplicit(), interest.NewExplicit()
	// A client sees an entity that is near, or that revealed.Show(client, id) names; but only if allowed.Show names it too.
	server.SetInterest(interest.New(interest.Both(interest.Any(near, revealed), allowed), interest.Keep))
	return revealed, allowed
}

// end guide

// begin guide
const lobby, arena interest.Room = 1, 2 // rooms need no making

func divide(group *systems.ServerSystems) *interest.Rooms {
	rooms := interest.NewRooms()
	group.Server.SetInterest(interest.New(rooms, interest.Despawn))
	group.Server.OnConnect(func(client netcode.ClientID) { rooms.Enter(client, lobby) })
	group.OnSpawn(func(_ ecs.Entity, id netcode.NetworkID) { rooms.Add(id, arena) })
	return rooms // rooms.Exit(client, lobby) and rooms.Enter(client, arena), when a match begins
}

// end guide

// begin guide
// atNight shows what policy shows by day, and nothing in the dark: the game's own rule about an entity and a client.
func atNight(server *netcode.Server, policy interest.Policy, dark *bool) *interest.Interest {
	sight := interest.New(interest.NewRows(policy, func(*snapshot.Store, netcode.ClientID, netcode.NetworkID) snapshot.Mask {
		if *dark {
			return snapshot.Mask{} // no component: the entity is hidden
		}
		return snapshot.AllRows()
	}), interest.Despawn)
	server.SetInterest(sight)
	return sight // sight.RefreshAll() when it gets dark, or light
}

// end guide

// begin guide
func convoy(protocol *netcode.Protocol, server *netcode.Server) (near *interest.Grid, teams *interest.Teams, sight *interest.Interest) {
	schema := protocol.Schema()
	near = interest.NewGrid(interest.GridConfig{
		Position: interest.PositionOf(schema, func(p *Position) (x, y, z float32) { return p.X, p.Y, 0 }),
		Enter:    100,
	})
	own := interest.NewOwnerOnly(interest.OwnerConfig{})
	parts := interest.NewChildren(interest.Any(near, own), interest.ParentOf[CarriedBy](schema)) // a turret is visible with its tank
	teams = interest.NewTeams(parts)
	sight = interest.New(teams, interest.Despawn)
	server.SetInterest(sight)
	return near, teams, sight // teams.Join(client, 1) in OnConnect
}

// end guide

// convoyGame is a server with two tanks far from each other, each with a turret that has no position.
func convoyGame(t *testing.T, setup func(p *netcode.Protocol, s *systems.ServerSystems)) (n *nettest.Net, tanks [2]ecs.Entity) {
	p := netcode.NewProtocol()
	netcode.Replicate[Position](p)
	netcode.Replicate[CarriedBy](p)
	n = nettest.New(t, nettest.Config{Protocol: p, Clients: 2, Setup: func(s *systems.ServerSystems, _ *ecs.World) { setup(p, s) }})
	w := n.Server.World
	build, turrets := generic.NewMap2[components.Replicated, Position](w), generic.NewMap2[components.Replicated, CarriedBy](w, generic.T[CarriedBy]())
	for i := range tanks {
		tanks[i] = build.NewWith(&components.Replicated{}, &Position{X: float32(400 * i)})
		turrets.New(tanks[i])
	}
	return n, tanks
}

// A client sees a tank with its turret, and those of its team mates as soon as it has any, at once if the game wants it.
func TestGuidePartsAndTeams(t *testing.T) {
	var near *interest.Grid
	var teams *interest.Teams
	var sight *interest.Interest
	n, tanks := convoyGame(t, func(p *netcode.Protocol, s *systems.ServerSystems) {
		near, teams, sight = convoy(p, s.Server)
		s.Server.OnConnect(func(c netcode.ClientID) { near.Look(c, float32(400*(c-1)), 0, 0) })
	})
	sees := func(client int) (tanks, turrets int) {
		w := n.Clients[client-1].World
		for query := generic.NewFilter1[Position]().Query(w); query.Next(); {
			tanks++
		}
		for query := generic.NewFilter1[CarriedBy]().Query(w); query.Next(); {
			turrets++
		}
		return tanks, turrets
	}
	until := func(count int) {
		t.Helper()
		require.True(t, n.RunUntil(3*time.Second, func() bool {
			a, b := sees(1)
			c, d := sees(2)
			return a == count && b == count && c == count && d == count
		}))
	}
	until(1)
	teams.Join(1, 7)
	teams.Join(2, 7)
	far, ok := n.Server.Systems.ID(tanks[1])
	require.True(t, ok)
	require.False(t, n.Server.Server.Visible(1, far))
	require.True(t, sight.RefreshClient(1))
	require.True(t, n.Server.Server.Visible(1, far))
	until(2)
	n.AssertConverge()
	teams.Join(1, 0)
	sight.RefreshAll()
	require.False(t, n.Server.Server.Visible(1, far))
	until(1)
}

// sightGame is a server with some bodies, and a client that counts what it sees.
type sightGame struct {
	*nettest.Net
	server *systems.ServerSystems
}

func newSightGame(t *testing.T, bodies int, setup func(p *netcode.Protocol, s *systems.ServerSystems)) *sightGame {
	t.Helper()
	p := netcode.NewProtocol()
	netcode.Replicate[Position](p)
	netcode.Replicate[Hand](p)
	netcode.Replicate[components.Owner](p)
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1, Setup: func(s *systems.ServerSystems, _ *ecs.World) { setup(p, s) }})
	build := generic.NewMap2[components.Replicated, Position](n.Server.World)
	for i := range bodies {
		build.NewWith(&components.Replicated{}, &Position{X: float32(50 * i)})
	}
	return &sightGame{n, n.Server.Systems}
}

func (g *sightGame) sees() (count int) {
	for query := generic.NewFilter1[Position]().Query(g.Clients[0].World); query.Next(); {
		count++
	}
	return count
}

func (g *sightGame) until(t *testing.T, count int) {
	t.Helper()
	require.True(t, g.RunUntil(3*time.Second, func() bool { return g.sees() == count }), "%d, want %d", g.sees(), count)
}

func TestGuideInterestByHand(t *testing.T) {
	var revealed, allowed *interest.Explicit
	ids := []netcode.NetworkID{}
	g := newSightGame(t, 6, func(p *netcode.Protocol, s *systems.ServerSystems) {
		near := see(p, s.Server)
		revealed, allowed = fog(s.Server, near)
		s.OnSpawn(func(_ ecs.Entity, id netcode.NetworkID) { ids = append(ids, id) })
		s.Server.OnConnect(func(c netcode.ClientID) {
			near.Look(c, 0, 0, 0)
			for _, id := range ids {
				allowed.Show(c, id)
			}
		})
	})
	require.True(t, g.RunUntil(3*time.Second, g.Connected))
	for _, id := range ids {
		allowed.Show(1, id)
	}
	g.until(t, 3) // at 0, 50 and 100
	revealed.Show(1, ids[5])
	g.until(t, 4)
	allowed.Hide(1, ids[5])
	g.Run(time.Second)
	require.Equal(t, 4, g.sees(), "it is kept as it was")
	require.True(t, g.server.Server.Keeps(1, ids[5]))
}

func TestGuideRooms(t *testing.T) {
	var rooms *interest.Rooms
	g := newSightGame(t, 2, func(_ *netcode.Protocol, s *systems.ServerSystems) { rooms = divide(s) })
	require.True(t, g.RunUntil(3*time.Second, g.Connected))
	g.Run(time.Second)
	require.Zero(t, g.sees())
	rooms.Enter(1, arena)
	g.until(t, 2)
	rooms.Exit(1, arena)
	g.until(t, 0)
}

func TestGuideOwnPolicy(t *testing.T) {
	dark := true
	var sight *interest.Interest
	g := newSightGame(t, 2, func(_ *netcode.Protocol, s *systems.ServerSystems) { sight = atNight(s.Server, interest.All(), &dark) })
	require.True(t, g.RunUntil(3*time.Second, g.Connected))
	g.Run(time.Second)
	require.Zero(t, g.sees())
	dark = false
	sight.RefreshAll()
	g.until(t, 2)
	dark = true
	sight.RefreshAll()
	g.until(t, 0)
}

// A grid without a viewpoint shows nothing that has a position: what beginners forget.
func TestGuideGridWithoutAViewpoint(t *testing.T) {
	var near *interest.Grid
	g := newSightGame(t, 2, func(p *netcode.Protocol, s *systems.ServerSystems) { near = see(p, s.Server) })
	require.True(t, g.RunUntil(3*time.Second, g.Connected))
	g.Run(time.Second)
	require.Zero(t, g.sees())
	near.Look(1, 0, 0, 0)
	g.until(t, 2)
}
