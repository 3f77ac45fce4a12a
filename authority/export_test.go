package authority

import "github.com/arche-netcode/netcode"

// SendRight tells a client that it may write an entity, which need not exist.
func SendRight(s *netcode.Server, client netcode.ClientID, entity netcode.NetworkID, rows uint64) error {
	return netcode.Send(s, netcode.To(client), &right{Entity: entity, Rows: rows, Anew: rows, Number: uint32(rows)})
}

// RightsLookedAt is the number of entities that a client looks at in each tick since it may write them.
func RightsLookedAt(c *netcode.Client) int {
	w, _ := netcode.ExtensionOf[*client](c)
	return len(w.list)
}
