package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/inspect/live"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport/udp"
)

// Sprite is the client's own: it is not registered, so it never travels.
type Sprite struct{ Frame int }

// play runs a client until ctx is done or the connection ends.
func play(ctx context.Context, server, page string) error {
	address, err := udp.Resolve(server) // a name will do, as in localhost:9000
	if err != nil {
		return err
	}
	protocol := newProtocol(nil, func(_ *netcode.Context, m *Score) { log.Printf("client: %d points", m.Points) })
	world := newWorld()
	socket, err := udp.Listen(":0", udp.Config{})
	if err != nil {
		return err
	}
	defer socket.Close()
	client, err := netcode.NewClient(protocol, netcode.Config{})
	if err != nil {
		return err
	}
	client.OnError(func(err error) { log.Print("client: ", err) })
	loop := systems.NewClient(client, socket, systems.WallClock())
	stop, err := live.ShowClient(loop, nil, page, os.Stderr) // serves a page about this client, if page is not empty
	if err != nil {
		return err
	}
	defer stop()

	// The loop goes on without a connection, so that a game can show its menu; this one ends.
	ctx, over := context.WithCancel(ctx)
	defer over()
	connected, refused := false, error(nil)
	client.OnDisconnect(func(_ netcode.ClientID, reason *netcode.CloseError) {
		log.Print("client: the connection ended: ", reason)
		if !connected && ctx.Err() == nil { // and nobody interrupted it
			refused = fmt.Errorf("no connection to %s: %w", server, reason)
		}
		over()
	})
	client.OnConnect(func(netcode.ClientID) { // no sooner: Send is errs.ErrNotConnected before
		connected = true
		_ = netcode.Send(client, netcode.ToServer(), &Shout{Text: "hello"})
	})

	steer(loop, world)
	loop.Add(tick.PostLateUpdate, draw(world))
	if err := client.Connect(address); err != nil {
		return err
	}
	if err := systems.NewRunner(world, loop, 60).Run(ctx); err != nil {
		return err
	}
	return refused
}

// steer gives new entities their sprite; the one that this client may steer is its avatar.
func steer(loop *systems.ClientSystems, world *netecs.World) {
	var avatar netecs.Entity
	_, dress := mapper[Sprite](world)
	steering, _ := mapper[Steering](world)
	loop.OnSpawn(func(e netecs.Entity, id netcode.NetworkID) {
		dress(e, &Sprite{})
		if authority.MayWrite[Steering](loop.Client, id) {
			avatar = e
		}
	})
	loop.Add(tick.Update, systems.Func(func(w *netecs.World) {
		if !avatar.IsZero() && w.Alive(avatar) {
			steering(avatar).X = 0.5 // plain game code: this client owns it, so it is sent
		}
	}))
}

// draw prints where the visible entities are, once a second. A game draws its sprites here.
func draw(world *netecs.World) systems.System {
	frame, visible := 0, each[Position, Sprite](world)
	return systems.Func(func(*netecs.World) {
		if frame++; frame%60 == 0 {
			for position := range visible {
				log.Printf("client: an entity at %.1f, %.1f", position.X, position.Y)
			}
		}
	})
}
