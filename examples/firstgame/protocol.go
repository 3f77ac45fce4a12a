package main

import (
	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/wire"
)

// Position is written by the server and seen by every client that is near.
type Position struct{ X, Y float32 }

// Steering is written by the client that owns the entity.
type Steering struct {
	X, Y float32 `net:"min=-1,max=1,step=0.01"`
}

// Shout is a message from a client to the server. Text needs a method that says how it travels.
type Shout struct{ Text string }

// Serialize reads, writes and measures: at most 200 bytes of text.
func (m *Shout) Serialize(s *wire.Serializer) { s.String(&m.Text, 200) }

// Score is a message from the server to a client.
type Score struct{ Points int32 }

// newProtocol is called by server and client alike. Each gives the handler of what it receives, and nil for the other.
func newProtocol(onShout func(*netcode.Context, *Shout), onScore func(*netcode.Context, *Score)) *netcode.Protocol {
	protocol := netcode.NewProtocol()
	netcode.Replicate[Position](protocol)
	netcode.Replicate[Steering](protocol, authority.WrittenBy(authority.OwnerWrites))
	netcode.Handle(protocol, onShout, netcode.FromClient(), netcode.Over(netcode.ReliableOrdered))
	netcode.Handle(protocol, onScore, netcode.FromServer(), netcode.Over(netcode.ReliableOrdered))
	return protocol
}
