package netcode

import (
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/tick"
)

// heldState is the state that an extension holds back from a client's world: ClientHooks.HoldState.
type heldState struct {
	newest    *replica.Replica // Decodes the packets; nil: Client.Replica does.
	complete  tick.Tick        // Client.Replica has all state of it.
	suspended bool
}

// newHeldState begins a connection.
func (c *Client) newHeldState() (h heldState) {
	if c.hooks.hold != nil {
		h.newest = replica.New(c.protocol.schema, c.link.older.state(c.agreed.snapshot()), c.replica.Tick())
	}
	return h
}

// ShowState reads into Replica a payload that ClientHooks.HoldState was given. Those of the ticks before it must have been shown
// before, as far as they came.
func (c *Client) ShowState(payload []byte) {
	t := replica.PayloadTick(payload, c.replica.Tick())
	c.replica.Follow(c.back.newest, min(t, c.replica.Tick()))
	if err := c.replica.Read(payload); err != nil { // Both would have to be alike: all of the state is asked for anew.
		c.stats.LostBaselines++
		c.back.newest.Lose()
		return
	}
	c.applied = false
	c.time.Shown.Arrive(t, c.time.Raw)
	call(c.hooks.read)
}

// ShownUpTo tells that Replica has what came of the ticks up to one: whatever is known of these ticks holds for Replica too. complete
// tells that nothing is missing as of that tick.
func (c *Client) ShownUpTo(t Tick, complete bool) {
	if c.back.newest == nil {
		return
	}
	if c.replica.Follow(c.back.newest, t); complete {
		c.back.complete = t
	}
}

// CompleteTick returns the newest tick of which an extension that holds state back says that Replica lacks nothing. held is false
// where none holds it back.
func (c *Client) CompleteTick() (t Tick, held bool) { return c.back.complete, c.back.newest != nil }

// Newest is the Replica that decodes the packets. It is Replica, unless an extension holds state back.
func (c *Client) Newest() *Replica {
	if c.back.newest != nil {
		return c.back.newest
	}
	return c.replica
}

// Suspend makes the systems leave the client's world as it is, or not any more: while Replica has a part of the state of a tick.
func (c *Client) Suspend(on bool) { c.back.suspended = on }

// Suspended reports whether the systems must leave the client's world as it is.
func (c *Client) Suspended() bool { return c.back.suspended }
