package systems_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/alloctest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// A component with netcode.Marked is sent with its entity, then only after a mark.
func TestMarkedComponent(t *testing.T) {
	type ground struct{ Height int32 }
	e, p := newEnds(), netcode.NewProtocol()
	netcode.Replicate[ground](p, netcode.Marked())
	server, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	group := systems.NewServer(server, e.listen(t, serverAddress), e.clock)
	systems.Mark[ground](group.Tick, ecs.Entity{}) // Before the first frame it does nothing.
	client, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	require.NoError(t, client.Connect(serverAddress))
	clients := systems.NewClient(client, e.listen(t, transport.Addr{}), e.clock)
	e.run(e.world(), group)
	e.run(e.world(), clients)
	tiles := generic.NewMap2[components.Replicated, ground](e.worlds[0])
	tile := tiles.NewWith(&components.Replicated{}, &ground{Height: 1})
	grounds, copies := generic.NewMap1[ground](e.worlds[0]), generic.NewMap1[ground](e.worlds[1])
	seen := func() int32 {
		id, _ := group.ID(tile)
		if at, ok := clients.Entity(id); ok {
			return copies.Get(at).Height
		}
		return 0
	}
	e.until(t, func() bool { return seen() == 1 })
	grounds.Get(tile).Height = 2
	for range 60 {
		e.step()
	}
	require.EqualValues(t, 1, seen(), "nobody marked it")
	systems.Mark[ground](group.Tick, tile)
	systems.Mark[position](group.Tick, tile) // It is not registered.
	e.until(t, func() bool { return seen() == 2 })
	alloctest.Zero(t, 100, func() { systems.Mark[ground](group.Tick, tile) })
}
