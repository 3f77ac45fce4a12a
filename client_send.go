package netcode

import (
	"time"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Send ends a frame: it says hello while connecting, and on a network tick builds the packets that the budget allows.
// They wait for Drain.
func (c *Client) Send() {
	switch c.state {
	case Connecting:
		c.sayHello()
	case Connected:
		c.serve()
	case Closing:
		if c.repeatGoodbye() {
			c.drop()
		}
	}
	c.events.fire()
}

// serve sends the server what this tick owes it.
func (c *Client) serve() {
	if c.silent() {
		c.stats.SilenceTimeouts++
		c.part(&peer.Error{Reason: peer.ReasonTimeout})
		return
	}
	if !c.frame.due {
		return
	}
	c.conn.DetectLost(c.frame.now, c)
	c.budget.refill(c.frame.now)
	c.fill()
	c.keepAlive(c.patience())
	if c.conn.AckDue() {
		c.sendAck()
	}
}

// fill sends packets until nothing waits, or the budget or the ring of sent packets is used up.
func (c *Client) fill() {
	epoch, wantResync := c.replica.WantResync()
	for wantResync || !c.outbox.empty() {
		if c.budget.spent() {
			c.stats.BudgetSpent++
			return
		}
		b, ok := c.begin()
		if !ok {
			return
		}
		if wantResync {
			addResync(&b, epoch)
		}
		c.outbox.fill(&b, false)
		c.finish(&b)
		wantResync = false
	}
}

// addResync asks the server to forget what it thinks that this client holds.
func addResync(b *peer.Builder, epoch uint16) {
	putResync(b.Payload(), epoch)
	b.Add(wire.MessageResync, tick.Initialization, resyncSize)
}

// patience is how long this end may say nothing: until the server has shown that it knows us, not long.
func (c *Client) patience() (every time.Duration) {
	if c.greeted {
		return c.agreed.KeepAlive
	}
	return min(greetEvery, c.agreed.KeepAlive)
}

// Acked implements peer.Outcome.
func (c *Client) Acked(seq uint64, sentAt tick.Tick) { c.acked(seq) }

// Lost implements peer.Outcome: what a client sends is not sent again, for now.
func (c *Client) Lost(seq uint64) {}
