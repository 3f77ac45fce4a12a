package systems_test

import (
	"fmt"
	"time"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// A client's loop of one's own that keeps its frames in step with the ticks of Client.Time: it waits for the frame time,
// made longer or shorter by Pace. A loop that cannot, such as arche-model's, waits for the frame time alone and runs as
// many steps of its simulation as Steps says, mostly one.
func ExampleClientSystems_Pace() {
	const frameTime = time.Second / 30
	now := time.Duration(0)
	clock := func() time.Duration { return now } // time.Since(start) in a game
	network := memory.NewNetwork()
	at, to := transport.MustParseAddr("127.0.0.1:1"), transport.Addr{}
	here, _ := network.Listen(at)
	there, _ := network.Listen(to)
	protocol := netcode.NewProtocol()
	server, _ := netcode.NewServer(protocol, netcode.Config{})
	client, _ := netcode.NewClient(protocol, netcode.Config{})
	serverWorld, clientWorld := ecs.NewWorld(), ecs.NewWorld()
	serverLoop := systems.NewRunner(&serverWorld, systems.NewServer(server, here, clock), 30)
	group := systems.NewClient(client, there, clock)
	all := group.Systems()
	for _, s := range all {
		s.Initialize(&clientWorld)
	}
	_ = client.Connect(at)
	ones, others := 0, 0
	for frame := range 600 {
		serverLoop.Step()
		for _, s := range all {
			s.Update(&clientWorld)
		}
		for range client.Steps() {
			_ = client.Time().Tick // one step of the game's own prediction
		}
		if steps := client.Steps(); frame > 100 && steps == 1 {
			ones++
		} else if frame > 100 {
			others++
		}
		num, den := client.Pace()
		now += frameTime * time.Duration(den) / time.Duration(num)
	}
	fmt.Println("frames with one step:", ones, "with none or two:", others)
	// Output: frames with one step: 499 with none or two: 0
}
