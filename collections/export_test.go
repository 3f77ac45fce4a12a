package collections

import (
	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/wire"
)

// Forge sends arbitrary bytes as a collection, on any channel, about any entity or none.
func Forge(s *netcode.Server, to netcode.ClientID, channel wire.Channel, about netcode.NetworkID, body []byte) error {
	all, _ := extend.ExtensionOf[*types](s.Protocol())
	forged := *all.raw
	forged.Channel = channel
	return forged.Send(extend.OfServer(s).Session(to), about, body)
}
