package netcode

import (
	"time"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// earlyCost is the share of a held message in Config.ReliableBytes or Config.OutboxBytes beside its body. briefCost is that
// of an unreliable one that waits for a capture, a tick at most: about what it takes of a packet.
const (
	earlyCost = 96
	briefCost = 16
)

// Room is made for so many messages, and bytes of them, when the first one is held.
const (
	firstEarly      = 64
	firstEarlyBytes = 1 << 10
)

// early is the messages of one end that are not sent yet: about entities that the other end does not hold, or that wait for the next
// capture of the state that they come after; and what comes behind them on their channels. What is about an entity leaves when the
// other end is proved to hold that, or, if it may be lost anyway, once the entity was sent; of an entity that dies or is hidden before,
// not one byte leaves.
type early struct {
	list   []earlyMessage
	bodies []byte
	count  int // of the list, without those that are gone
	bytes  int // of their bodies
	costs  [2]int

	handed  uint64                   // how many were handed over: the place of the newest
	newest  [wire.MaxChannels]uint64 // place of the newest of a sequenced channel that left
	ordered [wire.MaxChannels]int    // how many of an ordered channel are here
	next    [wire.MaxChannels]int    // how many of a sequenced channel are here that wait for a capture
}

// earlyMessage is one message that is held.
type earlyMessage struct {
	envelope
	name        string
	place       uint64
	since       time.Duration
	start, size int // of its body
	cost        int
	gone        bool
}

// kind is the place of the bytes of a message's mode of delivery.
func kind(ch wire.Channel) int {
	if ch.Delivery().Reliable() {
		return 1
	}
	return 0
}

// holds tells if a message has to be held, by itself or behind others of its channel. What may leave at once overtakes what waits
// for its entity on its sequenced channel.
func (e *early) holds(waits bool, p *peer.Post) bool {
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

// delay takes a message, for which there must be room.
func (l *link) delay(p *envelope, name string, body []byte) error {
	e, longest := l.early, p.Post
	if p.asOf != tick.None && p.Flags&wire.FlagEntity != 0 {
		longest.Flags |= wire.FlagState
	}
	cost, limit, err := len(body)+earlyCost, l.config.OutboxBytes, peer.ErrQueueFull
	switch {
	case p.Channel.Delivery().Reliable():
		limit, err = l.config.ReliableBytes, peer.ErrBackPressure
	case !p.missing:
		cost = len(body) + briefCost
	}
	if len(body) > l.outgoing.MaxBody(&longest) {
		err = peer.ErrTooLarge
	} else if e.costs[kind(p.Channel)]+cost <= limit {
		err = nil
	}
	if err != nil {
		return l.failed(err, name, &longest, len(body))
	}
	e.handed++
	if e.list == nil { // once, so that a client about whose entities nothing is said takes none of it
		e.list, e.bodies = make([]earlyMessage, 0, firstEarly), make([]byte, 0, firstEarlyBytes)
	}
	e.list = append(e.list, earlyMessage{
		envelope: *p, name: name, place: e.handed, since: l.frame.now, start: len(e.bodies), size: len(body), cost: cost,
	})
	e.bodies = append(e.bodies, body...)
	e.tally(&e.list[len(e.list)-1], +1)
	if p.missing {
		l.stats.Delayed++
	}
	return nil
}

// tally counts a message that comes (+1) or goes (-1).
func (e *early) tally(m *earlyMessage, by int) {
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

// waiting counts the bytes of bodies that are held.
func (e *early) waiting() int {
	if e == nil {
		return 0
	}
	return e.bytes
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

// dropEarly drops what is held for an end whose connection is over.
func (l *link) dropEarly() {
	if l.early != nil {
		l.stats.DelayedDropped += uint64(l.early.count)
		l.early = nil
	}
}
