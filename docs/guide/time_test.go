package guide_test

import (
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
)

// What time.md shows is what stands between the marks.

type Velocity struct{ X, Y float32 }

// begin guide
func smooth(protocol *netcode.Protocol) {
	netcode.Replicate[Position](protocol)
	netcode.Interpolate[Position](protocol) // on the client at least; nothing travels differently
}

func draw(world *ecs.World, at func(x, y float32)) { // each frame
	for query := generic.NewFilter1[components.Smooth[Position]]().Query(world); query.Next(); {
		shown := query.Get().Value // between what arrived; Position itself stays the newest that arrived
		at(shown.X, shown.Y)
	}
}

// end guide

// begin guide
type Control struct {
	MoveX int8
	Fire  bool
}

func press(client *netcode.Client) error {
	return netcode.SetInput(client, &Control{MoveX: 1, Fire: true}) // holds until it is set again
}

func walk(server *netcode.Server, players map[netcode.ClientID]*Position) { // in the server's game
	if !server.TickDue() {
		return // no network tick falls into this frame
	}
	for id := range server.Clients {
		if control, ok := netcode.InputOf[Control](server, id); ok && players[id] != nil {
			players[id].X += float32(control.MoveX)
		}
	}
}

// end guide

// begin guide
func shoot(server *netcode.Server, shooter netcode.ClientID, hits func(Position) bool) (hit netcode.NetworkID, ok bool) {
	server.Rewind(shooter, func(past *netcode.Past) { // the world as that player saw it
		for id := range past.All {
			if at, there := netcode.PastOf[Position](past, id); there && hits(at) {
				hit, ok = id, true
			}
		}
	})
	return hit, ok
}

// end guide

func TestGuideTime(t *testing.T) {
	p := netcode.NewProtocol()
	smooth(p)
	netcode.Input[Control](p)
	players := map[netcode.ClientID]*Position{}
	var target ecs.Entity
	var hit netcode.NetworkID
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1, Setup: func(s *systems.ServerSystems, w *ecs.World) {
		s.Server.OnConnect(func(id netcode.ClientID) { players[id] = &Position{} })
		build, at := generic.NewMap2[components.Replicated, Position](w), generic.NewMap1[Position](w)
		target = build.New()
		s.Add(netcode.StageUpdate, systems.Func(func(*ecs.World) {
			at.Get(target).X++
			walk(s.Server, players)
			if control, ok := netcode.InputOf[Control](s.Server, 1); ok && control.Fire {
				hit, _ = shoot(s.Server, 1, func(p Position) bool { return p.X > 10 && p.X < at.Get(target).X })
			}
		}))
	}})
	require.True(t, n.RunUntil(3*time.Second, n.Connected))
	require.NoError(t, press(n.Clients[0].Client))
	n.Run(2 * time.Second)
	require.Greater(t, players[1].X, float32(30))
	id, ok := n.Server.Systems.ID(target)
	require.True(t, ok)
	require.Equal(t, id, hit, "it was seen where it had been")
	drawn := 0
	draw(&n.Clients[0].World, func(x, _ float32) { drawn++; require.Positive(t, x) })
	require.Equal(t, 1, drawn)
	require.Positive(t, n.Clients[0].Present().Tick)
	value, ok := netcode.Interpolated[Position](n.Clients[0].Client, id)
	require.True(t, ok)
	require.Positive(t, value.X)
}

func TestGuideWaysOfInterpolation(t *testing.T) {
	protocol := netcode.NewProtocol()
	// begin guide
	netcode.Interpolate[Position](protocol, netcode.WithVelocity[Velocity](), netcode.Ahead(50*time.Millisecond))
	// end guide
	netcode.Replicate[Position](protocol)
	netcode.Replicate[Velocity](protocol)
	require.Len(t, protocol.Interpolations(), 1)
}
