package netcode_test

import (
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/input"
)

// panicText is the text that f panics with.
func panicText(t *testing.T, f func()) string {
	t.Helper()
	var text string
	func() {
		defer func() { text, _ = recover().(string) }()
		f()
	}()
	require.NotEmpty(t, text)
	return text
}

// With or without the tag, the error of an ecs.Entity in a message says how a message names an entity, and does not send the user to
// the other form.
func TestErrorsOfEntitiesInMessagesSayNetworkID(t *testing.T) {
	type bare struct{ At ecs.Entity }
	type tagged struct {
		At ecs.Entity `net:"entity"`
	}
	const advice = "a message, an input or a collection names an entity by a field of type NetworkID with that tag"
	for _, f := range []func(){
		func() { netcode.Handle[bare](netcode.NewProtocol(), nil) },
		func() { netcode.Handle[tagged](netcode.NewProtocol(), nil) },
		func() { input.Register[tagged](netcode.NewProtocol()) },
		func() { collections.NewList[tagged](netcode.NewProtocol(), "l") },
		func() { collections.NewMap[uint8, tagged](netcode.NewProtocol(), "m") },
		func() { collections.NewMap[tagged, uint8](netcode.NewProtocol(), "m") },
	} {
		text := panicText(t, f)
		require.Contains(t, text, advice)
		require.Contains(t, text, ".At: ")
	}
	require.NotPanics(t, func() { netcode.Replicate[tagged](netcode.NewProtocol()) })
}

// A rotation of another number of floats: the error names the type that a rotation has.
func TestErrorsOfRotationsSayFourFloats(t *testing.T) {
	type three struct {
		Rot [3]float32 `net:"quat,bits=9"`
	}
	type wide struct {
		Rot [4]float64 `net:"quat,bits=9"`
	}
	type one struct {
		Rot float32 `net:"quat,bits=9"`
	}
	type several struct {
		Rots [2][3][4]float32 `net:"quat,bits=9"`
	}
	require.Equal(t, `netcode: Replicate[netcode_test.three]: wire: three.Rot: the tag net:"quat,bits=9" does not go with [3]float32: a rotation is [4]float32 or a struct of four float32, x, y, z, w`,
		panicText(t, func() { netcode.Replicate[three](netcode.NewProtocol()) }))
	require.Contains(t, panicText(t, func() { netcode.Replicate[wide](netcode.NewProtocol()) }), "a rotation is [4]float32")
	require.Contains(t, panicText(t, func() { netcode.Handle[one](netcode.NewProtocol(), nil) }), "a rotation is [4]float32")
	require.NotPanics(t, func() { netcode.Replicate[several](netcode.NewProtocol()) })
}
