package netcode

import (
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// upstream is the state that a client sends: a store of its own, and the server's view of it. Both are nil if no
// extension calls SendState, and for the player of a host.
type upstream struct {
	store *snapshot.Store
	view  *snapshot.View
}

// stateSender is the code that sends the state of a client. SendState sets this interface, so that the linker omits the
// code from programs that never call SendState.
type stateSender interface {
	openUpstream(config snapshot.Config)
	planUpstream()
	addUpstream(b *peer.Builder) bool
	ackedUpstream(packet uint64, lost bool)
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
	c.up.store = snapshot.NewStore(c.protocol.types.Schema, config)
	c.up.view = snapshot.NewView(c.up.store, config)
}

// ackedUpstream handles a packet that was acknowledged or is presumed lost.
func (c upstreamSender) ackedUpstream(packet uint64, lost bool) {
	switch {
	case c.up.view == nil:
	case lost:
		c.up.view.Lost(packet)
	default:
		c.up.view.Acked(packet)
	}
}

// resyncUpstream begins to send all state again, on request of the server.
func (c upstreamSender) resyncUpstream(epoch uint16) {
	c.up.view.Resync(epoch, c.link.Conn.Next())
}

// Upstream is the store of the state that this client sends, for extensions: they capture into it in CaptureOwn, or earlier in
// a frame in which TickDue. It is nil where no extension calls SendState, and for the player of a host.
func (c clientInside) Upstream() *snapshot.Store { return c.up.store }

// Upstream is the state that the client sent, for extensions: they set its Guard in Opened, and take in what has changed. It is
// nil where no extension sets Extension.Upstream, and for the player of a host.
func (c *session) Upstream() *replica.Replica { return c.upstream }

// owns returns the id under which the client's own state has an entity whose messages follow that state; zero is none.
func (c *Client) owns(id wire.NetworkID) wire.NetworkID {
	for _, f := range c.hooks.owns {
		if own := f(id); !own.IsZero() {
			return own
		}
	}
	return wire.NetworkID{}
}

// planUpstream begins the packets of a tick: it captures the state and plans the rows that the server lacks.
func (c upstreamSender) planUpstream() {
	u := &c.up
	if u.view == nil || !c.frame.Due {
		return
	}
	for _, f := range c.hooks.captureOwn {
		f()
	}
	if size := c.link.Conn.SettledSize(); size != c.link.Fitted {
		c.link.FitPath(u.view, size)
	}
	u.view.Observe()
	if rtt, _ := c.link.Conn.RTT(); !u.view.Pending() && u.store.Tick() != tick.None {
		u.view.Repeat(u.store.Tick() - max(1, tick.Tick(rtt/2/c.agreed.interval())))
	}
	u.view.Plan(c.link.Budget.Left())
}

// addUpstream writes state that the server lacks into a packet.
func (c upstreamSender) addUpstream(b *peer.Builder) bool {
	u := &c.up
	if u.view == nil || !c.frame.Due || !u.view.Pending() || u.store.Tick() == tick.None {
		return false
	}
	return c.link.AddState(b, u.view, u.store.EncodeCache()) != nil
}

// sendUpstream sends state that the server lacks, within the budget. Messages share the packets.
func (c *Client) sendUpstream() {
	for c.up.view != nil && c.frame.Due && c.up.view.Pending() {
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
