package netcode

import (
	"errors"
	"fmt"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// upstream is the state that a client sends: a store of its own, and what the server lacks of it. Both are nil where no
// extension sets Extension.Upstream, and for the player of a host.
type upstream struct {
	store *snapshot.Store
	view  *snapshot.View
}

// newUpstream begins the upstream state of a connection.
func newUpstream(p *Protocol, config snapshot.Config) (u upstream) {
	if p.upstream {
		u.store = snapshot.NewStore(p.schema, config)
		u.view = snapshot.NewView(u.store, config)
	}
	return u
}

// Upstream is the store of the state that this client sends, for extensions: they capture into it in CaptureOwn, or earlier in
// a frame in which TickDue. It is nil where no extension sets Extension.Upstream, and for the player of a host.
func (c *Client) Upstream() *snapshot.Store { return c.up.store }

// Upstream is the state that the client sent, for extensions: they set its Guard in Opened, and take in what has changed. It is
// nil where no extension sets Extension.Upstream, and for the player of a host.
func (c *Session) Upstream() *replica.Replica { return c.upstream }

// owns tells if messages about an entity follow the client's own state.
func (c *Client) owns(id wire.NetworkID) bool {
	for _, f := range c.hooks.owns {
		if f(id) {
			return true
		}
	}
	return false
}

// planUpstream begins the packets of a tick: it captures and plans what the server lacks.
func (c *Client) planUpstream() {
	u := &c.up
	if u.view == nil || !c.frame.Due {
		return
	}
	call(c.hooks.captureOwn)
	c.link.FitPath(u.view)
	u.view.Observe()
	if rtt, _ := c.link.Conn.RTT(); !u.view.Pending() && u.store.Tick() != tick.None {
		u.view.Repeat(u.store.Tick() - max(1, tick.Tick(rtt/2/c.Interval())))
	}
	u.view.Plan(c.link.Budget.Left())
}

// addUpstream puts state that the server lacks into a packet.
func (c *Client) addUpstream(b *peer.Builder) bool {
	u := &c.up
	if u.view == nil || !c.frame.Due || !u.view.Pending() || u.store.Tick() == tick.None {
		return false
	}
	return c.link.AddState(b, u.view, u.store.EncodeCache()) != nil
}

// sendUpstream sends state that the server lacks, as far as the budget goes. Messages share the packets.
func (c *Client) sendUpstream() {
	for u := &c.up; u.view != nil && c.frame.Due && u.view.Pending(); {
		if c.link.Short() {
			return
		}
		b, ok := c.link.Begin()
		if !ok || !c.addUpstream(&b) {
			return
		}
		c.link.Load(&b, false)
		c.link.Finish(&b)
	}
}

// readUpstream reports whether a packet may be acknowledged: the client's snapshot was decoded whole.
func (s *Server) readUpstream(c *Session, payload []byte) bool {
	err := c.upstream.Read(payload)
	switch {
	case err == nil:
		return true
	case errors.Is(err, replica.ErrGuarded):
		s.strike(c)
	case errors.Is(err, replica.ErrStale):
		s.stats.StaleSnapshots++
	case errors.Is(err, replica.ErrBaseline):
		s.stats.LostBaselines++
	default:
		s.refusePacket(c, closeError(err))
	}
	return false
}

// strike counts a packet that no honest client sends. After Config.Strikes of them the connection ends.
func (s *Server) strike(c *Session) {
	s.stats.NotAllowed++
	if c.strikes++; c.strikes >= s.config.Strikes {
		c.End(&peer.Error{Reason: peer.ReasonNotAllowed, Detail: fmt.Sprintf("%d writes without authority", c.strikes)})
	}
}
