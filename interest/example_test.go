package interest_test

import (
	"fmt"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/interest"
)

type Position struct{ X, Y float32 }

// Hand is a component that only its owner may see.
type Hand struct{ Cards uint64 }

// A client sees its own entities and those that are near. Only its owner sees a hand.
func Example() {
	protocol := netcode.NewProtocol()
	netcode.Replicate[Position](protocol)
	netcode.Replicate[Hand](protocol)
	server, err := netcode.NewServer(protocol, netcode.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}

	schema := protocol.Schema()
	near := interest.NewGrid(interest.GridConfig{
		Position: interest.PositionOf(schema, func(p *Position) (x, y, z float32) { return p.X, p.Y, 0 }),
		Enter:    100, Leave: 120, // metres; what lies between stays as it was
	})
	own := interest.NewOwnerOnly(interest.OwnerConfig{})
	hands := interest.OwnerRows(interest.MaskOf[Hand](schema))
	server.SetInterest(interest.New(interest.NewRows(interest.Any(near, own), hands), interest.Despawn))
	server.OnConnect(func(client netcode.ClientID) { near.Look(client, 0, 0, 0) }) // or near.Follow(client, avatar)
	// Output:
}
