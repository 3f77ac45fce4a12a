package netcode

import (
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

// stateSender is the code that sends the state of a client. SendState sets this interface, so that the linker omits the
// code from programs that never call SendState.
type stateSender interface {
	openUpstream(config snapshot.Config)
	planUpstream()
	addUpstream(b *peer.Builder) bool
	resyncUpstream(epoch uint16)
}

// upstreamSender implements stateSender.
type upstreamSender struct{ *Client }

// SendState lets the client send state. Call it in ClientSide.Client of an extension with Upstream.
func (c clientInside) SendState() {
	if !c.protocol.types.Upstream {
		panic("netcode: Client.SendState: set Upstream of an extension, so that servers take the state")
	}
	c.sender = upstreamSender{c.Client}
}

// openUpstream begins the upstream state of a connection.
func (c upstreamSender) openUpstream(config snapshot.Config) {
	c.core.Store = snapshot.NewStore(c.protocol.types.Schema, config)
	c.link.Show(snapshot.NewView(c.core.Store, config))
}

// resyncUpstream begins to send all state again, on request of the server.
func (c upstreamSender) resyncUpstream(epoch uint16) {
	c.link.View.Resync(epoch, c.link.Conn.Next())
}

// Upstream is the store of the state that this client sends, for extensions: they capture into it in CaptureOwn, or earlier in
// a frame in which TickDue. It is nil where no extension calls SendState, and for the player of a host.
func (c clientInside) Upstream() *snapshot.Store { return c.core.Store }

// Upstream is the state that the client sent, for extensions: they set its Guard in Opened, and take in what has changed. It is
// nil where no extension sets Extension.Upstream, and for the player of a host.
func (c *session) Upstream() *replica.Replica { return c.link.State }

// planUpstream begins the packets of a tick: it captures the state and plans the rows that the server lacks.
func (c upstreamSender) planUpstream() {
	if c.link.View == nil || !c.frame.Due {
		return
	}
	for _, f := range c.hooks.captureOwn {
		f()
	}
	if size := c.link.Conn.SettledSize(); size != c.link.Fitted {
		c.link.FitPath(c.link.View, size)
	}
	c.link.View.Observe()
	if rtt, _ := c.link.Conn.RTT(); !c.link.View.Pending() && c.core.Store.Tick() != tick.None {
		c.link.View.Repeat(c.core.Store.Tick() - max(1, tick.Tick(rtt/2/c.agreed.interval())))
	}
	c.link.View.Plan(c.link.Budget.Left())
}

// addUpstream writes state that the server lacks into a packet.
func (c upstreamSender) addUpstream(b *peer.Builder) bool {
	if c.link.View == nil || !c.frame.Due || !c.link.View.Pending() || c.core.Store.Tick() == tick.None {
		return false
	}
	return c.link.AddState(b, c.link.View, c.core.Store.EncodeCache()) != nil
}

// sendUpstream sends state that the server lacks, within the budget. Messages share the packets.
func (c *Client) sendUpstream() {
	for c.link.View != nil && c.frame.Due && c.link.View.Pending() {
		if c.link.OutOfBudget() {
			return
		}
		b := &c.building
		var ok bool
		if *b, ok = c.link.Begin(); !ok || !c.sender.addUpstream(b) {
			return
		}
		c.link.AddMessages(b, false)
		c.link.Finish(b)
	}
}
