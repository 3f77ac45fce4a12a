package endpoint

import (
	"github.com/arche-netcode/netcode/internal/held"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// A message is held back until the capture of the state that it follows. A server's message about an entity leaves with the
// first record of the entity, or after it; the receiver waits for that record. If the entity dies or is hidden before, no byte
// of the message is sent. Package internal/held stores the messages.

// hold holds a message back. It returns an error without room for the message.
func (l *Link) hold(p *held.Envelope, name string, body []byte) error {
	longest := p.Post
	if p.AboutEntity() {
		longest.Flags |= wire.FlagState
	}
	switch {
	case len(body) > l.Outgoing.MaxBody(&longest):
		return l.failed(peer.ErrTooLarge, name, &longest, len(body))
	case l.Held.Add(p, name, body, l.Frame.Now, l.end.Config.Held):
		return nil
	case p.Channel.Delivery().Reliable():
		return l.failed(peer.ErrBackPressure, name, &longest, len(body))
	}
	return l.failed(peer.ErrQueueFull, name, &longest, len(body))
}

// nextCapture returns the tick that will capture the present writes of game code.
func (e *End) nextCapture() tick.Tick {
	now := e.Frame.Clock.Tick()
	if e.Frame.Due && max(e.Store.Tick(), e.sentUpTo) < now {
		return now
	}
	return now + 1
}

// holdsBack reports whether a message must wait, and sets the tick of the state that it follows. It waits for the end of the
// frame at most if Release finds that it may be sent.
func (e *End) holdsBack(l *Link, p *held.Envelope, body []byte) bool {
	e.awaitAction(p)
	p.AsOf = tick.None
	if l.Held == nil {
		return false
	}
	follows := p.After == held.AfterAll || p.After == held.AfterEntity && p.AboutEntity() && !e.ownOf(p.Entity).IsZero()
	if e.Store != nil && (follows || !p.Seers.IsZero() || e.namesEarly(p.Type, body)) {
		p.AsOf = e.nextCapture()
	}
	return p.AsOf != tick.None || l.Held.Blocks(p.Channel) || e.atServer() && p.AboutEntity() && !l.View.Held(p.Entity)
}

// ownOf returns the id under which this end's state has an entity whose messages follow that state; zero is none.
func (e *End) ownOf(id wire.NetworkID) wire.NetworkID {
	if e.atServer() {
		return id
	}
	for _, f := range e.Hooks.Owns {
		if own := f(id); !own.IsZero() {
			return own
		}
	}
	return wire.NetworkID{}
}

// awaitAction makes a client's message that follows its state wait for the tick whose input has the present action.
func (e *End) awaitAction(p *held.Envelope) {
	if len(e.Hooks.ActsAt) == 0 || p.After == held.AfterNothing || p.After == held.AfterEntity && !p.AboutEntity() {
		return
	}
	at := tick.None
	for _, actsAt := range e.Hooks.ActsAt {
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

// Release sends the held messages that may be sent now, in the order of the calls, and drops those that must not be sent
// any more. The state of this tick must be captured, and observed by the link's view.
func (e *End) Release(l *Link) {
	if l.Held == nil || l.Held.Count == 0 {
		return
	}
	var behind [2]uint64 // Channels with a message that stays held and that no later one may overtake, as in held.Order.
	full := false        // There is no room for more reliable messages.
	list := l.Held.Messages()
	for i := range list {
		m := &list[i]
		of, bit := held.Order(m.Channel)
		verdict := e.verdict(l, m)
		switch {
		case verdict == heldGone:
			e.Counters.DelayedDropped++
			l.Held.Drop(m)
		case verdict == heldReady && behind[of]&bit == 0:
			full = e.letGo(l, i, full)
		case verdict == heldStays && e.atServer() && m.AboutEntity() && !l.View.Sent(m.Entity):
			l.View.Urge(m.Entity, l.View.Needs(m.Entity, e.Store.Tick()))
		}
		if !m.Gone() && (of == 1 || m.AsOf > e.Frame.Clock.Tick()) {
			behind[of] |= bit
		}
	}
	l.Held.Sweep()
}

// heldVerdict is a decision about a held message.
type heldVerdict uint8

const (
	heldStays heldVerdict = iota
	heldReady
	heldGone
)

// verdict decides about a held message.
func (e *End) verdict(l *Link, m *held.Message) heldVerdict {
	reliable := m.Channel.Delivery().Reliable()
	late := e.Frame.Now-m.Since > e.Config.Queues.DeferredTime
	switch {
	case m.AboutEntity() && !e.mayName(l, m.Entity):
		return heldGone
	case !m.Seers.IsZero() && !e.mayName(l, m.Seers):
		return heldGone
	case m.AsOf > e.Frame.Clock.Tick():
		return heldStays
	case m.After == held.AfterAll && m.AsOf > l.View.Proved():
		if late && !reliable {
			return heldGone
		}
		return heldStays
	case !m.AboutEntity() || !e.atServer() || l.View.Sent(m.Entity):
		return heldReady
	case late && (!reliable || l.View.TooLarge(m.Entity)):
		return heldGone // The entity will not be sent, or the message will be too old.
	}
	return heldStays
}

// letGo queues the i-th held message for sending. It adds the tick of the state without which the other end must not handle
// it, unless the other end has acknowledged that state. It reports whether the room for reliable messages is used up; then the
// message stays held.
func (e *End) letGo(l *Link, i int, full bool) bool {
	m := &l.Held.Messages()[i]
	reliable := m.Channel.Delivery().Reliable()
	if full && reliable {
		return true
	}
	p, of, needs := m.Post, e.ownOf(m.Entity), tick.None
	switch {
	case m.After == held.AfterEntity && m.AsOf != tick.None:
		needs = l.View.Needs(of, m.AsOf)
	case e.atServer() && m.AboutEntity() && !l.View.Held(of): // Any record of this lifetime will do.
		needs, _ = l.View.Life(of)
	}
	if needs != tick.None {
		p.Flags |= wire.FlagState
		p.State = needs
	}
	body := e.hideNames(l, m.Type, l.Held.Body(m))
	if err := l.Outgoing.Push(&p, body); err != nil {
		if reliable {
			return true
		}
		_ = l.failed(err, m.Name, &p, m.Size) // The error is counted: the caller already knows that the message waits.
		l.Held.Drop(m)
		return full
	}
	e.record(l.Remote, &p, body)
	e.Counters.DelayedDropped += l.Held.Leave(i)
	if needs != tick.None {
		l.View.Urge(of, needs)
	}
	return full
}

// ReleaseLast sends messages that wait only for state of this end. The connection is about to end: no more state is sent,
// and its messages are delivered first.
func (e *End) ReleaseLast(l *Link) {
	if l.Held == nil {
		return
	}
	list := l.Held.Messages()
	for i := range list {
		if m := &list[i]; m.AsOf != tick.None {
			m.After, m.AsOf = held.AfterNothing, tick.None
		}
	}
	e.Release(l)
}
