package netcode_test

import (
	"testing"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/rig"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
)

// The types of messages and components of most tests; internal/rig runs the server and the clients.
type position struct {
	X, Y float32
}

type health struct {
	Points uint16
}

type chat struct {
	Number uint32
}

func protocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[position](p)
	netcode.Replicate[health](p)
	return p
}

// connected is a server and one client, of protocol.
func connected(t testing.TB, config netcode.Config) (*rig.Rig, *rig.ClientEnd) {
	r := rig.New(t, protocol(), config)
	return r, r.Joined(r.Server.Protocol(), netcode.Config{})
}

// follows is a relation.
type follows generic.DistanceTie
