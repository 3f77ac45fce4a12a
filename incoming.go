package netcode

import (
	"fmt"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/link"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/registry"
	"github.com/arche-netcode/netcode/internal/report"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// packetContents has the effect of the messages of one packet. Its slices point into the packet.
type packetContents struct {
	messages    int              // Messages for the game, and fragments of messages.
	snapshot    []byte           // May be nil.
	closed      *errs.CloseError // Nil without a close message.
	resync      bool
	resyncEpoch uint16
	credited    bool
	credit      uint32
	sections    uint16 // Bit t: the section of type t.
	pulsed      bool   // A keep-alive of the server had its tick.
	pulse       uint16
	idle        bool // The keep-alive was not padded: the server had sent all state up to the tick.
}

// judgePacket validates every message of a packet before any takes effect. The error is the reason to end the connection:
// no honest peer sent this packet.
func (c *endpointCore) judgePacket(l *connection, in *peer.Incoming) (packetContents, *errs.CloseError) {
	var got packetContents
	r := in.Messages()
	for r.Next() {
		if err := c.judgeMessage(l, &r, &got); err != nil {
			return packetContents{}, closeError(err)
		}
	}
	if err := r.Err(); err != nil {
		return packetContents{}, closeError(err)
	}
	return got, nil
}

// closeError returns the reason to end a connection for an error of a packet.
func closeError(err error) *errs.CloseError {
	reason := peer.CloseReason(err)
	if reason == errs.ReasonNone {
		reason = errs.ReasonMalformed
	}
	return &errs.CloseError{Reason: reason, Detail: err.Error()}
}

// judgeMessage validates a message.
func (c *endpointCore) judgeMessage(l *connection, r *peer.Reader, got *packetContents) error {
	h := r.Header
	if h.Type < wire.FirstUserMessage && c.sections.in[h.Type] != nil {
		return c.sections.judge(l.session, r, got)
	}
	switch {
	case peer.Allowed(peer.StateConnected, c.role, h.Type) != peer.VerdictAccept:
		return fmt.Errorf("message type %d", h.Type)
	case h.Type < wire.FirstUserMessage && h.Type != wire.MessageFragment && h.Type != wire.MessageRefusal:
		if r.Channel != 0 {
			return fmt.Errorf("message type %d on channel %s", h.Type, r.Channel)
		}
		if !c.protocol.types.Upstream && (h.Type == wire.MessageSnapshot && c.server != nil || h.Type == wire.MessageResync && c.client != nil) {
			return fmt.Errorf("message type %d, though clients write nothing", h.Type)
		}
		if l.older.Plain() && (h.Type == wire.MessageSnapshot || h.Type == wire.MessageResync) {
			return fmt.Errorf("message type %d, from a client of the plain profile", h.Type)
		}
		return got.take(h, r.Payload, c.role)
	}
	var a peer.Arrival
	if err := a.Open(r.Channel, h, r.Payload); err != nil {
		return err
	}
	if err := l.Arrivals.Judge(&a); err != nil {
		return err
	}
	got.messages++
	if h.Type == wire.MessageFragment {
		return nil
	}
	return c.judgeWhole(&a)
}

// take validates one of netcode's own messages. A packet has at most one of each kind.
func (c *packetContents) take(h wire.MessageHeader, payload []byte, role peer.Role) error {
	if h.Stage != tick.Initialization {
		return fmt.Errorf("message type %d in stage %s", h.Type, h.Stage)
	}
	switch {
	case h.Type == wire.MessageKeepAlive && role == peer.RoleServer && isPadding(payload):
		return nil
	case h.Type == wire.MessageKeepAlive && role == peer.RoleClient && !c.pulsed && len(payload) >= link.PulseSize && isPadding(payload[link.PulseSize:]):
		c.pulsed, c.pulse, c.idle = true, link.ParsePulse(payload), len(payload) == link.PulseSize
		return nil
	case h.Type == wire.MessageSnapshot && c.snapshot == nil && len(payload) > 0:
		c.snapshot = payload
		return nil
	case h.Type == wire.MessageResync && !c.resync && len(payload) == link.ResyncSize:
		c.resync, c.resyncEpoch = true, link.ParseResync(payload)
		return nil
	case h.Type == wire.MessageCredit && !c.credited && len(payload) == peer.CreditSize:
		c.credited = true
		c.credit, _ = peer.ParseCredit(payload)
		return nil
	case h.Type == wire.MessageClose && c.closed == nil:
		reason, err := peer.ParseClose(payload)
		c.closed = &reason
		return err
	}
	return fmt.Errorf("message type %d of %d bytes", h.Type, len(payload))
}

// isPadding reports whether all bytes are zero. A keep-alive that probes a packet size is padded with zeros.
func isPadding(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// judgeWhole validates a whole message of the game, or a refusal: the direction of its type, its fields, and that it
// belongs to a call if and only if its type does. A message of an unregistered type is legal and has no effect.
func (c *endpointCore) judgeWhole(a *peer.Arrival) error {
	h := a.Header
	if h.Type == wire.MessageRefusal {
		if !peer.LegalRefusal(a.Body) {
			return fmt.Errorf("refusal of %d bytes that is not legal", len(a.Body))
		}
		return nil
	}
	of, ok := c.protocol.types.Messages.Lookup(h.Type)
	switch {
	case !ok: // Method ignore handles it later.
		return nil
	case !of.Direction.Allows(c.server == nil):
		return fmt.Errorf("message %s goes the other way", of.Name)
	case (c.protocol.types.Roles[h.Type] != registry.Alone) != (h.Flags&wire.FlagCall != 0):
		return fmt.Errorf("message %s with a call that is not its own", of.Name)
	case h.Flags&wire.FlagState != 0 && c.server != nil && !c.protocol.types.Upstream:
		return fmt.Errorf("message %s after state, though clients write nothing", of.Name)
	case of.OwnerOnly && c.server != nil && h.Flags&wire.FlagEntity == 0:
		return fmt.Errorf("message %s about no entity", of.Name)
	case !of.Codec.Check(c.inbound.Scratch(), a.Body):
		return fmt.Errorf("message %s of %d bytes that is not legal", of.Name, len(a.Body))
	}
	return nil
}

// queue puts the game's messages of a validated packet into the queues of Dispatch. The error is a reason to end the
// connection that appears only now: contradicting messages, or fragments that form no message.
func (c *endpointCore) queue(l *connection, in *peer.Incoming) *errs.CloseError {
	c.inbound.From(l.Source, c.frame.Clock.Tick(), c.frame.Now)
	c.from, c.fault = l, nil
	r := in.Messages()
	for r.Next() {
		h := r.Header
		if h.Type < wire.FirstUserMessage && h.Type != wire.MessageFragment && h.Type != wire.MessageRefusal {
			continue
		}
		if err := l.Arrivals.Take(in.Sequence, r.Channel, h, r.Payload, c.arrived); err != nil {
			return closeError(err)
		}
		if c.fault != nil {
			return closeError(c.fault)
		}
	}
	l.NoteMessages()
	return nil
}

// queueArrival queues a message that is due. A message that arrived in fragments is validated here, where it is whole.
func (c *endpointCore) queueArrival(a *peer.Arrival) {
	if c.fault != nil {
		return
	}
	if a.Joined {
		if c.fault = c.judgeWhole(a); c.fault != nil {
			return
		}
	}
	if _, known := c.protocol.types.Messages.Lookup(a.Header.Type); !known && a.Header.Type >= wire.FirstUserMessage {
		c.ignore(a)
		return
	}
	m := message.Message{
		Type: a.Header.Type, Stage: a.Header.Stage, Channel: a.Channel, Entity: a.Entity, Cost: a.Cost,
		Call: a.Call, HasCall: a.Header.Flags&wire.FlagCall != 0,
	}
	if a.Header.Flags&wire.FlagTick != 0 {
		now := c.self.due()
		m.NotBefore = max(now+tick.Tick(int16(a.Tick-uint16(now))), tick.None)
	}
	if a.Header.Flags&wire.FlagState != 0 {
		m.State = max(tick.Near(a.State, c.newestOf(c.from)), tick.None)
	}
	if c.server != nil && !a.Entity.IsZero() && !c.server.mayConcern(c.from.Remote, a.Entity) {
		c.from.Arrivals.Freed(a.Cost)
		return
	}
	_ = c.inbound.Push(&m, a.Body) // Push counts refusals; for a reliable message the source has a Fault.
}

// newestOf returns the newest tick of state from the other end of a connection.
func (c *endpointCore) newestOf(l *connection) tick.Tick {
	if c.client != nil {
		return c.client.replica.Tick()
	}
	if l.session.upstream != nil {
		return l.session.upstream.Tick()
	}
	return tick.None
}

// ignore drops a message of an unknown type, and logs the first of each type. Its number counts as delivered and its credit is
// returned. A question is refused, so that its caller does not wait.
func (c *endpointCore) ignore(a *peer.Arrival) {
	c.stats.UnknownTypes++
	if t := a.Header.Type; !c.toldTypes[t] {
		c.toldTypes[t] = true
		c.report.Log(report.Warn, "a message of an unknown type came and was ignored, as will be all of them", "type", t, "sender", c.from.Remote)
	}
	c.from.Arrivals.Freed(a.Cost)
	if a.Header.Flags&wire.FlagCall != 0 {
		c.postRefusal(c.from, peer.Post{Stage: a.Header.Stage, Channel: a.Channel, Call: a.Call}, errNobody)
	}
}

// special handles refusals and messages of calls.
func (c *endpointCore) special(ctx *Context, payload []byte) {
	if ctx.Type == wire.MessageRefusal {
		if text, err := peer.ParseRefusal(payload); err == nil {
			c.refused(ctx.Call, ctx.Sender, text)
		}
		return
	}
	if codec := c.inbound.Codec(ctx.Type); codec != nil { // The function of OnCall, if this end has one.
		codec.Handle(ctx, payload)
	}
}

// holds reports whether the server shows an entity now.
func (c *Client) holds(id wire.NetworkID) bool {
	if c.host != nil {
		return c.host.Has(id)
	}
	if c.replica == nil {
		return false
	}
	e := c.replica.Entity(id.Index)
	return e.Alive && e.ID == id
}

// exists returns whether the entity of a message is in the world, may still arrive, or is gone.
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

// ready reports whether the state of an entity as of a tick of the server has arrived and is in the world.
func (c *Client) ready(_ wire.ClientID, id wire.NetworkID, state tick.Tick) bool {
	if c.host != nil || c.replica == nil {
		return true
	}
	e := c.replica.Entity(id.Index)
	return e.ID.Generation > id.Generation || e.ID == id && e.Tick >= state && (c.applied || !c.replica.HasChanged(id.Index))
}

// deliverLocal passes an encoded message to the other end of a link in this process.
func (l *connection) deliverLocal(sender wire.ClientID, p *peer.Post, body []byte) error {
	if l.loopback.inbound == nil {
		return nil // The session of a recorded player.
	}
	local := localMessage(p)
	return l.loopback.inbound.PushLocal(l.loopback.sourceOf(sender), &local, body)
}

// sourceOf returns the source of messages from an end in this process.
func (c *endpointCore) sourceOf(sender wire.ClientID) *message.Source {
	if c.client != nil {
		return c.client.link.Source
	}
	if s := c.server.client(sender); s != nil {
		return s.link.Source
	}
	return c.inbound.Local()
}
