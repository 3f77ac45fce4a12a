package netcode

import (
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// stateWait says which state of its sender a message comes after.
type stateWait uint8

const (
	afterEntity  stateWait = iota // That of the entity that it is about.
	afterNothing                  // None: AtOnce.
	afterAll                      // All: AfterAllState.
)

// envelope is the header of a message, and the state that it waits for before it is sent.
type envelope struct {
	peer.Post
	after   stateWait
	missing bool      // The other end is not known to hold its entity, or it is behind such a message.
	asOf    tick.Tick // It comes after the state that this tick captures; tick.None: after none.
}

// about tells if the message is about an entity.
func (p *envelope) about() bool { return p.Flags&wire.FlagEntity != 0 }

// nextCapture is the tick that captures what game code writes now.
func (s *Server) nextCapture() tick.Tick {
	if now := s.Tick(); s.frame.due && max(s.store.Tick(), s.sentUpTo) < now {
		return now
	}
	return s.Tick() + 1
}

// nextCapture is the tick that captures what game code writes now.
func (c *Client) nextCapture() tick.Tick {
	if now := c.Tick(); c.frame.due && max(c.own.store.Tick(), c.sentUpTo) < now {
		return now
	}
	return c.Tick() + 1
}

// holdsBack tells if a message cannot be sent yet, and notes what it waits for.
func (c *courier) holdsBack(l *link, p *envelope) bool {
	e := l.early
	p.missing, p.asOf = false, tick.None
	if e == nil || !p.about() && p.after != afterAll && e.count == 0 {
		return false
	}
	follows := p.after == afterAll || p.after == afterEntity && p.about()
	if c.server != nil {
		p.missing = p.about() && !ready(c.server.client(l.remote).view, &p.Post)
		if follows {
			p.asOf = c.server.nextCapture()
		}
	} else if follows && c.client.own.store != nil && (p.after == afterAll || c.client.owns(p.Entity)) {
		p.asOf = c.client.nextCapture()
	}
	held := e.holds(p.missing || p.asOf != tick.None, &p.Post)
	if held && p.asOf == tick.None {
		p.missing = true
	}
	return held
}

// ready tells if a message about an entity that the client may see can leave.
func ready(v *snapshot.View, p *peer.Post) bool {
	return v.Held(p.Entity) || !p.Channel.Delivery().Reliable() && v.Sent(p.Entity)
}

// awaitAction makes a client's message that follows its state wait for the tick in which the server takes in what the game does
// now.
func (c *Client) awaitAction(p *envelope) {
	if len(c.hooks.actsAt) == 0 || c.host != nil || p.after == afterNothing || p.after == afterEntity && !p.about() {
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

// release lets go what the other end can take by now, in the order of the calls, and drops what it will never be told. The
// state of this tick must be captured, and the session's view have observed it. s is nil on a client.
func (c *courier) release(l *link, s *Session) {
	e := l.early
	var behind [2]uint64 // channels in order of which something stays: sequenced ones while they wait for a capture, ordered ones
	full := false        // no more reliable messages find room
	for i := range e.list {
		m := &e.list[i]
		mode, number := m.Channel.Delivery(), uint64(1)<<m.Channel.Number()
		switch c.verdict(l, s, m) {
		case earlyGone:
			l.stats.DelayedDropped++
			e.drop(m)
		case earlyReady:
			if mode == wire.ReliableOrdered && behind[1]&number != 0 || mode == wire.UnreliableSequenced && behind[0]&number != 0 {
				continue
			}
			if full = c.letGo(l, s, m, full); mode == wire.ReliableOrdered && !m.gone {
				behind[1] |= number
			}
		case earlyStays:
			switch {
			case mode == wire.ReliableOrdered:
				behind[1] |= number
			case mode == wire.UnreliableSequenced && m.asOf > c.frame.clock.Tick():
				behind[0] |= number
			}
			if m.missing && s != nil && m.about() {
				s.view.Urge(m.Entity, s.view.Needs(m.Entity, c.server.store.Tick()))
			}
		}
	}
	e.sweep()
}

// earlyVerdict decides about a held message.
type earlyVerdict uint8

const (
	earlyStays earlyVerdict = iota
	earlyReady
	earlyGone
)

// verdict decides about a held message.
func (c *courier) verdict(l *link, s *Session, m *earlyMessage) earlyVerdict {
	reliable := m.Channel.Delivery().Reliable()
	late := c.frame.now-m.since > l.config.DeferredTime
	switch {
	case m.about() && (s != nil && !c.server.sees(s, m.Entity) || s == nil && !c.client.holds(m.Entity)):
		return earlyGone
	case m.Channel.Delivery() == wire.UnreliableSequenced && m.place < l.early.newest[m.Channel.Number()]:
		return earlyGone
	case m.asOf > c.frame.clock.Tick():
		return earlyStays
	case m.after == afterAll && m.asOf > c.viewOf(s).Proved():
		if late && !reliable {
			return earlyGone
		}
		return earlyStays
	case !m.about() || s == nil || ready(s.view, &m.Post):
		return earlyReady
	case late && (!reliable || s.view.TooLarge(m.Entity)):
		return earlyGone // It will not come, or be of no use when it does.
	}
	return earlyStays
}

// viewOf is the view of this end's state for the other end.
func (c *courier) viewOf(s *Session) *snapshot.View {
	if s != nil {
		return s.view
	}
	return c.client.own.view
}

// letGo hands a message over to be sent, with the tick of the state that it follows where the other end is not proved to hold that. It
// reports whether there is no more room for reliable ones, which then stay.
func (c *courier) letGo(l *link, s *Session, m *earlyMessage, full bool) bool {
	if full && m.Channel.Delivery().Reliable() {
		return true
	}
	p, needs := m.Post, tick.None
	if m.after == afterEntity && m.asOf != tick.None {
		if needs = c.viewOf(s).Needs(m.Entity, m.asOf); needs != tick.None {
			p.Flags |= wire.FlagState
			p.State = needs
		}
	}
	body := l.early.bodies[m.start : m.start+m.size]
	if s != nil {
		body = c.server.unseen(s, m.Type, body)
	}
	err := l.outgoing.Push(&p, body)
	switch {
	case err == nil:
		c.record(l.remote, &p, body)
		if m.Channel.Delivery() == wire.UnreliableSequenced {
			l.early.newest[m.Channel.Number()] = m.place
		}
		if needs != tick.None {
			c.viewOf(s).Urge(m.Entity, needs)
		}
	case m.Channel.Delivery().Reliable():
		return true
	default:
		_ = l.failed(err, m.name, &p, m.size) // Counted: the caller was told that it waits.
	}
	l.early.drop(m)
	return full
}

// releaseLast lets go what waits for nothing but state of this end, of which none is sent any more: the connection is about to end, and
// what was sent before is delivered first.
func (c *courier) releaseLast(l *link, s *Session) {
	e := l.early
	if e == nil || e.count == 0 {
		return
	}
	for i := range e.list {
		if m := &e.list[i]; m.asOf != tick.None {
			e.tally(m, -1)
			m.after, m.asOf = afterNothing, tick.None
			e.tally(m, +1)
		}
	}
	c.release(l, s)
}
