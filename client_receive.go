package netcode

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Receive takes one datagram. It keeps nothing of packet. What does not come from the server is counted and dropped.
func (c *Client) Receive(from netip.AddrPort, packet []byte) {
	kind := peer.KindOf(packet)
	for _, f := range c.hooks.received {
		f(packet)
	}
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
		switch closed := c.closingPacket(in, peer.RoleClient); {
		case closed && c.leaving:
			c.sendAck()
		case closed:
			c.drop()
		}
		return
	}
	content, reason := c.judge(&c.link, &in)
	if reason != nil {
		c.refusePacket(reason)
		return
	}
	c.heard = c.frame.now
	if content.snapshot != nil && !c.readSnapshot(content.snapshot) {
		return
	}
	c.hearTick(&in, &content)
	c.takeSections(content.sections)
	if content.credited {
		c.outgoing.Credit(content.credit)
	}
	if content.messages > 0 {
		if reason := c.queue(&c.link, &in, content.plain); reason != nil {
			c.refusePacket(reason)
			return
		}
	}
	if content.resync {
		c.own.view.Resync(content.resyncEpoch, c.conn.Next())
	}
	c.conn.Accept(in, c.frame.now)
	if content.closed != nil {
		c.sendAck()
		c.leave(content.closed)
	} else if c.conn.AckNow() {
		c.sendAck()
	}
}

// unreadable ends the connection unless the packet may be anyone's: one that failed the checksum, or came twice.
func (c *Client) unreadable(err error) {
	switch reason := peer.CloseReason(err); {
	case reason == peer.ReasonNone || c.state != Connected:
	case reason == peer.ReasonMalformed:
		c.refusePacket(closeError(err))
	default:
		c.part(&peer.Error{Reason: reason}, false)
	}
}

// refusePacket ends the connection with a server that sent what no server sends, inside a checksum that holds.
func (c *Client) refusePacket(reason *peer.Error) {
	c.stats.refused(reason)
	c.part(reason, false)
}

// refuseEntities ends the connection with a server that has more of something than Config.MaxEntities.
func (c *Client) refuseEntities(of string) {
	c.End(&peer.Error{
		Reason: peer.ReasonTooManyEntities, Detail: fmt.Sprintf("the server has more %s than Config.MaxEntities of the client, %d", of, c.agreed.MaxEntities),
	})
}

// readSnapshot says whether the packet may be acknowledged: its snapshot was decoded whole.
func (c *Client) readSnapshot(payload []byte) bool {
	err := c.replica.Read(payload)
	switch {
	case err == nil:
		c.applied = false
		call(c.hooks.read)
		return true
	case errors.Is(err, replica.ErrStale):
		c.stats.StaleSnapshots++
	case errors.Is(err, replica.ErrBaseline):
		c.stats.LostBaselines++
	case errors.Is(err, replica.ErrTooMany):
		c.refuseEntities("entities")
	default:
		c.refusePacket(&peer.Error{Reason: peer.ReasonMalformed, Detail: err.Error()})
	}
	return false
}

// Applied tells the client that its world has everything that Replica holds. The system Apply says so after each run; only
// then are messages handled that speak of an entity which has just come.
func (c *Client) Applied() {
	c.applied = true
	for _, f := range c.hooks.applied {
		f(c.Present())
	}
}

// holds tells if the server shows an entity at present.
func (c *Client) holds(id wire.NetworkID) bool {
	if c.host != nil {
		return c.host.store.Alive(id)
	}
	if c.replica == nil {
		return false
	}
	e := c.replica.Entity(id.Index)
	return e.Alive && e.ID == id
}

// exists says of an entity whether a message about it may be handled: it is in the world, it may still come, or it was and
// is gone.
func (c *Client) exists(id wire.NetworkID) message.Existence {
	if c.host != nil {
		return c.host.exists(id)
	}
	if c.replica == nil {
		return message.NotYet
	}
	e := c.replica.Entity(id.Index)
	switch {
	case e.ID.Generation < id.Generation:
		return message.NotYet
	case e.ID != id || !e.Alive:
		return message.Never
	case !c.applied && c.replica.HasChanged(id.Index):
		return message.NotYet
	}
	return message.Exists
}

// ready says whether the state of an entity has come, as of a tick of the server, and is in the world.
func (c *Client) ready(_ wire.ClientID, id wire.NetworkID, state tick.Tick) bool {
	if c.host != nil || c.replica == nil {
		return true
	}
	e := c.replica.Entity(id.Index)
	return e.ID.Generation > id.Generation || e.ID == id && e.Tick >= state && (c.applied || !c.replica.HasChanged(id.Index))
}
