package interpolate_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/alloctest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/interpolate"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
)

type position struct{ X, Y float32 }

type health struct{ Points int32 }

type chat struct{ Line uint16 }

func protocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[position](p)
	netcode.Replicate[health](p)
	return p
}

func TestInterpolateRefusesTypesWithoutABlend(t *testing.T) {
	type tag struct{}
	for want, register := range map[string]func(p *netcode.Protocol){
		"netcode: interpolate.Register[interpolate_test.chat]: the component is not registered with Replicate": func(p *netcode.Protocol) {
			interpolate.Register[chat](p)
		},
		"netcode: interpolate.Register[interpolate_test.tag]: nothing of the component travels": func(p *netcode.Protocol) {
			netcode.Replicate[tag](p)
			interpolate.Register[tag](p)
		},
		"netcode: interpolate.Register[interpolate_test.position]: called twice": func(p *netcode.Protocol) {
			interpolate.Register[position](p)
			interpolate.Register[position](p)
		},
		"netcode: interpolate.Register[interpolate_test.position]: one way of interpolation, not 2": func(p *netcode.Protocol) {
			interpolate.Register[position](p, interpolate.Stepped(), interpolate.Angles())
		},
		"netcode: interpolate.Register[interpolate_test.position]: By is given a function of interpolate_test.health": func(p *netcode.Protocol) {
			interpolate.Register[position](p, interpolate.By(func(a, b *health, _ float32) health { return *a }))
		},
		"netcode: interpolate.Register[interpolate_test.position]: the velocity interpolate_test.chat is not registered with Replicate": func(p *netcode.Protocol) {
			interpolate.Register[position](p, interpolate.WithVelocity[chat]())
		},
		"netcode: interpolate.Register[interpolate_test.position]: position has 2 numbers and health 0: each needs a velocity": func(p *netcode.Protocol) {
			interpolate.Register[position](p, interpolate.WithVelocity[health]())
		},
		"netcode: interpolate.Register[interpolate_test.position]: position.X: no quaternion: four float32 without a tag or with the tag quat": func(p *netcode.Protocol) {
			interpolate.Register[position](p, interpolate.Quaternions())
		},
		"netcode: interpolate.Ahead(-1ns): how far values go on is not negative": func(p *netcode.Protocol) {
			interpolate.Register[position](p, interpolate.Ahead(-1))
		},
	} {
		p := protocol()
		require.PanicsWithValue(t, want, func() { register(p); p.Hash() })
	}
	p := protocol()
	p.Hash()
	require.Panics(t, func() { interpolate.Register[position](p) }, "frozen")
}

// Interpolation is a setting of the client alone: both ends may differ.
func TestInterpolateDoesNotTravel(t *testing.T) {
	p := protocol()
	interpolate.Register[position](p, interpolate.Ahead(0))
	require.Equal(t, protocol().Hash(), p.Hash())
}

// At interpolates between the received values, in steps for a component without Register, and allocates nothing.
func TestAtIsBetweenReceivedValues(t *testing.T) {
	p := protocol()
	interpolate.Register[position](p)
	x := map[tick.Tick]float32{}
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1, Seed: 1, Setup: func(s *systems.ServerSystems, w *ecs.World) {
		body := generic.NewMap2[components.Replicated, position](w)
		e := body.New()
		s.Add(tick.Update, systems.Func(func(*ecs.World) {
			_, at := body.Get(e)
			at.X = float32(s.Server.Tick())
			x[s.Server.Tick()] = at.X
		}))
	}})
	n.Run(2 * time.Second)
	c := n.Clients[0].Client
	id := netcode.NetworkID{Index: 0, Generation: 1}
	at := c.Present()
	require.Positive(t, at.Tick)
	got, ok := interpolate.Of[position](c, id)
	require.True(t, ok)
	require.InDelta(t, float64(at.Tick)+tick.Span(at.Fraction).Float(), got.X, 1e-3)
	for back := range tick.Tick(40) {
		for _, fraction := range []uint32{0, 1 << 30, 3 << 30} {
			got, ok := interpolate.At[position](c, id, tick.Time{Tick: at.Tick - 1 - back, Fraction: fraction})
			require.True(t, ok)
			require.InDelta(t, float64(at.Tick-1-back)+tick.Span(fraction).Float(), got.X, 1e-3)
		}
	}
	_, ok = interpolate.Of[chat](c, id)
	require.False(t, ok, "no component")
	_, ok = interpolate.Of[health](c, id)
	require.False(t, ok, "the entity has none")
	_, ok = interpolate.Of[position](c, netcode.NetworkID{Index: 77, Generation: 1})
	require.False(t, ok, "nobody")
	_, ok = interpolate.At[position](c, id, tick.Time{Tick: 1})
	require.False(t, ok, "before it was")
	alloctest.Zero(t, 100, func() { _, _ = interpolate.Of[position](c, id) })

	idle, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	_, ok = interpolate.Of[position](idle, id)
	require.False(t, ok)
	require.Equal(t, reflect.TypeFor[components.Smooth[position]](), interpolate.List(p)[0].Twin)
}

// A client without a connection has no time.
func TestTimeBeforeTheFirstConnection(t *testing.T) {
	idle, err := netcode.NewClient(protocol(), netcode.Config{})
	require.NoError(t, err)
	require.Zero(t, idle.Present())
	require.Zero(t, idle.Time())
	require.Zero(t, idle.ServerTime())
	num, den := idle.Pace()
	require.Equal(t, num, den)
}

// panicText returns the text of f's panic.
func panicText(t *testing.T, f func()) (text string) {
	defer func() { text, _ = recover().(string) }()
	f()
	t.Error("no panic")
	return ""
}

// Register may precede the Replicate of its component: the freeze finds a missing component.
func TestInterpolateBeforeReplicate(t *testing.T) {
	p, other := netcode.NewProtocol(), protocol()
	interpolate.Register[position](p)
	netcode.Replicate[position](p)
	netcode.Replicate[health](p)
	interpolate.Register[position](other)
	require.Equal(t, other.Hash(), p.Hash())
	require.Len(t, interpolate.List(p), 1)
	missing := netcode.NewProtocol()
	interpolate.Register[position](missing)
	require.Equal(t, "netcode: interpolate.Register[interpolate_test.position]: the component is not registered with Replicate", panicText(t, func() { missing.Hash() }))
}
