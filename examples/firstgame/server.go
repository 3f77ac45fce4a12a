package main

import (
	"context"
	"iter"
	"log"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/inspect/live"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/udp"
)

// serve runs the server until ctx is done, and shows it in a browser at page unless that is empty.
func serve(ctx context.Context, address, page string) error {
	// The parts of the game: the protocol, a world, a socket, a server.
	protocol := newProtocol(func(from *netcode.Context, m *Shout) {
		log.Printf("server: client %d shouts %q", from.Sender, m.Text)
		_ = netcode.Reply(from, &Score{Points: int32(len(m.Text))})
	}, nil)
	world := newWorld()
	socket, err := udp.Listen(address, udp.Config{})
	if err != nil {
		return err
	}
	defer socket.Close()
	server, err := netcode.NewServer(protocol, netcode.Config{})
	if err != nil {
		return err
	}
	server.OnError(func(err error) { log.Print("server: ", err) })
	if err := server.MayListen(socket); err != nil { // the internet may reach it, and it is not encrypted
		return err
	}

	// Its loop: netcode's systems, and the game's own between them.
	loop := systems.NewServer(server, socket, systems.WallClock())
	bodies := each[Position, Steering](world)
	loop.Add(tick.Update, systems.Func(func(*netecs.World) {
		if server.TickDue() { // the game moves on once a network tick
			move(bodies, 30*float32(server.Interval().Seconds())) // 30 m/s
		}
	}))

	// Each client sees what is nearer than 100 to its avatar, until that is farther than 120.
	near := interest.NewGrid(interest.GridConfig{
		Position: interest.PositionOf(protocol.Schema(), func(p *Position) (x, y, z float32) { return p.X, p.Y, 0 }),
		Enter:    100, Leave: 120,
	})
	server.SetInterest(interest.New(near, interest.Despawn))
	// Each client has an avatar, which goes when the client does.
	born, spawn := map[netcode.ClientID]netecs.Entity{}, avatars(world)
	server.OnConnect(func(client netcode.ClientID) { born[client] = spawn(client) })
	loop.OnSpawn(func(_ netecs.Entity, id netcode.NetworkID) { // the entity has its id, and nothing of it was sent yet
		if owner := server.Owner(id); owner != 0 {
			near.Follow(owner, id)
		}
	})
	server.OnDisconnect(func(client netcode.ClientID, reason *netcode.CloseError) {
		log.Printf("server: client %d is gone: %v", client, reason)
		if avatar := born[client]; world.Alive(avatar) {
			world.RemoveEntity(avatar)
		}
		delete(born, client)
	})
	return run(ctx, world, loop, socket.LocalAddr(), page)
}

// run runs the loop of a server at an address, and shows it in a browser at page unless that is empty.
func run(ctx context.Context, world *netecs.World, loop *systems.ServerSystems, address transport.Addr, page string) error {
	group, stop, err := live.Show(loop, page, log.Writer())
	if err != nil {
		return err
	}
	defer stop()
	log.Print("server: listening on ", address)
	return systems.NewRunner(world, group, 60).Run(ctx) // 60 frames a second; 30 network ticks, see Config.TickRate
}

// move is plain game code: what changed is sent.
func move(bodies iter.Seq2[*Position, *Steering], step float32) {
	for position, steering := range bodies {
		position.X += steering.X * step
		position.Y += steering.Y * step
	}
}
