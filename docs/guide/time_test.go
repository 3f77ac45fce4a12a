package guide_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/interpolate"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/rewind"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// The code between the marks is that of time.md.

type Velocity struct{ X, Y float32 }

// begin guide
func smooth(protocol *netcode.Protocol) {
	netcode.Replicate[Position](protocol)
	interpolate.Register[Position](protocol) // on the client at least; nothing travels differently
}

func draw(world *ecs.World, at func(x, y float32)) { // each frame
	for query := generic.NewFilter1[components.Smooth[Position]]().Query(world); query.Next(); {
		shown := query.Get().Value // between what arrived; Position itself stays the newest that arrived
		at(shown.X, shown.Y)
	}
}

// end guide

func presentDelay(client *netcode.Client, duel bool) {
	if duel {
		client.SetPresentDelay(0, 50*time.Millisecond) // newer state, and what is missing is extrapolated
	} else {
		client.SetPresentDelay(150*time.Millisecond, time.Second) // older state, in which a burst of losses is not seen
	}
}

// The bounds hold from the next frames on: the delay slews to them.
func TestPresentDelay(t *testing.T) {
	for duel, within := range map[bool][2]time.Duration{true: {0, 50 * time.Millisecond}, false: {150 * time.Millisecond, time.Second}} {
		n := nettest.New(t, nettest.Config{
			Protocol: protocol(), Clients: 1, Link: transport.Link{Delay: 20 * time.Millisecond, Jitter: 5 * time.Millisecond},
			Game: func(w *ecs.World, frame int) {
				if frame == 1 {
					build := generic.NewMap2[components.Replicated, Position](w)
					build.New()
				}
				for query := generic.NewFilter1[Position]().Query(w); query.Next(); {
					query.Get().X++
				}
			},
		})
		presentDelay(n.Clients[0].Client, duel)
		n.Run(3 * time.Second)
		delay := n.Clients[0].PresentDelay().Duration(n.Clients[0].TickRate())
		require.GreaterOrEqual(t, delay, within[0]-5*time.Millisecond)
		require.LessOrEqual(t, delay, within[1]+5*time.Millisecond)
	}
}

// begin guide
type Control struct {
	MoveX int8 // state: it stays until it is set again
	Fire  bool `net:"event"`       // a press: in the input of exactly one tick
	Wheel int8 `net:"event=count"` // notches, added up until a tick takes them
}

func play(client *netcode.Client, move int8, firePressed bool, notches int8) error { // in every frame of the client
	return input.Set(client, &Control{MoveX: move, Fire: firePressed, Wheel: notches})
}

func walk(server *netcode.Server, players map[netcode.ClientID]*Position) { // in the server's game
	if !server.TickDue() {
		return // no network tick falls into this frame
	}
	step := float32(server.Interval().Seconds())
	for id := range server.Clients {
		if control, ok := input.Of[Control](server, id); ok && players[id] != nil {
			players[id].X += float32(control.MoveX) * 6 * step // 6 m/s
		}
	}
}

// end guide

// begin guide
func shoot(server *netcode.Server, shooter netcode.ClientID, own netcode.NetworkID, hits func(muzzle, body Position) bool) (hit netcode.NetworkID, ok bool) {
	rewind.At(server, shooter, func(past *rewind.View) { // the world as that player saw it
		muzzle, alive := rewind.Of[Position](past, own) // and itself in it
		for id := range past.All {
			body, there := rewind.Of[Position](past, id)
			if alive && there && id != own && hits(muzzle, body) {
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
	input.Register[Control](p)
	players := map[netcode.ClientID]*Position{}
	var target, body ecs.Entity
	var hit, own netcode.NetworkID
	shots, wheel := 0, 0
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1, Setup: func(s *systems.ServerSystems, w *ecs.World) {
		s.Server.OnConnect(func(id netcode.ClientID) { players[id] = &Position{} })
		build, at := generic.NewMap2[components.Replicated, Position](w), generic.NewMap1[Position](w)
		target, body = build.New(), build.New()
		s.Add(tick.Update, systems.Func(func(*ecs.World) {
			at.Get(target).X++
			walk(s.Server, players)
			control, ok := input.Of[Control](s.Server, 1)
			if wheel += int(control.Wheel); ok && control.Fire {
				shots++
				own, _ = s.ID(body)
				hit, _ = shoot(s.Server, 1, own, func(muzzle, p Position) bool { return p.X > muzzle.X+10 && p.X < at.Get(target).X })
			}
		}))
	}})
	require.True(t, n.RunUntil(3*time.Second, n.Connected))
	n.Run(time.Second)
	for frame := range 120 {
		require.NoError(t, play(n.Clients[0].Client, 1, frame%30 == 7, 1))
		n.Step()
	}
	n.Run(time.Second)
	require.InDelta(t, 3*6, players[1].X, 1, "the stick stays where it was left")
	require.Equal(t, 4, shots)
	require.Equal(t, 120, wheel, "one for each frame")
	id, ok := n.Server.Systems.ID(target)
	require.True(t, ok)
	require.Equal(t, id, hit, "it was seen where it had been")
	drawn := 0
	draw(n.Clients[0].World, func(x, _ float32) { drawn++; require.GreaterOrEqual(t, x, float32(0)) })
	require.Equal(t, 2, drawn)
	require.Positive(t, n.Clients[0].Present().Tick)
	value, ok := interpolate.Of[Position](n.Clients[0].Client, id)
	require.True(t, ok)
	require.Positive(t, value.X)
}

func TestGuideWaysOfInterpolation(t *testing.T) {
	protocol := netcode.NewProtocol()
	// begin guide
	interpolate.Register[Position](protocol, interpolate.WithVelocity[Velocity](), interpolate.Ahead(50*time.Millisecond))
	// end guide
	netcode.Replicate[Position](protocol)
	netcode.Replicate[Velocity](protocol)
	require.Len(t, interpolate.List(protocol), 1)
}
