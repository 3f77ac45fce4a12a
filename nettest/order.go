package nettest

import (
	"fmt"

	"github.com/arche-netcode/netcode"
)

// orderCheck is Order for one client.
type orderCheck struct {
	session netcode.ClientID // ticks of another session say nothing
	ticks   map[netcode.NetworkID]netcode.Tick
}

// check compares the tick of every entity with the one of the frame before.
func (o *orderCheck) check(n *Net, i int, c *Client) error {
	replica := c.Replica()
	if replica == nil {
		return nil
	}
	if o.ticks == nil || o.session != c.ID() {
		o.session, o.ticks = c.ID(), map[netcode.NetworkID]netcode.Tick{}
	}
	for e := range replica.All {
		was, now := o.ticks[e.ID], e.Tick
		if n.broken[Order] {
			now = was - 1
		}
		if now < was {
			return &Broken{Order, i, n.frame, fmt.Sprintf("entity %v went from tick %d back to %d", e.ID, was, now)}
		}
		o.ticks[e.ID] = now
	}
	return nil
}
