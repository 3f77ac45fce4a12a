package netcode

import (
	"time"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Send ends a frame: it says hello while connecting, and else builds the packets that the budget allows: messages in every
// frame. They wait for Drain. It is a step of the frame, which the systems call: a message is sent by the function netcode.Send.
func (c *Client) Send() {
	c.endTime()
	switch c.state {
	case Connecting:
		c.ask()
	case Connected:
		c.serve()
	case Closing:
		if c.leaving {
			c.seeOff()
		} else if c.farewell(c) {
			c.drop()
		}
	}
	c.sentUpTo = c.frame.clock.Tick()
	call(c.hooks.afterSend)
	c.endFrame()
	c.events.fire()
}

// serve sends the server what this frame owes it.
func (c *Client) serve() {
	if c.host != nil {
		call(c.hooks.beforeSend)
		c.handSections()
		return
	}
	if c.silent() {
		c.stats.SilenceTimeouts++
		c.part(&peer.Error{Reason: peer.ReasonTimeout}, false)
		return
	}
	if reason := c.overrun(c.due()); reason != nil {
		c.part(reason, false)
		return
	}
	c.budget.Refill(c.frame.now)
	first := c.conn.Next()
	if c.frame.due {
		c.conn.DetectLost(c.frame.now, c)
		c.resync()
	}
	c.planUpstream()
	if c.link.early.count > 0 {
		c.release(&c.link, nil)
	}
	call(c.hooks.beforeSend)
	c.sendSections()
	c.sendUpstream()
	c.sendMessages()
	if !c.frame.due {
		return
	}
	c.keepAlive(c.patience(), nil)
	switch {
	case c.conn.AckDue():
		c.sendAck()
	case c.conn.Next() == first && c.conn.RepeatAck(c.frame.now):
		c.sayAgain()
	}
	for range c.conn.AckRepeats(c.frame.now) {
		c.sayAgain()
	}
}

// resync asks the server to forget what it thinks that this client holds, if the replica wants that. Messages share the
// packet.
func (c *Client) resync() {
	epoch, want := c.replica.WantResync()
	if !want {
		return
	}
	if c.budget.Spent() {
		c.stats.BudgetSpent++
		return
	}
	b, ok := c.beginPacket()
	if !ok {
		return
	}
	putResync(b.Payload(), epoch)
	b.Add(wire.MessageResync, tick.Initialization, resyncSize)
	c.load(&b, false)
	c.finish(&b)
}

// patience is the longest time for which the client may send nothing.
func (c *Client) patience() (every time.Duration) {
	if !c.conn.CanSend() { // what comes later is what tells that the others are lost
		return min(closeEvery, c.agreed.KeepAlive)
	}
	return c.agreed.KeepAlive
}

// Acked implements peer.Outcome.
func (c *Client) Acked(seq uint64, sentAt tick.Tick) {
	for i := range c.hooks.sections {
		if f := c.hooks.sections[i].Acked; f != nil {
			f(seq)
		}
	}
	if c.own.view != nil {
		c.own.view.Acked(seq)
	}
	c.acked(seq)
}

// Lost implements peer.Outcome: reliable messages are sent again.
func (c *Client) Lost(seq uint64) {
	for i := range c.hooks.sections {
		if f := c.hooks.sections[i].Lost; f != nil {
			f(seq)
		}
	}
	if c.own.view != nil {
		c.own.view.Lost(seq)
	}
	c.lost(seq)
}
