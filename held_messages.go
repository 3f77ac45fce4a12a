package netcode

import (
	"github.com/arche-netcode/netcode/internal/held"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// A message about an entity is held back while the other end lacks the entity. A reliable message is sent when the other
// end has acknowledged the entity, an unreliable one when the entity was sent. If the entity dies or is hidden before, no
// byte of the message is sent. A message that follows state waits for the next capture. Package internal/held stores the
// messages.

// hold holds a message back. It returns an error without room for the message.
func (l *connection) hold(p *held.Envelope, name string, body []byte) error {
	longest := p.Post
	if p.AsOf != tick.None && p.Flags&wire.FlagEntity != 0 {
		longest.Flags |= wire.FlagState
	}
	limits := held.Limits{Unreliable: l.config.OutboxBytes, Reliable: l.config.ReliableBytes}
	switch {
	case len(body) > l.Outgoing.MaxBody(&longest):
		return l.failed(peer.ErrTooLarge, name, &longest, len(body))
	case l.held.Add(p, name, body, l.Frame.Now, limits):
		if p.Missing {
			l.stats.Delayed++
		}
		return nil
	case p.Channel.Delivery().Reliable():
		return l.failed(peer.ErrBackPressure, name, &longest, len(body))
	}
	return l.failed(peer.ErrQueueFull, name, &longest, len(body))
}

// dropHeld drops the held messages of a connection that is over.
func (l *connection) dropHeld() {
	if l.held == nil {
		return
	}
	if list := l.held.Messages(); l.Undelivered != nil {
		for i := range list {
			if m := &list[i]; !m.Gone() && m.Channel.Delivery().Reliable() {
				l.Undelivered(m.Post, l.held.Body(m), true)
			}
		}
	}
	l.stats.DelayedDropped += uint64(l.held.Count)
	l.held = nil
}

// nextCapture returns the tick that will capture the present writes of game code. captured is the newest captured tick.
func (c *endpointCore) nextCapture(captured tick.Tick) tick.Tick {
	if now := c.frame.Clock.Tick(); c.frame.Due && max(captured, c.sentUpTo) < now {
		return now
	}
	return c.frame.Clock.Tick() + 1
}

// holdsBack reports whether a message cannot be sent yet, and sets the state and the tick that it waits for.
func (c *endpointCore) holdsBack(l *connection, p *held.Envelope, body []byte) bool {
	if c.client != nil {
		c.client.awaitAction(p)
	}
	e := l.held
	p.Missing, p.AsOf = false, tick.None
	early := c.server != nil && c.server.namesEarly(p.Type, body)
	if e == nil || !early && !p.AboutEntity() && p.After != held.AfterAll && e.Count == 0 && p.Seers.IsZero() {
		return false
	}
	follows := p.After == held.AfterAll || p.After == held.AfterEntity && p.AboutEntity()
	if c.server != nil {
		p.Missing = p.AboutEntity() && !ready(l.session.view, &p.Post)
		if follows || early || !p.Seers.IsZero() {
			p.AsOf = c.nextCapture(c.server.store.Tick())
		}
	} else if follows && c.client.up.store != nil && (p.After == held.AfterAll || !c.client.owns(p.Entity).IsZero()) {
		p.AsOf = c.nextCapture(c.client.up.store.Tick())
	}
	waits := e.Holds(p.Missing || p.AsOf != tick.None, &p.Post)
	if waits && p.AsOf == tick.None { // Behind others on its channel.
		p.Missing = true
	}
	return waits
}

// ready reports whether a message about an entity that the client may see can be sent.
func ready(v *snapshot.View, p *peer.Post) bool {
	return v.Held(p.Entity) || !p.Channel.Delivery().Reliable() && v.Sent(p.Entity)
}

// awaitAction makes a client's message that follows its state wait for the tick whose input has the present action.
func (c *Client) awaitAction(p *held.Envelope) {
	if len(c.hooks.actsAt) == 0 || c.host != nil || p.After == held.AfterNothing || p.After == held.AfterEntity && !p.AboutEntity() {
		return
	}
	at := tick.None
	for _, actsAt := range c.hooks.actsAt {
		at = max(at, actsAt())
	}
	if at == tick.None {
		return
	}
	if p.Flags&wire.FlagTick != 0 {
		at = max(at, p.Tick)
	}
	p.Flags |= wire.FlagTick
	p.Tick = at
}

// release sends the held messages that may be sent now, in the order of the calls, and drops those that must not be sent
// any more. The state of this tick must be captured, and observed by the session's view.
func (c *endpointCore) release(l *connection) {
	e := l.held
	var behind [2]uint64 // Channels with a message that stays held: sequenced ones that wait for a capture, ordered ones.
	full := false        // There is no room for more reliable messages.
	list := e.Messages()
	for i := range list {
		m := &list[i]
		mode, number := m.Channel.Delivery(), uint64(1)<<m.Channel.Number()
		switch c.verdict(l, m) {
		case heldGone:
			l.stats.DelayedDropped++
			e.Drop(m)
		case heldReady:
			if mode == wire.ReliableOrdered && behind[1]&number != 0 || mode == wire.UnreliableSequenced && behind[0]&number != 0 {
				continue
			}
			if full = c.letGo(l, m, full); mode == wire.ReliableOrdered && !m.Gone() {
				behind[1] |= number
			}
		case heldStays:
			switch {
			case mode == wire.ReliableOrdered:
				behind[1] |= number
			case mode == wire.UnreliableSequenced && m.AsOf > c.frame.Clock.Tick():
				behind[0] |= number
			}
			if m.Missing && c.server != nil && m.AboutEntity() {
				l.session.view.Urge(m.Entity, l.session.view.Needs(m.Entity, c.server.store.Tick()))
			}
		}
	}
	e.Sweep()
}

// heldVerdict is a decision about a held message.
type heldVerdict uint8

const (
	heldStays heldVerdict = iota
	heldReady
	heldGone
)

// verdict decides about a held message.
func (c *endpointCore) verdict(l *connection, m *held.Message) heldVerdict {
	reliable := m.Channel.Delivery().Reliable()
	late := c.frame.Now-m.Since > l.config.DeferredTime
	switch {
	case m.AboutEntity() && !c.maySee(l, m.Entity):
		return heldGone
	case !m.Seers.IsZero() && !c.maySee(l, m.Seers):
		return heldGone
	case l.held.Overtaken(m):
		return heldGone
	case m.AsOf > c.frame.Clock.Tick():
		return heldStays
	case m.After == held.AfterAll && m.AsOf > c.viewTo(l).Proved():
		if late && !reliable {
			return heldGone
		}
		return heldStays
	case !m.AboutEntity() || c.server == nil || ready(l.session.view, &m.Post):
		return heldReady
	case late && (!reliable || l.session.view.TooLarge(m.Entity)):
		return heldGone // The entity will not arrive, or the message will be too old.
	}
	return heldStays
}

// viewTo returns the view of this end's state for the other end.
func (c *endpointCore) viewTo(l *connection) *snapshot.View {
	if l.session != nil {
		return l.session.view
	}
	return c.client.up.view
}

// letGo queues a held message for sending. It adds the tick of the state that the message follows, unless the other end
// has acknowledged that state. It reports whether the room for reliable messages is used up; then the message stays held.
func (c *endpointCore) letGo(l *connection, m *held.Message, full bool) bool {
	if full && m.Channel.Delivery().Reliable() {
		return true
	}
	p, of, needs := m.Post, m.Entity, tick.None
	if c.client != nil {
		of = c.client.owns(m.Entity)
	}
	if m.After == held.AfterEntity && m.AsOf != tick.None {
		if needs = c.viewTo(l).Needs(of, m.AsOf); needs != tick.None {
			p.Flags |= wire.FlagState
			p.State = needs
		}
	}
	body := c.hideNames(l, m.Type, l.held.Body(m))
	err := l.Outgoing.Push(&p, body)
	switch {
	case err == nil:
		c.record(l.Remote, &p, body)
		l.held.Leave(m)
		if needs != tick.None {
			c.viewTo(l).Urge(of, needs)
		}
		return full
	case m.Channel.Delivery().Reliable():
		return true
	default:
		_ = l.failed(err, m.Name, &p, m.Size) // The error is counted: the caller already knows that the message waits.
	}
	l.held.Drop(m)
	return full
}

// releaseLast sends messages that wait only for state of this end. The connection is about to end: no more state is sent,
// and its messages are delivered first.
func (c *endpointCore) releaseLast(l *connection) {
	e := l.held
	if e == nil || e.Count == 0 {
		return
	}
	list := e.Messages()
	for i := range list {
		if m := &list[i]; m.AsOf != tick.None {
			e.Free(m)
		}
	}
	c.release(l)
}
