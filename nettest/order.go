package nettest

import (
	"fmt"

	"github.com/arche-netcode/netcode"
)

// orderCheck checks Order for one client.
type orderCheck struct {
	session any     // its Replica: ticks of different sessions are not comparable
	newest  []known // by index
}

// known is the tick of an entity's state, with the entity's generation.
type known struct {
	generation uint32
	tick       netcode.Tick
}

// check compares the tick of every entity with that of the previous frame.
func (o *orderCheck) check(n *Net, i int, c *Client) error {
	client := c.Replica()
	if client == nil {
		return nil
	}
	if o.session != client { // Each connection has its own Replica. A client ID may be reused after a restart of the server.
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
