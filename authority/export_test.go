package authority

import (
	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
)

// SendRight tells a client that it may write an entity, which need not exist.
func SendRight(s *netcode.Server, client netcode.ClientID, entity netcode.NetworkID, rows uint64) error {
	return netcode.Send(s, netcode.To(client), &right{Entity: entity, Rows: rows, Renewed: rows, Number: uint32(rows)})
}

// RightsLookedAt is the number of entities that a client looks at in each tick since it may write them.
func RightsLookedAt(c *netcode.Client) int {
	w, _ := extend.ExtensionOf[*client](c)
	return len(w.list)
}

// RightsKept is the number of entities for which a server keeps the right of a client.
func RightsKept(s *netcode.Server, client netcode.ClientID) int {
	a, _ := extend.ExtensionOf[*server](s)
	return len(a.sessionOf(client).list)
}

// MaxAsks is the number of requests of a client and tick that are looked at.
const MaxAsks = maxAsks
