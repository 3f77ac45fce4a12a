package netcode

import (
	"github.com/arche-netcode/netcode/internal/held"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// A message is held back until the capture of the state that it follows. A server's message about an entity leaves with the
// first record of the entity, or after it; the receiver waits for that record. If the entity dies or is hidden before, no byte
// of the message is sent. Package internal/held stores the messages.

// hold holds a message back. It returns an error without room for the message.
func (l *connection) hold(p *held.Envelope, name string, body []byte) error {
	longest := p.Post
	if p.AboutEntity() {
		longest.Flags |= wire.FlagState
	}
	limits := held.Limits{Unreliable: l.config.OutboxBytes, Reliable: l.config.ReliableBytes}
	switch {
	case len(body) > l.Outgoing.MaxBody(&longest):
		return l.failed(peer.ErrTooLarge, name, &longest, len(body))
	case l.held.Add(p, name, body, l.Frame.Now, limits):
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

// holdsBack reports whether a message must wait, and sets the tick of the state that it follows. It waits for the end of the
// frame at most if release finds that it may be sent.
func (c *endpointCore) holdsBack(l *connection, p *held.Envelope, body []byte) bool {
	if c.client != nil {
		c.client.awaitAction(p)
	}
	p.AsOf = tick.None
	if l.held == nil {
		return false
	}
	follows := p.After == held.AfterAll || p.After == held.AfterEntity && p.AboutEntity()
	switch s := c.server; {
	case s != nil && (follows || !p.Seers.IsZero() || s.namesEarly(p.Type, body)):
		p.AsOf = c.nextCapture(s.store.Tick())
	case s == nil && follows && c.client.up.store != nil && (p.After == held.AfterAll || !c.client.owns(p.Entity).IsZero()):
		p.AsOf = c.nextCapture(c.client.up.store.Tick())
	}
	return p.AsOf != tick.None || l.held.Blocks(p.Channel) || c.server != nil && p.AboutEntity() && !l.session.view.Held(p.Entity)
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
	var behind [2]uint64 // Channels with a message that stays held and that no later one may overtake, as in held.Order.
	full := false        // There is no room for more reliable messages.
	list := e.Messages()
	for i := range list {
		m := &list[i]
		of, bit := held.Order(m.Channel)
		verdict := c.verdict(l, m)
		switch {
		case verdict == heldGone:
			l.stats.DelayedDropped++
			e.Drop(m)
		case verdict == heldReady && behind[of]&bit == 0:
			full = c.letGo(l, i, full)
		case verdict == heldStays && c.server != nil && m.AboutEntity() && !l.session.view.Sent(m.Entity):
			l.session.view.Urge(m.Entity, l.session.view.Needs(m.Entity, c.server.store.Tick()))
		}
		if !m.Gone() && (of == 1 || m.AsOf > c.frame.Clock.Tick()) {
			behind[of] |= bit
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
	case m.AsOf > c.frame.Clock.Tick():
		return heldStays
	case m.After == held.AfterAll && m.AsOf > c.viewTo(l).Proved():
		if late && !reliable {
			return heldGone
		}
		return heldStays
	case !m.AboutEntity() || c.server == nil || l.session.view.Sent(m.Entity):
		return heldReady
	case late && (!reliable || l.session.view.TooLarge(m.Entity)):
		return heldGone // The entity will not be sent, or the message will be too old.
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

// letGo queues the i-th held message for sending. It adds the tick of the state without which the other end must not handle
// it, unless the other end has acknowledged that state. It reports whether the room for reliable messages is used up; then the
// message stays held.
func (c *endpointCore) letGo(l *connection, i int, full bool) bool {
	m := &l.held.Messages()[i]
	reliable := m.Channel.Delivery().Reliable()
	if full && reliable {
		return true
	}
	p, of, needs := m.Post, m.Entity, tick.None
	if c.client != nil {
		of = c.client.owns(m.Entity)
	}
	switch {
	case m.After == held.AfterEntity && m.AsOf != tick.None:
		needs = c.viewTo(l).Needs(of, m.AsOf)
	case c.server != nil && m.AboutEntity() && !l.session.view.Held(of): // Any record of this lifetime will do.
		needs, _ = l.session.view.Life(of)
	}
	if needs != tick.None {
		p.Flags |= wire.FlagState
		p.State = needs
	}
	body := c.hideNames(l, m.Type, l.held.Body(m))
	if err := l.Outgoing.Push(&p, body); err != nil {
		if reliable {
			return true
		}
		_ = l.failed(err, m.Name, &p, m.Size) // The error is counted: the caller already knows that the message waits.
		l.held.Drop(m)
		return full
	}
	c.record(l.Remote, &p, body)
	l.stats.DelayedDropped += l.held.Leave(i)
	if needs != tick.None {
		c.viewTo(l).Urge(of, needs)
	}
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
			m.After, m.AsOf = held.AfterNothing, tick.None
		}
	}
	c.release(l)
}
