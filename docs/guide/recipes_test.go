package guide_test

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/interest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/systems"
)

// The guide's recipes are what follows between the marks, line by line.

type Position struct{ X, Y float32 }

type Hand struct{ Cards [4]uint8 }

// begin guide
func see(protocol *netcode.Protocol, server *netcode.Server) *interest.Grid {
	schema := protocol.Schema() // of what was registered by now; nothing more can be
	near := interest.NewGrid(interest.GridConfig{
		Position: interest.PositionOf(schema, func(p *Position) (x, y, z float32) { return p.X, p.Y, 0 }),
		Enter:    100, Leave: 120, // metres; what lies between stays as it was
	})
	own := interest.NewOwnerOnly(interest.OwnerConfig{})
	hands := interest.OwnerRows(interest.MaskOf[Hand](schema)) // a component for its owner's eyes only
	server.SetInterest(interest.New(interest.NewRows(interest.Any(near, own), hands), interest.Despawn))
	return near // near.Look(client, x, y, z), or near.Follow(client, avatar), is where a client stands
}

// end guide

// begin guide
func camera(group systems.PlayerView, world *ecs.World, follow func(ecs.Entity)) {
	owners := generic.NewMap1[components.Owner](world) // registered with netcode.Replicate: the clients know whose is what
	group.OnSpawn(func(e ecs.Entity, _ netcode.NetworkID) {
		if owner := owners.Get(e); owner != nil && owner.Client == group.Player().ID() {
			follow(e)
		}
	})
}

// end guide

// begin guide
func trained(protocol *netcode.Protocol, text []byte) error { // on both sides; text from go:embed
	tables, err := delta.ParseTables(text)
	if err == nil {
		protocol.UseTables(tables)
	}
	return err
}

// end guide

func TestGuideRecipes(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[Position](p)
	netcode.Replicate[Hand](p)
	netcode.Replicate[components.Owner](p)
	replicate(p)
	text, err := os.ReadFile("../../delta/shipped.tables")
	require.NoError(t, err)
	require.NoError(t, trained(p, text))
	require.Error(t, trained(p, text[1:]))

	followed := map[int]ecs.Entity{}
	var recorded bytes.Buffer
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 2,
		Setup: func(s *systems.ServerSystems, w *ecs.World) { players(s, w, see(p, s.Server)) },
		SetupClient: func(i int, c *systems.ClientSystems, w *ecs.World) {
			camera(c, w, func(e ecs.Entity) { followed[i] = e })
		},
	})
	stop, err := record.Start(n.Server.Server, &recorded)
	require.NoError(t, err)
	w := n.Server.World
	parts := []ecs.ID{
		ecs.ComponentID[components.Replicated](w), ecs.ComponentID[Position](w), ecs.ComponentID[Ground](w),
		ecs.ComponentID[components.Group](w), ecs.ComponentID[components.Kind](w),
	}
	tile := ecs.Spawn(w, nil, parts...)
	require.True(t, n.RunUntil(3*time.Second, func() bool { return len(followed) == 2 }))
	for i := range followed {
		owners := generic.NewMap1[components.Owner](n.Clients[i].World)
		require.Equal(t, n.Clients[i].ID(), owners.Get(followed[i]).Client)
	}

	dig(n.Server.Systems, w, tile)
	id, _ := n.Server.Systems.ID(tile)
	grounds := generic.NewMap1[Ground](n.Clients[0].World)
	heights := func() (h uint8) {
		if e, ok := n.Clients[0].Systems.Entity(id); ok {
			h = grounds.Get(e).Height[3]
		}
		return h
	}
	require.True(t, n.RunUntil(time.Second, func() bool { return heights() == 255 }), "it was marked")

	board, err := score(n.Server.Server, Look{Hat: 3})
	require.NoError(t, err)
	n.Run(time.Second)
	require.True(t, n.Server.Store().Alive(board))
	before := n.Server.Store().Len()
	n.Clients[1].Close()
	require.True(t, n.RunUntil(3*time.Second, func() bool { return n.Server.Store().Len() == before-1 }), "the avatar goes with its player")
	require.NoError(t, stop())
	require.Positive(t, recorded.Len())
}
