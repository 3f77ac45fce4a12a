package netcode_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/wire"
)

// The README's recipes are what follows between the marks, line by line.

type Position struct{ X, Y float32 }

type Hand struct{ Cards [4]uint8 }

// begin README
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

// end README

// begin README
func players(group *systems.ServerSystems, world *ecs.World, near *interest.Grid) {
	avatars := map[netcode.ClientID]ecs.Entity{}
	build := generic.NewMap3[components.Replicated, components.Owner, Position](world)
	group.Server.OnConnect(func(client netcode.ClientID) { // server.SetOwner(id, client) does without the component
		avatars[client] = build.NewWith(&components.Replicated{}, &components.Owner{Client: client}, &Position{})
	})
	group.OnSpawn(func(_ ecs.Entity, id netcode.NetworkID) { // it has its id, and nobody was sent any of it
		if owner := group.Server.Owner(id); owner != 0 {
			near.Follow(owner, id)
		}
	})
	group.Server.OnDisconnect(func(client netcode.ClientID, _ *netcode.CloseError) {
		if avatar := avatars[client]; world.Alive(avatar) {
			world.RemoveEntity(avatar)
		}
		delete(avatars, client)
	})
}

func camera(group *systems.ClientSystems, world *ecs.World, follow func(ecs.Entity)) {
	owners := generic.NewMap1[components.Owner](world) // registered with netcode.Replicate: the clients know whose is what
	group.OnSpawn(func(e ecs.Entity, _ netcode.NetworkID) {
		if owner := owners.Get(e); owner != nil && owner.Client == group.Client.ID() {
			follow(e)
		}
	})
}

// end README

// begin README
type CarriedBy struct{ ecs.Relation } // its target is part of its value

type Turret struct {
	Target ecs.Entity `net:"entity"` // on a client: the entity there, or zero if it sees none
}

type Look struct{ Skin, Hat uint8 }

type Ground struct{ Height [16]uint8 }

func replicate(protocol *netcode.Protocol) {
	netcode.Replicate[CarriedBy](protocol)
	netcode.Replicate[Turret](protocol, netcode.Every(3)) // at most every third tick
	netcode.Replicate[Look](protocol, netcode.Once())     // with its entity, and never again
	netcode.Replicate[Ground](protocol, netcode.Marked()) // when systems.Mark says that it was written
	netcode.Replicate[components.Kind](protocol)
}

func dig(group *systems.ServerSystems, world *ecs.World, tile ecs.Entity) {
	grounds := generic.NewMap1[Ground](world) // a system keeps it
	grounds.Get(tile).Height[3]--
	systems.Mark[Ground](group.Capture, tile)
}

func score(server *netcode.Server, look Look) (netcode.NetworkID, error) {
	board := server.Spawn() // an entity without a world, for who has none
	return board, netcode.Put(server, board, &look)
}

func trained(protocol *netcode.Protocol, text []byte) error { // on both sides; text from go:embed
	tables, err := wire.ParseTables(text)
	if err == nil {
		protocol.UseTables(tables)
	}
	return err
}

// end README

func TestReadmeRecipes(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[Position](p)
	netcode.Replicate[Hand](p)
	netcode.Replicate[components.Owner](p)
	replicate(p)
	text, err := os.ReadFile("wire/shipped.tables")
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
	stop, err := n.Server.Record(&recorded)
	require.NoError(t, err)
	w := &n.Server.World
	parts := []ecs.ID{
		ecs.ComponentID[netcode.Replicated](w), ecs.ComponentID[Position](w), ecs.ComponentID[Ground](w),
		ecs.ComponentID[components.Group](w), ecs.ComponentID[components.Kind](w),
	}
	tile := w.NewEntity(parts...)
	require.True(t, n.RunUntil(3*time.Second, func() bool { return len(followed) == 2 }))
	for i := range followed {
		owners := generic.NewMap1[components.Owner](&n.Clients[i].World)
		require.Equal(t, n.Clients[i].ID(), owners.Get(followed[i]).Client)
	}

	dig(n.Server.Systems, w, tile)
	id, _ := n.Server.Systems.ID(tile)
	grounds := generic.NewMap1[Ground](&n.Clients[0].World)
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

func TestReadmeShowsTheRecipes(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("readme_recipes_test.go")
	require.NoError(t, err)
	blocks := strings.Split(string(source), "// begin README\n")[1:]
	shown := 0
	for _, block := range blocks {
		if code, _, found := strings.Cut(block, "\n// end README\n"); found {
			require.True(t, strings.Contains(string(readme), "```go\n"+code+"```\n"), "the README lacks\n%s", code)
			shown++
		}
	}
	require.Equal(t, 3, shown)
}
