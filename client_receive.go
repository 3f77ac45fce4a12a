package netcode

import (
	"errors"
	"net/netip"

	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/snapshot"
)

// Receive takes one datagram. It keeps nothing of packet. What does not come from the server is counted and dropped.
func (c *Client) Receive(from netip.AddrPort, packet []byte) {
	kind := peer.KindOf(packet)
	switch {
	case from != c.attempt.server || (kind == peer.KindPacket && c.state < Connected):
		c.stats.Strangers++
	case kind == peer.KindPacket:
		c.receivePacket(packet)
	default:
		c.receiveHandshake(kind, packet)
	}
	c.events.fire()
}

// receivePacket takes a packet from the server: either the whole of it has its effect, or none of it and it is not
// acknowledged.
func (c *Client) receivePacket(packet []byte) {
	in, err := c.conn.Read(packet, c.frame.now, c)
	if err != nil {
		c.unreadable(err)
		return
	}
	if c.state == Closing {
		return
	}
	content, err := c.inbound.check(in.Batch, fromServer)
	if err != nil {
		c.malformed(err)
		return
	}
	c.heard, c.greeted = c.frame.now, true
	if content.snapshot != nil && !c.readSnapshot(content.snapshot) {
		return
	}
	if content.messages > 0 {
		c.inbound.queue(c.queues, in.Batch, message.Context{Local: c.id, Tick: c.Tick(), Received: c.frame.now})
	}
	c.conn.Accept(in, c.frame.now)
	if content.closed != nil {
		c.sendAck()
		c.end(content.closed)
	} else if c.conn.AckNow() {
		c.sendAck()
	}
}

// unreadable ends the connection unless the packet may be anyone's: one that failed the checksum, or came twice.
func (c *Client) unreadable(err error) {
	switch reason := peer.CloseReason(err); {
	case reason == peer.ReasonNone || c.state != Connected:
	case reason == peer.ReasonMalformed:
		c.malformed(err)
	default:
		c.part(&peer.Error{Reason: reason})
	}
}

// malformed ends the connection with a server that sent what no server sends, inside a checksum that holds.
func (c *Client) malformed(err error) {
	c.stats.Malformed++
	c.part(&peer.Error{Reason: peer.ReasonMalformed, Detail: err.Error()})
}

// readSnapshot says whether the packet may be acknowledged: its snapshot was decoded whole.
func (c *Client) readSnapshot(payload []byte) bool {
	err := c.replica.Read(payload)
	switch {
	case err == nil:
		return true
	case errors.Is(err, snapshot.ErrStale):
		c.stats.StaleSnapshots++
	case errors.Is(err, snapshot.ErrBaseline):
		c.stats.LostBaselines++
	default:
		c.malformed(err)
	}
	return false
}
