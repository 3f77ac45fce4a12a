//go:build !netcode_ark

package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/inspect/live"
	"github.com/arche-netcode/netcode/systems"
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
	world := ecs.NewWorld()
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
	client.OnConnect(func(netcode.ClientID) { // no sooner: Send is netcode.ErrNotConnected before
		connected = true
		_ = netcode.Send(client, netcode.ToServer(), &Shout{Text: "hello"})
	})

	steer(loop, &world)
	loop.Add(netcode.StagePostLateUpdate, draw())
	if err := client.Connect(address); err != nil {
		return err
	}
	if err := systems.NewRunner(&world, loop, 60).Run(ctx); err != nil {
		return err
	}
	return refused
}

// steer gives new entities their sprite; the one that this client may steer is its avatar.
func steer(loop *systems.ClientSystems, world *ecs.World) {
	var avatar ecs.Entity
	sprites, steering := generic.NewMap1[Sprite](world), generic.NewMap1[Steering](world)
	loop.OnSpawn(func(e ecs.Entity, id netcode.NetworkID) {
		sprites.Assign(e, &Sprite{})
		if authority.MayWrite[Steering](loop.Client, id) {
			avatar = e
		}
	})
	loop.Add(netcode.StageUpdate, systems.Func(func(w *ecs.World) {
		if !avatar.IsZero() && w.Alive(avatar) {
			steering.Get(avatar).X = 0.5 // plain game code: this client owns it, so it is sent
		}
	}))
}

// draw prints where the visible entities are, once a second. A game draws its sprites here.
func draw() systems.System {
	frame, visible := 0, generic.NewFilter2[Position, Sprite]()
	return systems.Func(func(w *ecs.World) {
		if frame++; frame%60 == 0 {
			for query := visible.Query(w); query.Next(); {
				position, _ := query.Get()
				log.Printf("client: an entity at %.1f, %.1f", position.X, position.Y)
			}
		}
	})
}
