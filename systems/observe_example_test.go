package systems_test

import (
	"fmt"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// A client asks once a frame what the newest snapshot changed: which health bars to draw anew, and what came or went.
func ExampleChanged() {
	type Health struct{ Now uint8 }
	now := time.Duration(0)
	clock := func() time.Duration { return now } // systems.WallClock() in a game
	network := memory.NewNetwork()
	here, _ := network.Listen(transport.MustParseAddr("127.0.0.1:1"))
	there, _ := network.Listen(transport.Addr{})
	protocol := netcode.NewProtocol()
	netcode.Replicate[Health](protocol)
	server, _ := netcode.NewServer(protocol, netcode.Config{})
	client, _ := netcode.NewClient(protocol, netcode.Config{})
	serverWorld, clientWorld := ecs.NewWorld(), ecs.NewWorld()
	group := systems.NewClient(client, there, clock)
	loops := []*systems.Runner{
		systems.NewRunner(&serverWorld, systems.NewServer(server, here, clock), 30),
		systems.NewRunner(&clientWorld, group, 30),
	}
	_ = client.Connect(here.LocalAddr())

	build, health := generic.NewMap2[components.Replicated, Health](&serverWorld), generic.NewMap1[Health](&serverWorld)
	knight := build.NewWith(&components.Replicated{}, &Health{100})
	for frame := range 60 {
		if frame == 30 {
			health.Get(knight).Now = 40
		}
		for _, l := range loops {
			l.Step()
		}
		now += time.Second / 30
		if !group.Apply.Applied() {
			continue // nothing new: what follows would be told again
		}
		for _, h := range systems.Changed[Health](group) {
			fmt.Println("health is", h.Now)
		}
		for change := range group.Changes {
			fmt.Println("of an entity that is new:", change.Spawned)
		}
	}
	// Output:
	// health is 100
	// of an entity that is new: true
	// health is 40
	// of an entity that is new: false
}
