//go:build !netcode_ark

package authority_test

import (
	"fmt"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// Place is a position that its owner writes.
type Place struct{ X float32 }

// A client walks a metre a frame, and after 30 frames the server teleports it: it goes on from there.
func ExampleCorrect() {
	protocol := netcode.NewProtocol()
	netcode.Replicate[Place](protocol, authority.WrittenBy(authority.OwnerWrites))
	now, network := time.Duration(0), memory.NewNetwork()
	clock := func() time.Duration { return now } // A game uses systems.WallClock() and a socket of transport/udp.
	here, _ := network.Listen(transport.MustParseAddr("127.0.0.1:9000"))
	there, _ := network.Listen(transport.Addr{})
	atServer, _ := netcode.NewServer(protocol, netcode.Config{})
	atClient, _ := netcode.NewClient(protocol, netcode.Config{})
	server, client := systems.NewServer(atServer, here, clock), systems.NewClient(atClient, there, clock)
	serverWorld, clientWorld := ecs.NewWorld(), ecs.NewWorld()

	bodies := generic.NewMap3[components.Replicated, components.Owner, Place](&serverWorld)
	var body ecs.Entity
	atServer.OnConnect(func(id netcode.ClientID) {
		body = bodies.NewWith(&components.Replicated{}, &components.Owner{Client: id}, &Place{})
	})
	frames := 0
	places := generic.NewFilter1[Place]()
	client.Add(tick.Update, systems.Func(func(w *ecs.World) {
		for query := places.Query(w); query.Next(); {
			if id, ok := client.ID(query.Entity()); ok && authority.MayWrite[Place](atClient, id) {
				query.Get().X++
				frames++
			}
		}
	}))
	_ = atClient.Connect(here.LocalAddr())
	teleported := false
	server.Add(tick.Update, systems.Func(func(*ecs.World) {
		if frames >= 30 && !teleported {
			teleported = true
			_, _, place := bodies.Get(body)
			place.X = 1000
			id, _ := server.ID(body)
			authority.Correct(atServer, id)
		}
	}))

	loops := []*systems.Runner{systems.NewRunner(&serverWorld, server, 30), systems.NewRunner(&clientWorld, client, 30)}
	for ; now < 3*time.Second; now += time.Second / 30 {
		for _, loop := range loops {
			loop.Step()
		}
	}
	_, _, place := bodies.Get(body)
	fmt.Println(frames > 60, place.X > 1000)
	// Output: true true
}
