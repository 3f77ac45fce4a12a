package netcode

import (
	"errors"
	"fmt"
	"time"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/endpoint"
	"github.com/arche-netcode/netcode/internal/link"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// BeginFrame starts a frame. now is the time since any fixed moment. When the clock is set back, time goes on from where it was
// with the next frame, and the clocks of ServerTime, Time and Present are measured anew.
func (c clientInside) BeginFrame(now time.Duration) {
	stall := c.frame.Begin(now)
	c.time.Begin(now)
	c.report.Now = c.frame.Now
	if stall > 0 {
		c.link.Shift(stall)
		c.attempt.Shift(stall)
	}
	c.core.BeginFrame()
	for _, f := range c.hooks.beginFrame {
		f()
	}
}

// Receive takes one datagram. It keeps nothing of packet. A datagram that is not the server's is counted and dropped.
func (c clientInside) Receive(from transport.Addr, packet []byte) {
	kind := peer.KindOf(packet)
	for _, f := range c.hooks.received {
		f(packet)
	}
	switch {
	case from != c.attempt.Server || (kind == peer.KindPacket && c.state < Connected):
		c.stats.Strangers++
	case kind == peer.KindPacket:
		c.receivePacket(packet)
	default:
		c.receiveHandshake(kind, packet)
	}
	c.events.Fire()
}

// Knows reports whether the client is connected to the server at this address, as Server.Knows.
func (c clientInside) Knows(from transport.Addr) bool {
	return c.state == Connected && from == c.attempt.Server
}

// ReceiveAfter is Receive of a datagram that came to the socket some time before this frame, as transport.Timed tells: Ping does not count
// that wait.
func (c clientInside) ReceiveAfter(from transport.Addr, packet []byte, waited time.Duration) {
	c.frame.Waited = max(waited, 0)
	c.Receive(from, packet)
	c.frame.Waited = 0
}

// receivePacket handles a packet from the server. Either the whole packet takes effect, or none of it does and it is not
// acknowledged.
func (c *Client) receivePacket(packet []byte) {
	in, err := c.link.Read(packet)
	if err != nil {
		c.unreadable(err)
		return
	}
	if c.state == Closing {
		switch closed := c.link.ClosingPacket(in, peer.RoleClient); {
		case closed && c.leaving:
			c.link.SendAck()
		case closed:
			c.drop()
		}
		return
	}
	content, reason := c.core.Judge(&c.link, &in)
	if reason != nil {
		c.refusePacket(reason)
		return
	}
	c.link.ReceivedAt = c.frame.Now
	if c.resume.Asks && c.resume.Heard() { // The server knows the new address of this end.
		c.link.Conn.NewPath()
		c.stats.Migrated++
	}
	if content.Snapshot != nil && !c.readSnapshot(content.Snapshot, in.Sequence) {
		return
	}
	c.noteServerTick(&in, &content)
	if reason := c.core.Take(&c.link, &in, &content); reason != nil {
		c.refusePacket(reason)
		return
	}
	if content.Resync && c.sender != nil {
		c.sender.resyncUpstream(content.ResyncEpoch)
	}
	if closed := c.link.Accept(in, &content); closed != nil {
		c.startLeaving(closed)
	}
}

// unreadable ends the connection for an unreadable packet, unless anyone could have sent it: a wrong checksum, or a
// duplicate.
func (c *Client) unreadable(err error) {
	switch reason := peer.CloseReason(err); {
	case reason == errs.ReasonNone || c.state != Connected:
	case reason == errs.ReasonMalformed:
		c.refusePacket(endpoint.CloseError(err))
	default:
		c.closeWith(&errs.CloseError{Reason: reason}, false)
	}
}

// refusePacket ends the connection to a server whose packet has a valid checksum and illegal contents.
func (c *Client) refusePacket(reason *errs.CloseError) {
	c.core.Counters.Refused(reason)
	c.closeWith(reason, false)
}

// readSnapshot reports whether the packet may be acknowledged, since its snapshot was decoded whole.
func (c *Client) readSnapshot(payload []byte, packet uint64) bool {
	err := c.newest().Read(payload)
	switch {
	case err == nil && c.back.newest != nil:
		c.hooks.hold(payload, packet)
		return true
	case err == nil:
		c.applied = false
		for _, f := range c.hooks.read {
			f()
		}
		return true
	case errors.Is(err, replica.ErrStale):
		c.stats.StaleSnapshots++
	case errors.Is(err, replica.ErrBaseline):
		c.stats.LostBaselines++
	case errors.Is(err, replica.ErrTooMany):
		clientInside{c}.End(&errs.CloseError{
			Reason: errs.ReasonTooManyEntities, Detail: fmt.Sprintf("the server has more entities than Config.MaxEntities of the client, %d", c.agreed.MaxEntities),
		})
	default:
		c.refusePacket(&errs.CloseError{Reason: errs.ReasonMalformed, Detail: err.Error()})
	}
	return false
}

// Applied tells the client that its world has all state of Replica. The system Apply calls it after each run. Only then are
// messages handled about an entity that has just come.
func (c clientInside) Applied() {
	c.applied = true
	for _, f := range c.hooks.applied {
		f(c.Present())
	}
}

// Dispatch hands the messages that wait for a stage to their handlers, and makes it the stage that the client is in, as
// Server.Dispatch does.
func (c clientInside) Dispatch(stage tick.Stage) {
	for _, f := range c.hooks.dispatch {
		f(stage)
	}
	c.core.Inbound.Drain(stage)
}

// Send ends a frame: it sends Hello while connecting, and else builds the packets that the budget allows: messages in every
// frame. They wait for Drain. It is a step of the frame, which the systems call: a message is sent by the function netcode.Send.
func (c clientInside) Send() {
	c.endTime()
	switch c.state {
	case Connecting:
		c.ask()
	case Connected:
		c.sendToServer()
	case Closing:
		if c.leaving {
			c.finishLeaving()
		} else if c.link.ContinueClose() {
			c.drop()
		}
	}
	c.core.EndFrame(c.hooks.afterSend)
	c.events.Fire()
}

// sendToServer sends the packets of this frame to the server.
func (c *Client) sendToServer() {
	if c.host != nil {
		for _, f := range c.hooks.beforeSend {
			f()
		}
		if session := c.sessionAtHost(); session != nil {
			c.core.PassSections(&c.link, session)
		}
		return
	}
	if c.frame.Now-c.link.ReceivedAt >= c.agreed.SilenceTimeout {
		c.stats.SilenceTimeouts++
		c.closeWith(c.resume.GivenUp(), false)
		return
	}
	c.askResume()
	if reason := c.link.Overrun(clientInside{c}.Due()); reason != nil {
		c.closeWith(reason, false)
		return
	}
	c.link.Refill()
	first := c.link.Conn.Next()
	if c.frame.Due {
		c.link.DetectLost()
		if epoch, want := c.newest().WantResync(); want { // The server sends all state again.
			c.link.SendResync(epoch)
		}
	}
	if c.sender != nil {
		c.sender.planUpstream()
	}
	c.core.Release(&c.link)
	for _, f := range c.hooks.beforeSend {
		f()
	}
	c.sendSections()
	c.sendUpstream()
	c.link.SendMessages()
	if !c.frame.Due {
		return
	}
	if size := c.link.Conn.ProbeDue(c.frame.Now); size > 0 {
		c.link.Probe(size, nil)
	}
	c.link.EndTick(c.link.MessagesWait() || c.link.View != nil && c.link.View.Pending() || c.core.Sections.Due(nil, false))
	c.link.KeepAlive(c.maxSilence(), nil)
	switch {
	case c.link.Conn.AckDue():
		c.link.SendAck()
	case c.link.Conn.Next() == first && c.link.Conn.RepeatAck(c.frame.Now):
		c.link.RepeatAck()
	}
	for range c.link.Conn.AckRepeats(c.frame.Now) {
		c.link.RepeatAck()
	}
}

// maxSilence returns the longest time for which the client may send nothing.
func (c *Client) maxSilence() (every time.Duration) {
	if !c.link.Conn.CanSend() { // A later packet shows the server which others are lost.
		return min(link.CloseEvery, c.agreed.KeepAlive)
	}
	return c.agreed.KeepAlive
}

// Drain hands out the datagrams that wait to be sent, in order. A packet is good until the function returns.
func (c clientInside) Drain(send func(to transport.Addr, packet []byte)) { c.out.Drain(send) }

// sendSections sends the due sections of a client. Messages share the packet.
func (c *Client) sendSections() {
	if !c.core.Sections.Due(nil, c.link.MessagesWait()) {
		return
	}
	if c.link.Budget.Spent() {
		c.core.Counters.Links.BudgetSpent++
		return
	}
	b := &c.building
	var ok bool
	if *b, ok = c.link.Begin(); !ok {
		return
	}
	if c.core.Sections.Write(nil, b) {
		if c.sender != nil {
			c.sender.addUpstream(b)
		}
		c.link.AddMessages(b, false)
	}
	if !b.Empty() {
		c.link.Finish(b)
	}
}
