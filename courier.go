package netcode

import (
	"github.com/arche-netcode/netcode/internal/calls"
	"github.com/arche-netcode/netcode/internal/report"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// courier is what a server and a client have alike for messages: what waits for its stage here, what was sent, and who waits
// for an answer.
type courier struct {
	server *Server // One of the two is nil.
	client *Client

	protocol *Protocol
	frame    *frame
	report   *report.Reporter
	stats    *Stats

	plain    [1 << 8]message.Codec // Of the types that may come here on channel 0 of Unreliable without flags.
	sizes    message.Sizes         // Of these, how long their payloads are where that is all that has to be known.
	plains   []message.Simple      // Messages of these types in the packet that was judged last.
	inbound  *message.Inbound
	outbound *message.Outbound
	pool     *peer.Pool
	types    message.Cache
	doors    doors
	buffers  [][]byte // For messages that are encoded before it is known where to: as many as are sent within each other.
	calls    calls.Table

	running bool // A frame is under way.

	sections [wire.FirstUserMessage][]byte // Of the packet that was judged last, by type.

	from    *link        // Whose packet is being queued.
	unheard [1 << 8]bool // Types without a handler here, or unknown, of which one came, and was told of.
	fault   error        // What is wrong with it after all.
	arrived func(a *peer.Arrival)
}

// courierOf returns the courier of an end: a server, a client, or a type that embeds one. It returns nil for what is no end.
func courierOf(end Endpoint) *courier {
	switch e := end.(type) {
	case *Server:
		return e.itsCourier()
	case *Client:
		return e.itsCourier()
	case interface{ itsCourier() *courier }:
		return e.itsCourier()
	}
	return nil
}

// ServerOf returns the server that an end is, or embeds; nil for a client.
func ServerOf(end Endpoint) *Server {
	if c := courierOf(end); c != nil {
		return c.server
	}
	return nil
}

// ClientOf returns the client that an end is, or embeds; nil for a server.
func ClientOf(end Endpoint) *Client {
	if c := courierOf(end); c != nil {
		return c.client
	}
	return nil
}

// itsCourier returns the courier of a server, nil for a nil server.
func (s *Server) itsCourier() *courier {
	if s == nil {
		return nil
	}
	return &s.courier
}

// itsCourier returns the courier of a client, nil for a nil client.
func (c *Client) itsCourier() *courier {
	if c == nil {
		return nil
	}
	return &c.courier
}

// endpoint is an end that knows of entities whether messages about them may be handled.
type endpoint interface {
	Endpoint
	exists(id wire.NetworkID) message.Existence
	ready(from wire.ClientID, id wire.NetworkID, state tick.Tick) bool
}

// setUp makes the queues; the fields that say whose courier it is are set.
func (c *courier) setUp(end endpoint, config Config) {
	others := 1
	if c.server != nil {
		others = config.Clients
	}
	c.inbound = message.NewInbound(message.Config{
		Registry: &c.protocol.messages, End: end, Limits: config.queues(others), History: config.History,
		Exists: end.exists, Ready: end.ready, Special: c.special, Panicked: c.panicked, Unhandled: c.unhandled,
	})
	c.outbound = message.NewOutbound(config.History, config.queues(others))
	c.pool = peer.NewPool(config.PacketSize)
	c.calls = calls.New(config.Calls)
	c.calls.Late, c.calls.Tell = ErrDeadline, c.tellCaller
	c.arrived = c.arrive
	for id := range c.sizes {
		c.sizes[id] = message.NoSize
	}
	for _, h := range c.protocol.handled {
		if h.role == alone && h.of.Direction.Allows(c.server == nil) && (c.client != nil || !h.of.OwnerOnly) {
			c.plain[h.of.ID()], c.sizes[h.of.ID()] = h.of.Codec, h.of.Codec.AlwaysLegal()
		}
		if h.role == alone && h.of.Direction.Allows(c.server != nil) && !h.of.OwnerOnly && h.of.Channel == 0 && config.History == 0 {
			c.types.Allow(h.of)
		}
	}
}

// role is which end this is, in the table of states.
func (c *courier) role() peer.Role {
	if c.server != nil {
		return peer.RoleServer
	}
	return peer.RoleClient
}

// stage is where the end is in its frame; outside of a frame it sends as in tick.Update.
func (c *courier) stage() tick.Stage {
	if !c.running {
		return tick.Update
	}
	return c.inbound.Stage()
}

// beginFrame starts a frame: calls whose time is over end first.
func (c *courier) beginFrame() {
	c.running = true
	c.inbound.Begin(c.frame.now, c.frame.clock.Tick())
	c.inbound.Due(c.due())
	c.outbound.Begin(c.frame.now, c.frame.clock.Tick())
	late, cancelled := c.calls.Expire(c.frame.now)
	c.stats.CallsLate += late
	c.stats.CallsCancelled += cancelled
}

// due is the tick that messages wait for. The client's own count gives up what a stall was too long for, so at a client the
// server's tick counts, as ServerTime estimates it, once that is the later one; a host's player lives in the server's.
func (c *courier) due() tick.Tick {
	switch own := c.frame.clock.Tick(); {
	case c.client == nil:
		return own
	case c.client.host != nil:
		return c.client.host.Tick()
	case c.client.state == Connected || c.client.leaving:
		return max(own, c.client.ServerTime().Tick)
	default:
		return own
	}
}

// endFrame ends it.
func (c *courier) endFrame() { c.running = false }

// gone forgets an end whose connection is over: nothing of what it sent is handled any more.
func (c *courier) gone(l *link) {
	if l.source != nil {
		c.stats.OfTheGone += uint64(c.inbound.Drop(l.source))
	}
}

// record keeps a message that was sent for the history.
func (c *courier) record(to wire.ClientID, p *peer.Post, body []byte) {
	if !c.outbound.On() {
		return
	}
	m := localMessage(p)
	c.outbound.Record(to, &m, body)
}

// panicked ends the connection of whoever sent a message that a handler panicked on. The other messages are handled.
func (c *courier) panicked(ctx *Context, value any) {
	c.stats.HandlerPanics++
	failed := PanicError{Name: nameAnswer, Sender: ctx.Sender, Value: value}
	if of, ok := c.protocol.messages.Lookup(ctx.Type); ok {
		failed.Name, failed.Message = of.Name, true
	}
	c.blame(failed)
}

// unhandled tells of a type that comes although this end gave nil as its handler: once, since all that follow are dropped alike.
func (c *courier) unhandled(t wire.MessageType) {
	if c.unheard[t] {
		return
	}
	c.unheard[t] = true
	if of, ok := c.protocol.messages.Lookup(t); ok {
		c.report.Error(&UnhandledError{Name: of.Name})
	}
}

// part ends the connection to an end at once.
func (c *courier) part(with wire.ClientID, reason *peer.Error) {
	switch {
	case c.client != nil:
		switch {
		case c.client.leaving:
			c.client.end(reason)
		case c.client.state == Connected:
			c.client.part(reason, false)
		}
	default:
		if s := c.server.present(with); s != nil {
			c.server.end(s, reason, endTold)
		}
	}
}

// knows tells if there is an end of that id which the game was not told to be gone.
func (c *courier) knows(id wire.ClientID) bool {
	if c.client != nil {
		return id == 0 && (c.client.state == Connected || c.client.leaving)
	}
	return c.server.present(id) != nil
}

// linkTo is the connection to an end by its id.
func (c *courier) linkTo(id wire.ClientID) (*link, error) {
	switch {
	case c.server != nil:
		if s := c.server.client(id); s != nil {
			return &s.link, nil
		}
	case id != 0:
		return nil, ErrRecipient
	case c.client.state == Connected:
		return &c.client.link, nil
	}
	return nil, ErrNotConnected
}
