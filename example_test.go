//go:build !netcode_ark

package netcode_test

import (
	"context"
	"fmt"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// Place is a position, for the examples.
type Place struct{ X, Y float32 }

// exampleGame is a server and a client in one process. It uses a memory network and a manual clock, so that the examples
// always print the same. A game uses a socket of transport/udp and the clock systems.WallClock.
type exampleGame struct {
	server      *systems.ServerSystems
	client      *systems.ClientSystems
	serverWorld ecs.World
	clientWorld ecs.World
	loops       []*systems.Runner
	now         time.Duration
}

func newExampleGame(protocol *netcode.Protocol) *exampleGame {
	g := &exampleGame{serverWorld: ecs.NewWorld(), clientWorld: ecs.NewWorld()}
	clock := func() time.Duration { return g.now }
	network := memory.NewNetwork()
	here, _ := network.Listen(transport.MustParseAddr("127.0.0.1:9000"))
	there, _ := network.Listen(transport.Addr{})
	server, _ := netcode.NewServer(protocol, netcode.Config{})
	client, _ := netcode.NewClient(protocol, netcode.Config{})
	g.server, g.client = systems.NewServer(server, here, clock), systems.NewClient(client, there, clock)
	g.loops = []*systems.Runner{systems.NewRunner(&g.serverWorld, g.server, 30), systems.NewRunner(&g.clientWorld, g.client, 30)}
	_ = client.Connect(here.LocalAddr())
	return g
}

// run runs the game for some seconds.
func (g *exampleGame) run(seconds int) {
	for range 30 * seconds {
		for _, l := range g.loops {
			l.Step()
		}
		g.now += time.Second / 30
	}
}

// A server, its systems, and a loop that runs until it is told to end. What changes in its world is sent to whoever is connected.
func ExampleServer() {
	protocol := netcode.NewProtocol()
	netcode.Replicate[Place](protocol)
	server, err := netcode.NewServer(protocol, netcode.Config{Clients: 16, TickRate: 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	server.OnConnect(func(client netcode.ClientID) { fmt.Println("client", client, "has come") })
	server.OnError(func(err error) { fmt.Println(err) })

	world := ecs.NewWorld()
	socket, err := memory.NewNetwork().Listen(transport.MustParseAddr("127.0.0.1:9000")) // udp.Listen(":9000", udp.Config{}) in a game
	if err != nil {
		fmt.Println(err)
		return
	}
	group := systems.NewServer(server, socket, systems.WallClock())
	group.Add(tick.Update, systems.Func(func(*ecs.World) { /* the game */ }))

	ctx, stop := context.WithCancel(context.Background()) // systems.Interrupt(context.Background()) in a game
	stop()
	fmt.Println("ended:", systems.NewRunner(&world, group, 60).Run(ctx), server.Closed())
	// Output: ended: <nil> true
}

// A client has a world of its own, in which entities appear as the server shows them. OnSpawn adds what is local.
func ExampleClient() {
	type Sprite struct{ Name string }
	protocol := netcode.NewProtocol()
	netcode.Replicate[Place](protocol)
	g := newExampleGame(protocol)

	client := g.client.Client
	client.OnConnect(func(self netcode.ClientID) { fmt.Println("this is client", self) })
	client.OnDisconnect(func(_ netcode.ClientID, reason *netcode.CloseError) { fmt.Println("over:", reason) })
	sprites := generic.NewMap1[Sprite](&g.clientWorld)
	g.client.OnSpawn(func(e ecs.Entity, _ netcode.NetworkID) { sprites.Assign(e, &Sprite{"crate"}) })

	crates := generic.NewMap2[components.Replicated, Place](&g.serverWorld)
	crates.NewWith(&components.Replicated{}, &Place{X: 3, Y: 4})
	g.run(1)
	for query := generic.NewFilter2[Place, Sprite]().Query(&g.clientWorld); query.Next(); {
		place, sprite := query.Get()
		fmt.Println(sprite.Name, *place)
	}
	client.Close()
	g.run(1)
	// Output:
	// this is client 1
	// crate {3 4}
	// over: closed
}

// A client sees what is within 100 of its viewpoint.
func ExampleServer_SetInterest() {
	protocol := netcode.NewProtocol()
	netcode.Replicate[Place](protocol)
	g := newExampleGame(protocol)

	near := interest.NewGrid(interest.GridConfig{
		Position: interest.PositionOf(protocol.Schema(), func(p *Place) (x, y, z float32) { return p.X, p.Y, 0 }),
		Enter:    100, Leave: 120,
	})
	g.server.Server.SetInterest(interest.New(near, interest.Despawn))
	g.server.Server.OnConnect(func(client netcode.ClientID) { near.Look(client, 0, 0, 0) }) // or near.Follow(client, avatar)

	bodies := generic.NewMap2[components.Replicated, Place](&g.serverWorld)
	for x := range 5 {
		bodies.NewWith(&components.Replicated{}, &Place{X: float32(60 * x)})
	}
	sees := func() (at []float32) {
		for query := generic.NewFilter1[Place]().Query(&g.clientWorld); query.Next(); {
			at = append(at, query.Get().X)
		}
		return at
	}
	g.run(1)
	fmt.Println(sees())
	near.Look(1, 240, 0, 0)
	g.run(1)
	fmt.Println(sees())
	// Output:
	// [0 60]
	// [240 180]
}

// A message from the client, and its answer.
func ExampleHandle() {
	type Hit struct{ Damage uint8 }
	type Healed struct{ By uint8 }
	protocol := netcode.NewProtocol()
	netcode.Handle(protocol, func(ctx *netcode.Context, m *Hit) { // runs on the server
		fmt.Println("client", ctx.Sender, "hits for", m.Damage)
		_ = netcode.Reply(ctx, &Healed{By: 1})
	}, netcode.FromClient(), netcode.Over(netcode.ReliableOrdered))
	netcode.Handle(protocol, func(_ *netcode.Context, m *Healed) { // runs on the client
		fmt.Println("healed by", m.By)
	}, netcode.FromServer(), netcode.Over(netcode.ReliableOrdered))
	g := newExampleGame(protocol)

	fmt.Println("too early:", netcode.Send(g.client.Client, netcode.ToServer(), &Hit{1}))
	g.client.Client.OnConnect(func(netcode.ClientID) {
		_ = netcode.Send(g.client.Client, netcode.ToServer(), &Hit{20})
	})
	g.run(1)
	// Output:
	// too early: netcode: not connected: this client has no connection: send from OnConnect on
	// client 1 hits for 20
	// healed by 1
}

// A question that a client asks the server.
func ExampleCall() {
	type Price struct{ Item uint16 }
	type Coins struct{ Count uint32 }
	protocol := netcode.NewProtocol()
	netcode.Answer(protocol, func(_ *netcode.Context, q *Price, r *Coins) error {
		if q.Item != 3 {
			return fmt.Errorf("item %d is not for sale", q.Item)
		}
		r.Count = 20
		return nil
	})
	g := newExampleGame(protocol)
	g.run(1)
	for _, item := range []uint16{3, 4} {
		err := netcode.Call(context.Background(), g.client.Client, 0, &Price{item}, func(r *Coins, err error) { // 0 is the server
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println("it costs", r.Count)
		}, netcode.Within(3*time.Second))
		if err != nil {
			fmt.Println(err)
		}
		g.run(1)
	}
	// Output:
	// it costs 20
	// netcode: the call was refused: item 4 is not for sale
}
