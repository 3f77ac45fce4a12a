package netcode

import (
	"time"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// heldCost is the bytes that a held message takes of Config.ReliableBytes or Config.OutboxBytes beside its body. briefCost is
// the same for an unreliable one that waits for a capture, a tick at most: about its bytes in a packet.
const (
	heldCost  = 96
	briefCost = 16
)

// firstHeld messages, and firstHeldBytes of their bodies, have room when the first one is held.
const (
	firstHeld      = 64
	firstHeldBytes = 1 << 10
)

// heldMessages are messages for one end that are not sent yet. They are about entities that the other end lacks, or they wait
// for the next capture of the state that they follow, or they are behind such a message on its channel. A reliable message
// about an entity is sent when the other end has acknowledged the entity, an unreliable one once the entity was sent. If the
// entity dies or is hidden before, no byte of the message is sent.
type heldMessages struct {
	list   []heldMessage
	bodies []byte
	count  int // of the list, without messages that are gone
	bytes  int // of their bodies
	costs  [2]int

	handed  uint64                   // number of messages so far: the place of the newest
	newest  [wire.MaxChannels]uint64 // place of the newest of a sequenced channel that left
	ordered [wire.MaxChannels]int    // messages of an ordered channel
	next    [wire.MaxChannels]int    // messages of a sequenced channel that wait for a capture
}

// heldMessage is one message that is held.
type heldMessage struct {
	envelope
	name        string
	place       uint64
	since       time.Duration
	start, size int // of its body
	cost        int
	gone        bool
}

// kind is the index in costs of a channel's mode of delivery.
func kind(ch wire.Channel) int {
	if ch.Delivery().Reliable() {
		return 1
	}
	return 0
}

// holds reports whether a message must be held, by itself or behind others of its channel. On a sequenced channel a message
// that may leave at once overtakes those that wait for their entity.
func (e *heldMessages) holds(waits bool, p *peer.Post) bool {
	switch {
	case waits:
		return true
	case e.count == 0:
	case p.Channel.Delivery() == wire.ReliableOrdered:
		return e.ordered[p.Channel.Number()] > 0
	case p.Channel.Delivery() == wire.UnreliableSequenced:
		if e.next[p.Channel.Number()] > 0 {
			return true
		}
		e.handed++
		e.newest[p.Channel.Number()] = e.handed
	}
	return false
}

// delay holds a message. The error is that of a message without room.
func (l *connection) delay(p *envelope, name string, body []byte) error {
	e, longest := l.held, p.Post
	if p.asOf != tick.None && p.Flags&wire.FlagEntity != 0 {
		longest.Flags |= wire.FlagState
	}
	cost, limit, err := len(body)+heldCost, l.config.OutboxBytes, peer.ErrQueueFull
	switch {
	case p.Channel.Delivery().Reliable():
		limit, err = l.config.ReliableBytes, peer.ErrBackPressure
	case !p.missing:
		cost = len(body) + briefCost
	}
	if len(body) > l.Outgoing.MaxBody(&longest) {
		err = peer.ErrTooLarge
	} else if e.costs[kind(p.Channel)]+cost <= limit {
		err = nil
	}
	if err != nil {
		return l.failed(err, name, &longest, len(body))
	}
	e.handed++
	if e.list == nil { // Once, so that a client without such messages takes no memory.
		e.list, e.bodies = make([]heldMessage, 0, firstHeld), make([]byte, 0, firstHeldBytes)
	}
	e.list = append(e.list, heldMessage{
		envelope: *p, name: name, place: e.handed, since: l.Frame.Now, start: len(e.bodies), size: len(body), cost: cost,
	})
	e.bodies = append(e.bodies, body...)
	e.tally(&e.list[len(e.list)-1], +1)
	if p.missing {
		l.stats.Delayed++
	}
	return nil
}

// tally counts a message that comes (+1) or goes (-1).
func (e *heldMessages) tally(m *heldMessage, by int) {
	e.count += by
	e.bytes += by * m.size
	e.costs[kind(m.Channel)] += by * m.cost
	switch m.Channel.Delivery() {
	case wire.ReliableOrdered:
		e.ordered[m.Channel.Number()] += by
	case wire.UnreliableSequenced:
		if m.asOf != tick.None {
			e.next[m.Channel.Number()] += by
		}
	}
}

// waiting returns the bytes of held bodies.
func (e *heldMessages) waiting() int {
	if e == nil {
		return 0
	}
	return e.bytes
}

// drop takes a message out; sweep closes the gaps.
func (e *heldMessages) drop(m *heldMessage) {
	m.gone = true
	e.tally(m, -1)
}

func (e *heldMessages) sweep() {
	if e.count == len(e.list) {
		return
	}
	kept, bodies := e.list[:0], e.bodies[:0]
	for _, m := range e.list {
		if m.gone {
			continue
		}
		body := e.bodies[m.start : m.start+m.size]
		m.start = len(bodies)
		bodies = append(bodies, body...)
		kept = append(kept, m)
	}
	clear(e.list[len(kept):]) // names
	e.list, e.bodies = kept, bodies
}

// dropHeld drops the held messages of a connection that is over.
func (l *connection) dropHeld() {
	if l.held != nil {
		l.stats.DelayedDropped += uint64(l.held.count)
		l.held = nil
	}
}

// stateWait is the state of its sender that a message follows.
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
	asOf    tick.Tick // It follows the state that this tick captures; tick.None: no state.
	seers   NetworkID // Only a client that sees this entity gets it, which was not captured when it was sent; zero: not so.
}

// about reports whether the message is about an entity.
func (p *envelope) about() bool { return p.Flags&wire.FlagEntity != 0 }

// nextCapture returns the tick that captures the present writes of game code.
func (s *Server) nextCapture() tick.Tick {
	if now := s.Tick(); s.frame.Due && max(s.store.Tick(), s.sentUpTo) < now {
		return now
	}
	return s.Tick() + 1
}

// nextCapture returns the tick that captures the present writes of game code.
func (c *Client) nextCapture() tick.Tick {
	if now := c.Tick(); c.frame.Due && max(c.up.store.Tick(), c.sentUpTo) < now {
		return now
	}
	return c.Tick() + 1
}

// holdsBack reports whether a message cannot be sent yet, and sets the state that it waits for.
func (c *endpointCore) holdsBack(l *connection, p *envelope) bool {
	e := l.held
	p.missing, p.asOf = false, tick.None
	if e == nil || !p.about() && p.after != afterAll && e.count == 0 && p.seers.IsZero() {
		return false
	}
	follows := p.after == afterAll || p.after == afterEntity && p.about()
	if c.server != nil {
		p.missing = p.about() && !ready(c.server.client(l.Remote).view, &p.Post)
		if follows || !p.seers.IsZero() {
			p.asOf = c.server.nextCapture()
		}
	} else if follows && c.client.up.store != nil && (p.after == afterAll || c.client.owns(p.Entity)) {
		p.asOf = c.client.nextCapture()
	}
	held := e.holds(p.missing || p.asOf != tick.None, &p.Post)
	if held && p.asOf == tick.None {
		p.missing = true
	}
	return held
}

// ready reports whether a message about an entity that the client may see can be sent.
func ready(v *snapshot.View, p *peer.Post) bool {
	return v.Held(p.Entity) || !p.Channel.Delivery().Reliable() && v.Sent(p.Entity)
}

// awaitAction makes a client's message that follows its state wait for the tick in which the server takes in the present input.
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

// release sends held messages that the other end can take by now, in the order of the calls, and drops those that it must
// never get. The state of this tick must be captured, and observed by the session's view. s is nil on a client.
func (c *endpointCore) release(l *connection, s *Session) {
	e := l.held
	var behind [2]uint64 // Channels with a message that stays: sequenced ones that wait for a capture, ordered ones.
	full := false        // No more reliable messages have room.
	for i := range e.list {
		m := &e.list[i]
		mode, number := m.Channel.Delivery(), uint64(1)<<m.Channel.Number()
		switch c.verdict(l, s, m) {
		case heldGone:
			l.stats.DelayedDropped++
			e.drop(m)
		case heldReady:
			if mode == wire.ReliableOrdered && behind[1]&number != 0 || mode == wire.UnreliableSequenced && behind[0]&number != 0 {
				continue
			}
			if full = c.letGo(l, s, m, full); mode == wire.ReliableOrdered && !m.gone {
				behind[1] |= number
			}
		case heldStays:
			switch {
			case mode == wire.ReliableOrdered:
				behind[1] |= number
			case mode == wire.UnreliableSequenced && m.asOf > c.frame.Clock.Tick():
				behind[0] |= number
			}
			if m.missing && s != nil && m.about() {
				s.view.Urge(m.Entity, s.view.Needs(m.Entity, c.server.store.Tick()))
			}
		}
	}
	e.sweep()
}

// heldVerdict decides about a held message.
type heldVerdict uint8

const (
	heldStays heldVerdict = iota
	heldReady
	heldGone
)

// verdict decides about a held message.
func (c *endpointCore) verdict(l *connection, s *Session, m *heldMessage) heldVerdict {
	reliable := m.Channel.Delivery().Reliable()
	late := c.frame.Now-m.since > l.config.DeferredTime
	switch {
	case m.about() && (s != nil && !c.server.maySee(s, m.Entity) || s == nil && !c.client.holds(m.Entity)):
		return heldGone
	case !m.seers.IsZero() && !c.server.maySee(s, m.seers):
		return heldGone
	case m.Channel.Delivery() == wire.UnreliableSequenced && m.place < l.held.newest[m.Channel.Number()]:
		return heldGone
	case m.asOf > c.frame.Clock.Tick():
		return heldStays
	case m.after == afterAll && m.asOf > c.viewOf(s).Proved():
		if late && !reliable {
			return heldGone
		}
		return heldStays
	case !m.about() || s == nil || ready(s.view, &m.Post):
		return heldReady
	case late && (!reliable || s.view.TooLarge(m.Entity)):
		return heldGone // The entity will not come, or the message is too old then.
	}
	return heldStays
}

// viewOf is the view of this end's state for the other end.
func (c *endpointCore) viewOf(s *Session) *snapshot.View {
	if s != nil {
		return s.view
	}
	return c.client.up.view
}

// letGo queues a message to be sent. It adds the tick of the state that the message follows, unless the other end has
// acknowledged that state. It reports whether there is no more room for reliable messages, which then stay.
func (c *endpointCore) letGo(l *connection, s *Session, m *heldMessage, full bool) bool {
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
	body := l.held.bodies[m.start : m.start+m.size]
	if s != nil {
		body = c.server.unseen(s, m.Type, body)
	}
	err := l.Outgoing.Push(&p, body)
	switch {
	case err == nil:
		c.record(l.Remote, &p, body)
		if m.Channel.Delivery() == wire.UnreliableSequenced {
			l.held.newest[m.Channel.Number()] = m.place
		}
		if needs != tick.None {
			c.viewOf(s).Urge(m.Entity, needs)
		}
	case m.Channel.Delivery().Reliable():
		return true
	default:
		_ = l.failed(err, m.name, &p, m.size) // Counted: the caller was told that it waits.
	}
	l.held.drop(m)
	return full
}

// releaseLast sends messages that wait only for state of this end, which is not sent any more: the connection is about to
// end, and its messages are delivered first.
func (c *endpointCore) releaseLast(l *connection, s *Session) {
	e := l.held
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
