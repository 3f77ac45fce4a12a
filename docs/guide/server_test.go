package guide_test

import (
	"log"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/interest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// The code between the marks, and in loop_test.go and state_test.go, is that of server.md.

// Movement is a system of the game.
type Movement struct{ frames int }

func (*Movement) Initialize(*ecs.World) {}
func (m *Movement) Update(*ecs.World)   { m.frames++ }
func (*Movement) Finalize(*ecs.World)   { log.SetFlags(log.Flags()) }

// begin guide
func run(server *netcode.Server, socket systems.Socket, world *ecs.World, game systems.System) {
	server.OnError(func(err error) { log.Print(err) })
	group := systems.NewServer(server, socket, systems.WallClock())
	group.Add(tick.Update, game) // a system of the game
	all := group.Systems()
	for _, s := range all {
		s.Initialize(world)
	}
	for !server.Closed() { // once a frame; server.Close(errs.ReasonShuttingDown) begins the end, and these frames tell the clients
		for _, s := range all {
			s.Update(world)
		}
		time.Sleep(time.Second / 60)
	}
	for _, s := range all {
		s.Finalize(world)
	}
}

// end guide

// begin guide
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

// end guide

func score(server *netcode.Server, look Look) (netcode.NetworkID, error) {
	board := server.Spawn() // an entity without a world, for who has none
	return board, netcode.Put(server, board, &look)
}

func patrol(server *netcode.Server) { // now and then
	for client := range server.Clients {
		if stats, ok := server.ClientStats(client); ok && stats.Loss > 0.5 {
			server.Kick(client, "your network loses half of all packets")
		}
	}
}

func TestGuideOwnLoop(t *testing.T) {
	p := netcode.NewProtocol()
	s, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	socket, err := memory.NewNetwork().Listen(transport.MustParseAddr("127.0.0.1:1"))
	require.NoError(t, err)
	world, game := ecs.New(), &Movement{}
	run(s, socket, world, systems.Func(func(w *ecs.World) {
		if game.Update(w); game.frames == 3 {
			s.Close(errs.ReasonShuttingDown)
		}
	}))
	require.GreaterOrEqual(t, game.frames, 3)
}

func TestGuideKicks(t *testing.T) {
	p := netcode.NewProtocol()
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1})
	require.True(t, n.RunUntil(3*time.Second, n.Connected))
	patrol(n.Server.Server)
	require.True(t, n.Connected())
	link := n.Clients[0]
	down, up := lossy(0.75), lossy(0.1)
	n.SetLinks(link, down, up)
	var reason *netcode.CloseError
	link.OnDisconnect(func(_ netcode.ClientID, r *netcode.CloseError) { reason = r })
	require.True(t, n.RunUntil(9*time.Second, func() bool { patrol(n.Server.Server); return reason != nil }))
	require.ErrorIs(t, reason, errs.ReasonKicked)
	require.ErrorContains(t, reason, "half of all packets")
}

func lossy(loss float64) transport.Link { return transport.Link{Loss: loss} }
