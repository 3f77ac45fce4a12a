package netcode

import (
	"time"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// earlyCost is what a message that is held takes of Config.ReliableBytes or Config.OutboxBytes beside its body.
const earlyCost = 96

// early is what a server has to say to one client about entities that the client does not hold yet, and what comes behind
// that on its ordered channels. A message leaves when the client is proved to hold its entity, or, if it may be lost anyway,
// once the entity was sent; of an entity that dies or is hidden before, not one byte leaves. The client never has to wait for
// what does not come.
type early struct {
	list   []earlyMessage
	bodies []byte
	count  int // of the list, without those that are gone
	bytes  [2]int

	handed  uint64                   // how many were handed over: the place of the newest
	newest  [wire.MaxChannels]uint64 // place of the newest of a sequenced channel that left
	ordered [wire.MaxChannels]int    // how many of an ordered channel are here
}

// earlyMessage is one message that is held.
type earlyMessage struct {
	post        peer.Post
	name        string
	place       uint64
	since       time.Duration
	start, size int // of its body
	gone        bool
}

// kind is the place of the bytes of a message's mode of delivery.
func kind(ch wire.Channel) int {
	if ch.Delivery().Reliable() {
		return 1
	}
	return 0
}

// holds tells if a message has to be held. What may leave at once overtakes what is held of its sequenced channel.
func (e *early) holds(v *snapshot.View, p *peer.Post) bool {
	switch {
	case p.Flags&wire.FlagEntity != 0 && !ready(v, p):
		return true
	case e.count == 0:
	case p.Channel.Delivery() == wire.ReliableOrdered:
		return e.ordered[p.Channel.Number()] > 0
	case p.Channel.Delivery() == wire.UnreliableSequenced:
		e.handed++
		e.newest[p.Channel.Number()] = e.handed
	}
	return false
}

// ready tells if a message about an entity that the client may see can leave.
func ready(v *snapshot.View, p *peer.Post) bool {
	return v.Held(p.Entity) || !p.Channel.Delivery().Reliable() && v.Sent(p.Entity)
}

// delay takes a message, for which there must be room.
func (l *link) delay(p *peer.Post, name string, body []byte) error {
	e := l.early
	size, limit, err := len(body)+earlyCost, l.config.OutboxBytes, peer.ErrQueueFull
	if p.Channel.Delivery().Reliable() {
		limit, err = l.config.ReliableBytes, peer.ErrBackPressure
	}
	if len(body) > l.outgoing.MaxBody(p) {
		err = peer.ErrTooLarge
	} else if e.bytes[kind(p.Channel)]+size <= limit {
		err = nil
	}
	if err != nil {
		return l.failed(err, name, p, len(body))
	}
	e.handed++
	e.list = append(e.list, earlyMessage{
		post: *p, name: name, place: e.handed, since: l.frame.now, start: len(e.bodies), size: len(body),
	})
	e.bodies = append(e.bodies, body...)
	e.tally(&e.list[len(e.list)-1], +1)
	l.stats.Delayed++
	return nil
}

// tally counts a message that comes (+1) or goes (-1).
func (e *early) tally(m *earlyMessage, by int) {
	e.count += by
	e.bytes[kind(m.post.Channel)] += by * (m.size + earlyCost)
	if m.post.Channel.Delivery() == wire.ReliableOrdered {
		e.ordered[m.post.Channel.Number()] += by
	}
}

// waiting is how many bytes of bodies are held.
func (e *early) waiting() int {
	if e == nil {
		return 0
	}
	return e.bytes[0] + e.bytes[1] - e.count*earlyCost
}

// release lets go what a client can take by now, in the order of the calls, and drops what it will never be told. The
// client's view must have observed the newest commit.
func (s *Server) release(c *session) {
	e := c.early
	var behind uint64 // ordered channels of which something stays
	full := false     // no more reliable messages find room
	for i := range e.list {
		m := &e.list[i]
		ordered := m.post.Channel.Delivery() == wire.ReliableOrdered
		switch s.verdict(c, m) {
		case earlyGone:
			s.stats.DelayedDropped++
			e.drop(m)
		case earlyReady:
			if number := uint64(1) << m.post.Channel.Number(); ordered && behind&number != 0 {
				continue
			} else if full = s.letGo(c, m, full); ordered && !m.gone {
				behind |= number
			}
		case earlyStays:
			if ordered {
				behind |= 1 << m.post.Channel.Number()
			}
		}
	}
	e.sweep()
}

// earlyVerdict is what is to become of a message that is held.
type earlyVerdict uint8

const (
	earlyStays earlyVerdict = iota
	earlyReady
	earlyGone
)

// verdict says what is to become of a message.
func (s *Server) verdict(c *session, m *earlyMessage) earlyVerdict {
	ch, about := m.post.Channel, m.post.Flags&wire.FlagEntity != 0
	switch {
	case about && !s.sees(c, m.post.Entity):
		return earlyGone
	case ch.Delivery() == wire.UnreliableSequenced && m.place < c.early.newest[ch.Number()]:
		return earlyGone
	case !about || ready(c.view, &m.post):
		return earlyReady
	case s.frame.now-m.since > s.config.DeferredTime && (!ch.Delivery().Reliable() || c.view.TooLarge(m.post.Entity)):
		return earlyGone // It will not come, or be of no use when it does.
	}
	return earlyStays
}

// letGo hands a message over to be sent. It reports whether there is no more room for reliable ones, which then stay.
func (s *Server) letGo(c *session, m *earlyMessage, full bool) bool {
	ch := m.post.Channel
	if full && ch.Delivery().Reliable() {
		return true
	}
	body := s.unseen(c, m.post.Type, c.early.bodies[m.start:m.start+m.size])
	err := c.outgoing.Push(&m.post, body)
	switch {
	case err == nil:
		s.record(c.id, &m.post, body)
		if ch.Delivery() == wire.UnreliableSequenced {
			c.early.newest[ch.Number()] = m.place
		}
	case ch.Delivery().Reliable():
		return true
	default:
		_ = c.failed(err, m.name, &m.post, m.size) // Counted: the caller was told that it waits.
	}
	c.early.drop(m)
	return full
}

// drop takes a message out; sweep closes the gaps.
func (e *early) drop(m *earlyMessage) {
	m.gone = true
	e.tally(m, -1)
}

func (e *early) sweep() {
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
