//go:build netcode_ark

// Command ark is the quick start on Ark: go run -tags netcode_ark ./examples/quickstart/ark.
package main

import (
	"fmt"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport/udp"
	"github.com/mlange-42/ark/ecs"
)

type Position struct{ X, Y float32 }

func main() {
	protocol := netcode.NewProtocol()
	netcode.Replicate[Position](protocol)
	serverWorld, clientWorld := ecs.NewWorld(), ecs.NewWorld()
	here, _ := udp.Listen("127.0.0.1:0", udp.Config{}) // a real game looks at the errors
	server, _ := netcode.NewServer(protocol, netcode.Config{})
	serverLoop := systems.NewRunner(serverWorld, systems.NewServer(server, here, systems.WallClock()), 30)
	there, _ := udp.Listen("127.0.0.1:0", udp.Config{})
	client, _ := netcode.NewClient(protocol, netcode.Config{})
	clientLoop := systems.NewRunner(clientWorld, systems.NewClient(client, there, systems.WallClock()), 30)
	_ = client.Connect(here.LocalAddr())
	ball := ecs.NewMap2[Position, components.Replicated](serverWorld).NewEntity(&Position{}, &components.Replicated{})
	positions, seen := ecs.NewMap1[Position](serverWorld), ecs.NewFilter1[Position](clientWorld)
	for range 30 {
		positions.Get(ball).X += 0.5 // plain game code: what changed is sent
		serverLoop.Step()
		clientLoop.Step()
		for query := seen.Query(); query.Next(); {
			fmt.Println("the client sees", *query.Get())
		}
		time.Sleep(time.Second / 30)
	}
}
