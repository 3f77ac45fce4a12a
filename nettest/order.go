package nettest

import (
	"fmt"

	"github.com/arche-netcode/netcode"
)

// orderCheck is Order for one client.
type orderCheck struct {
	session any     // its Replica: ticks of another session say nothing
	newest  []known // by index
}

// known is as of which tick a life was known.
type known struct {
	generation uint32
	tick       netcode.Tick
}

// check compares the tick of every entity with the one of the frame before.
func (o *orderCheck) check(n *Net, i int, c *Client) error {
	client := c.Replica()
	if client == nil {
		return nil
	}
	if o.session != client { // A connection has a Replica of its own; a client id may come again after a restart of the server.
		o.session, o.newest = client, nil
	}
	for e := range client.All {
		for int(e.ID.Index) >= len(o.newest) {
			o.newest = append(o.newest, known{})
		}
		was, now := &o.newest[e.ID.Index], known{e.ID.Generation, e.Tick}
		if n.broken[Order] {
			now.tick = was.tick - 1
		}
		if was.generation == now.generation && now.tick < was.tick {
			return &Broken{Order, i, n.frame, fmt.Sprintf("entity %v went from tick %d back to %d", e.ID, was.tick, now.tick)}
		}
		*was = now
	}
	return nil
}
