package netcode

import (
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/wire"
)

// takeCollection does what a message says about an entity's collection.
func takeCollection(ctx *Context, payload []byte) {
	c := courierOf(ctx.End)
	if c == nil || c.client == nil || c.collections.again {
		return
	}
	if ctx.Channel != collectionsChannel() || ctx.Entity.IsZero() {
		c.client.refusePacket(&peer.Error{Reason: peer.ReasonMalformed, Detail: "a collection out of its channel"})
		return
	}
	c.client.followReplica()
	if l := c.client.seat(); l != nil && !l.collector.Names(ctx.Entity) {
		return // it has left the player's sight since that was said
	}
	if err := c.collections.copy.Apply(ctx.Entity, payload); err != nil {
		c.client.refusePacket(&peer.Error{Reason: peer.ReasonMalformed, Detail: err.Error()})
	}
}

// followReplica forgets the collections of an earlier connection.
func (c *Client) followReplica() {
	k := &c.collections
	if k.of != c.replica {
		k.of = c.replica
		k.copy.Reset()
	}
}

// keepCollections forgets the collections of entities that a snapshot has ended. It is to be called after each one, since
// the next may bring the same entity again.
func (c *Client) keepCollections() {
	k := &c.collections
	if k.copy == nil || k.copy.Len() == 0 {
		return
	}
	c.followReplica()
	for _, index := range c.replica.Changed() {
		e := c.replica.Entity(index)
		if !e.Alive {
			e.ID = wire.NetworkID{}
		}
		k.copy.Keep(index, e.ID)
	}
}

// keepSeen forgets the collections of entities that a host's player does not see any more: no snapshot ends them.
func (c *Client) keepSeen() {
	if l := c.seat(); l != nil && l.collector.kept != l.view.Sights() {
		l.collector.kept = l.view.Sights()
		c.collections.copy.KeepSeen(&l.collector)
	}
}

// tellGone tells of collections that are gone, those of an earlier connection too, when the stage comes in which their changes
// are told: entities have gone by then.
func (c *Client) tellGone(stage Stage) {
	if stage == collectionsStage && c.collections.copy != nil {
		c.followReplica()
		c.keepSeen()
		c.collections.copy.TellGone()
	}
}
