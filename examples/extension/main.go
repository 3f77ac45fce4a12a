// Command extension runs a server, two players and a feature of the game's own: package voice beside it, who talks.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/examples/extension/voice"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

func main() {
	if err := play(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// play has one player talk, and the other hear it, on a clock of its own.
func play() error {
	protocol := netcode.NewProtocol()
	voice.Register(protocol)
	now, network := time.Duration(0), memory.NewNetwork()
	clock := func() time.Duration { return now }
	here, err := network.Listen(transport.Addr{})
	if err != nil {
		return err
	}
	server, err := netcode.NewServer(protocol, netcode.Config{})
	if err != nil {
		return err
	}
	var players []*netcode.Client
	world := ecs.NewWorld()
	loops := []*systems.Runner{systems.NewRunner(&world, systems.NewServer(server, here, clock), 30)}
	for range 2 {
		there, err := network.Listen(transport.Addr{})
		if err != nil {
			return err
		}
		client, err := netcode.NewClient(protocol, netcode.Config{})
		if err != nil {
			return err
		}
		own := ecs.NewWorld()
		loops = append(loops, systems.NewRunner(&own, systems.NewClient(client, there, clock), 30))
		if err := client.Connect(here.LocalAddr()); err != nil {
			return err
		}
		players = append(players, client)
	}
	for second := range 3 {
		voice.Talk(players[0], uint8(second*10))
		for range 30 {
			now += time.Second / 30
			for _, loop := range loops {
				loop.Step()
			}
		}
		fmt.Printf("player 2 hears player 1 at %d\n", voice.Level(players[1], players[0].ID()))
	}
	return nil
}
