package netcode_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

func TestInterpolateRefusesWhatCannotBeShown(t *testing.T) {
	type tag struct{}
	for want, register := range map[string]func(p *netcode.Protocol){
		"netcode: Interpolate[netcode_test.chat]: the component is not registered with Replicate": func(p *netcode.Protocol) {
			netcode.Interpolate[chat](p)
		},
		"netcode: Interpolate[netcode_test.tag]: nothing of the component travels": func(p *netcode.Protocol) {
			netcode.Replicate[tag](p)
			netcode.Interpolate[tag](p)
		},
		"netcode: Interpolate[netcode_test.position]: called twice": func(p *netcode.Protocol) {
			netcode.Interpolate[position](p)
			netcode.Interpolate[position](p)
		},
		"netcode: Interpolate[netcode_test.position]: one way of interpolation, not 2": func(p *netcode.Protocol) {
			netcode.Interpolate[position](p, netcode.Stepped(), netcode.Angles())
		},
		"netcode: Interpolate[netcode_test.position]: By is given a function of netcode_test.health": func(p *netcode.Protocol) {
			netcode.Interpolate[position](p, netcode.By(func(a, b *health, _ float32) health { return *a }))
		},
		"netcode: Interpolate[netcode_test.position]: the velocity netcode_test.chat is not registered with Replicate": func(p *netcode.Protocol) {
			netcode.Interpolate[position](p, netcode.WithVelocity[chat]())
		},
		"netcode: Interpolate[netcode_test.position]: position has 2 numbers and health 0: each needs a velocity": func(p *netcode.Protocol) {
			netcode.Interpolate[position](p, netcode.WithVelocity[health]())
		},
		"netcode: Interpolate[netcode_test.position]: position.X: no quaternion: four float32 without a tag or with the tag quat": func(p *netcode.Protocol) {
			netcode.Interpolate[position](p, netcode.Quaternions())
		},
		"netcode: Ahead(-1ns): how far values go on is not negative": func(p *netcode.Protocol) {
			netcode.Interpolate[position](p, netcode.Ahead(-1))
		},
	} {
		p := protocol()
		require.PanicsWithValue(t, want, func() { register(p); p.Hash() })
	}
	p := protocol()
	p.Hash()
	require.Panics(t, func() { netcode.Interpolate[position](p) }, "frozen")
}

// How a component is shown is the client's affair: the two ends may differ in it.
func TestInterpolateDoesNotTravel(t *testing.T) {
	p := protocol()
	netcode.Interpolate[position](p, netcode.Ahead(0))
	require.Equal(t, protocol().Hash(), p.Hash())
}

// What InterpolatedAt gives lies between what arrived, is in steps for what was not given to Interpolate, and costs nothing.
func TestInterpolatedAt(t *testing.T) {
	p := protocol()
	netcode.Interpolate[position](p)
	r := newRig(t, p, netcode.Config{})
	c := r.joined(p, netcode.Config{})
	id := r.spawn(0)
	x := map[tick.Tick]float32{}
	r.server.game = func(store *snapshot.Store) {
		x[r.server.Tick()] = float32(r.server.Tick())
		r.set(store, id, float32(r.server.Tick()))
	}
	r.run(2 * time.Second)
	at := c.Present()
	require.Positive(t, at.Tick)
	got, ok := netcode.Interpolated[position](c.Client, id)
	require.True(t, ok)
	require.InDelta(t, float64(at.Tick)+tick.Span(at.Fraction).Float(), got.X, 1e-3)
	for back := range tick.Tick(40) {
		for _, fraction := range []uint32{0, 1 << 30, 3 << 30} {
			got, ok := netcode.InterpolatedAt[position](c.Client, id, tick.Time{Tick: at.Tick - 1 - back, Fraction: fraction})
			require.True(t, ok)
			require.InDelta(t, float64(at.Tick-1-back)+tick.Span(fraction).Float(), got.X, 1e-3)
		}
	}
	_, ok = netcode.Interpolated[chat](c.Client, id)
	require.False(t, ok, "no component")
	_, ok = netcode.Interpolated[health](c.Client, id)
	require.False(t, ok, "the entity has none")
	_, ok = netcode.Interpolated[position](c.Client, netcode.NetworkID{Index: 77, Generation: 1})
	require.False(t, ok, "nobody")
	_, ok = netcode.InterpolatedAt[position](c.Client, id, tick.Time{Tick: 1})
	require.False(t, ok, "before it was")
	alloctest.Zero(t, 100, func() { _, _ = netcode.Interpolated[position](c.Client, id) })

	idle, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	_, ok = netcode.Interpolated[position](idle, id)
	require.False(t, ok)
	require.Zero(t, idle.Present())
	require.Zero(t, idle.Time())
	require.Zero(t, idle.ServerTime())
	num, den := idle.Pace()
	require.Equal(t, num, den)
	require.Equal(t, reflectName[components.Smooth[position]](), p.Interpolations()[0].Twin.Name())
}

func reflectName[T any]() string { return reflect.TypeFor[T]().Name() }

// Interpolate may come before the Replicate of its component: what is missing is found when the protocol freezes.
func TestInterpolateBeforeReplicate(t *testing.T) {
	p, other := netcode.NewProtocol(), protocol()
	netcode.Interpolate[position](p)
	netcode.Replicate[position](p)
	netcode.Replicate[health](p)
	netcode.Interpolate[position](other)
	require.Equal(t, other.Hash(), p.Hash())
	require.Len(t, p.Interpolations(), 1)
	missing := netcode.NewProtocol()
	netcode.Interpolate[position](missing)
	require.Equal(t, "netcode: Interpolate[netcode_test.position]: the component is not registered with Replicate", panicText(t, func() { missing.Hash() }))
}
