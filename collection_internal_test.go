package netcode

import (
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// ForgeCollection has a server send what no server sends: bytes as a collection, over any channel, about any entity or none.
func ForgeCollection(s *Server, to ClientID, channel wire.Channel, about NetworkID, body []byte) error {
	p := peer.Post{Type: s.protocol.collectionType, Stage: tick.EarlyUpdate, Channel: channel}
	if !about.IsZero() {
		p.Flags, p.Entity = wire.FlagEntity, about
	}
	return s.client(to).outgoing.Push(&p, body)
}
