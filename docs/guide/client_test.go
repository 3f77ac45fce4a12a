package guide_test

import (
	"errors"
	"fmt"
	"log"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/errs"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/loading"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/udp"
)

// The code between the marks, in recipes_test.go and in state_test.go, is that of client.md.

func scoreboard(server *netcode.Server) (lines []string) {
	for id := range server.Clients {
		if stats, ok := server.ClientStats(id); ok {
			lines = append(lines, fmt.Sprintf("player %d: %d ms", id, stats.Ping.Milliseconds()))
		}
	}
	return lines
}

func sparks(group systems.PlayerView, play func(e ecs.Entity)) {
	group.OnPresented(func(e ecs.Entity, _ netcode.NetworkID) { play(e) }) // the entity is drawn from this frame on
}

// The way is 40 ms each, and the 16 ms after which the server of nettest takes what clients send onto their links. Frames do not count.
func TestScoreboard(t *testing.T) {
	n := nettest.New(t, nettest.Config{Protocol: netcode.NewProtocol(), Clients: 2, Link: transport.Link{Delay: 40 * time.Millisecond}})
	n.Run(2 * time.Second)
	require.Equal(t, []string{"player 1: 80 ms", "player 2: 80 ms"}, scoreboard(n.Server.Server))
}

func addressOf(server string) (transport.Addr, error) { // "game.example:9000" too
	return udp.Resolve(server) // it may wait for the answer about a name
}

// begin guide
func follow(client *netcode.Client, menu func(text string)) {
	client.OnConnect(func(self netcode.ClientID) { log.Print("this is client ", self) })
	client.OnDisconnect(func(_ netcode.ClientID, reason *netcode.CloseError) {
		switch {
		case errors.Is(reason, errs.ReasonClosed): // by client.Close
		case errors.Is(reason, errs.ReasonFull):
			menu("all places are taken")
		case errors.Is(reason, errs.ReasonWrongProtocol):
			menu("another version of the game: " + reason.Error()) // names the first type that differs
		default:
			menu("the connection ended: " + reason.Error()) // client.Connect, again, begins anew
		}
	})
	client.OnError(func(err error) { log.Print(err) })
}

// end guide

// begin guide
const kindTree = 7 // the game's own number

type Sprite struct{ Name string } // local to the client, so it may hold anything

func dress(group systems.PlayerView, world *ecs.World) { // a client's systems, or HostSystems.View
	sprites := generic.NewMap1[Sprite](world)
	group.OnSpawn(func(e ecs.Entity, id netcode.NetworkID) { // all values are there, and the world is unlocked
		sprites.Assign(e, &Sprite{Name: "crate"})
	})
	group.OnSpawnKind(kindTree, func(e ecs.Entity, id netcode.NetworkID) { // after those of OnSpawn
		sprites.Get(e).Name = "tree"
	})
	group.OnDespawn(func(e ecs.Entity, id netcode.NetworkID) { // just before it is removed
		if world.Alive(e) { // at a host the game has removed it already, or it is only out of sight
			log.Print("free the resources of ", sprites.Get(e).Name)
			sprites.Remove(e)
		}
	})
}

// end guide

// begin guide
type Mesh struct{ File string } // local: the level's file has it

func level(world *ecs.World, files []string) { // on the client before Connect; the server adds Replicated, Position and the like to the same numbers
	build := generic.NewMap2[components.SceneID, Mesh](world)
	for i, file := range files {
		build.NewWith(&components.SceneID{ID: uint32(i + 1)}, &Mesh{File: file})
	}
}

// end guide

// begin guide
func host(server *netcode.Server, player *netcode.Client, socket systems.Socket, world *ecs.World) (*systems.Runner, error) {
	group, err := systems.NewHost(server, player, socket, systems.WallClock())
	if err != nil {
		return nil, err // says why: player is connected elsewhere, or was not made with the same *netcode.Protocol
	}
	return systems.NewRunner(world, group, 60), nil
}

// end guide

func hidden(view systems.PlayerView, world *ecs.World) (count int) {
	for query := generic.NewFilter1[Position]().Query(world); query.Next(); {
		if !view.Sees(query.Entity()) {
			count++ // at a host: what interest hides from its player
		}
	}
	return count
}

// begin guide
func single(server *netcode.Server, player *netcode.Client) (*systems.HostSystems, error) {
	return systems.NewHost(server, player, systems.Offline{}, systems.WallClock())
}

func invite(group *systems.HostSystems, socket systems.Socket) error { // from a menu, in the loop
	return group.Attach(socket) // clients can connect from the next frame on; the group closes the socket
}

func alone(group *systems.HostSystems) {
	group.Detach() // clients are told, with errs.ReasonShuttingDown; then the socket is closed. The game goes on
}

// end guide

func TestGuideClient(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[Position](p)
	netcode.Replicate[components.Kind](p)
	var told string
	gone := 0
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1, SetupClient: func(_ int, c *systems.ClientSystems, w *ecs.World) {
		dress(c, w)
		follow(c.Client, func(text string) { told = text })
		c.OnDespawn(func(ecs.Entity, netcode.NetworkID) { gone++ })
	}})
	w := n.Server.World
	crates, trees := generic.NewMap2[components.Replicated, Position](w), generic.NewMap3[components.Replicated, Position, components.Kind](w)
	crates.New()
	tree := trees.NewWith(&components.Replicated{}, &Position{}, &components.Kind{ID: kindTree})
	names := func() map[string]int {
		found := map[string]int{}
		for query := generic.NewFilter1[Sprite]().Query(n.Clients[0].World); query.Next(); {
			found[query.Get().Name]++
		}
		return found
	}
	require.True(t, n.RunUntil(3*time.Second, func() bool { found := names(); return found["crate"] == 1 && found["tree"] == 1 }))
	w.RemoveEntity(tree)
	require.True(t, n.RunUntil(3*time.Second, func() bool { found := names(); return found["crate"] == 1 && found["tree"] == 0 }))
	require.Empty(t, told)
	n.Server.Kick(n.Clients[0].ID(), "be nice")
	require.True(t, n.RunUntil(3*time.Second, func() bool { return told != "" }))
	require.Contains(t, told, "be nice")
	require.Len(t, names(), 1, "what is there stays until it connects again")
	require.Equal(t, 1, gone, "the tree")
	require.NoError(t, n.Clients[0].Connect(n.Address()))
	require.True(t, n.RunUntil(3*time.Second, func() bool { return gone == 2 && names()["crate"] == 1 }), "the crate went and came again")
}

func TestGuideAddresses(t *testing.T) {
	at, err := addressOf("127.0.0.1:9000")
	require.NoError(t, err)
	require.Equal(t, transport.MustParseAddr("127.0.0.1:9000"), at)
	_, err = addressOf("nowhere")
	require.Error(t, err)
}

func TestGuideHost(t *testing.T) {
	p := netcode.NewProtocol()
	s, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	c, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	other, err := netcode.NewClient(netcode.NewProtocol(), netcode.Config{})
	require.NoError(t, err)
	world := ecs.New()
	_, err = host(s, other, silence{}, world)
	require.ErrorIs(t, err, errs.ErrHost)
	loop, err := host(s, c, silence{}, world)
	require.NoError(t, err)
	loop.Step()
	require.Equal(t, netcode.Connected, c.State())
	require.EqualValues(t, 1, c.ID())
}

// silence is a socket on which nobody calls.
type silence struct{}

func (silence) Send(transport.Addr, []byte) error           { return nil }
func (silence) Receive([]byte) (int, transport.Addr, error) { return 0, transport.Addr{}, nil }

// begin guide
func loadingBar(p *netcode.Protocol) { loading.Register(p) } // on both sides

func showBar(client *netcode.Client, begin func()) (part func() float64) {
	l := loading.Of(client)
	l.OnHere(begin) // once in each connection; the world has all of it
	return l.Part   // 0 to 1, rising
}

// end guide

func TestGuideLoadingBar(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[Position](p)
	loadingBar(p)
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1, Server: netcode.Config{SendBudget: 20 << 10}})
	build := generic.NewMap2[components.Replicated, Position](n.Server.World)
	for i := range 3000 {
		build.NewWith(&components.Replicated{}, &Position{X: float32(i * i % 1013), Y: float32(i % 331)})
	}
	begun, between := false, false
	part := showBar(n.Clients[0].Client, func() { begun = true })
	require.True(t, n.RunUntil(20*time.Second, func() bool {
		between = between || part() > 0.2 && part() < 0.9
		return begun
	}))
	require.True(t, between)
	require.InDelta(t, 1, part(), 0)
}
