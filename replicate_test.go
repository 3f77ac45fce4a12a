package netcode_test

import (
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/snapshot"
)

type slowly struct{ N uint8 }
type atBirth struct{ N uint8 }
type eachTick struct{ N uint8 }

// The options of components reach the schema by the component, whatever order it puts them in.
func TestEveryAndOnce(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[slowly](p, netcode.Every(7), netcode.Named("Z"))
	netcode.Replicate[eachTick](p, netcode.Named("M"), netcode.Marked())
	netcode.Replicate[atBirth](p, netcode.Once(), netcode.Named("A"))
	require.Equal(t, snapshot.RowOptions{Once: true}, p.Schema().Options(0))
	require.Equal(t, snapshot.RowOptions{Marked: true}, p.Schema().Options(1))
	require.Equal(t, snapshot.RowOptions{Every: 7}, p.Schema().Options(2))

	plain := netcode.NewProtocol()
	netcode.Replicate[slowly](plain, netcode.Named("Z"))
	netcode.Replicate[eachTick](plain, netcode.Named("M"))
	netcode.Replicate[atBirth](plain, netcode.Named("A"))
	require.Equal(t, plain.Hash(), p.Hash(), "what only the server does is no part of the protocol")

	for _, options := range [][]netcode.Option{{netcode.Once(), netcode.Every(30)}, {netcode.Every(30), netcode.Marked(), netcode.Once()}} {
		require.PanicsWithValue(t,
			"netcode: Replicate[netcode_test.atBirth]: Once and Every(30) contradict each other: what travels once has no next turn",
			func() { netcode.Replicate[atBirth](netcode.NewProtocol(), options...) })
	}
	require.NotPanics(t, func() { netcode.Replicate[atBirth](netcode.NewProtocol(), netcode.Every(65535)) })
	for _, ticks := range []int{0, -1, 65536} {
		require.Panics(t, func() { netcode.Every(ticks) })
	}
	require.PanicsWithValue(t,
		"netcode: Handle[netcode_test.slowly]: Every, Once, Marked and Importance are for components: a message travels when it is sent",
		func() { netcode.Handle[slowly](netcode.NewProtocol(), nil, netcode.Once()) })
}

// A message has no bridge that could translate handles; it names entities by their network ids.
func TestMessagesNameEntitiesByNetworkID(t *testing.T) {
	type aim struct {
		At ecs.Entity `net:"entity"`
	}
	require.PanicsWithValue(t,
		`netcode: Handle[netcode_test.aim]: wire: aim.At: entity handles are local to a world, also with the tag net:"entity": `+
			`a message, an input or a collection names an entity by a field of type NetworkID with that tag`,
		func() { netcode.Handle[aim](netcode.NewProtocol(), nil) })
	require.Panics(t, func() { netcode.Handle[follows](netcode.NewProtocol(), nil) })
	type aimed struct {
		At   netcode.NetworkID `net:"entity"`
		From netcode.NetworkID `net:"entity"`
	}
	netcode.Handle[aimed](netcode.NewProtocol(), nil)
}
