package held

import (
	"time"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// messageCost is the bytes that a held message takes of Limits beside its body. briefCost is the same for an unreliable one that waits
// for a capture, a tick at most: about its bytes in a packet.
const (
	messageCost = 96
	briefCost   = 16
)

// firstMessages, and firstBytes of their bodies, have room when the first one is held.
const (
	firstMessages = 64
	firstBytes    = 1 << 10
)

// Wait is the state of its sender that a message follows.
type Wait uint8

// The kinds of waiting.
const (
	AfterEntity  Wait = iota // That of the entity that it is about.
	AfterNothing             // None: AtOnce.
	AfterAll                 // All: AfterAllState.
)

// Envelope is the header of a message, and the state that it waits for before it is sent.
type Envelope struct {
	peer.Post
	After   Wait           // The state that it follows.
	Missing bool           // The other end is not known to hold its entity, or it is behind such a message.
	AsOf    tick.Tick      // It follows the state that this tick captures; tick.None: no state.
	Seers   wire.NetworkID // Only a client that sees this entity gets it, which was not captured when it was sent; zero: not so.
}

// AboutEntity reports whether the message is about an entity.
func (e *Envelope) AboutEntity() bool { return e.Flags&wire.FlagEntity != 0 }

// Message is one message that is held.
type Message struct {
	Envelope
	Name  string        // Of its type.
	Since time.Duration // When it was held.
	Size  int           // Of its body, in bytes.

	place uint64
	start int // Of its body.
	cost  int
	gone  bool
}

// Gone reports whether the message was dropped or has left.
func (m *Message) Gone() bool { return m.gone }

// Limits bounds the bytes of the messages that are held, with a cost for each.
type Limits struct {
	Unreliable, Reliable int // Bytes.
}

// Queue is the messages for one end that are held.
type Queue struct {
	Count  int // Messages that are held: those of the list that are not gone.
	list   []Message
	bodies []byte
	bytes  int // Of their bodies.
	costs  [2]int

	handed  uint64                   // Number of messages so far: the place of the newest.
	newest  [wire.MaxChannels]uint64 // Place of the newest of a sequenced channel that left.
	ordered [wire.MaxChannels]int    // Messages of an ordered channel.
	next    [wire.MaxChannels]int    // Messages of a sequenced channel that wait for a capture.
}

// kind is the index in costs of a channel's mode of delivery.
func kind(ch wire.Channel) int {
	if ch.Delivery().Reliable() {
		return 1
	}
	return 0
}

// Bytes returns the bytes of held bodies; 0 for nil.
func (q *Queue) Bytes() int {
	if q == nil {
		return 0
	}
	return q.bytes
}

// Holds reports whether a message must be held, by itself or behind others of its channel. On a sequenced channel a message
// that may leave at once overtakes those that wait for their entity.
func (q *Queue) Holds(waits bool, p *peer.Post) bool {
	switch {
	case waits:
		return true
	case q.Count == 0:
	case p.Channel.Delivery() == wire.ReliableOrdered:
		return q.ordered[p.Channel.Number()] > 0
	case p.Channel.Delivery() == wire.UnreliableSequenced:
		if q.next[p.Channel.Number()] > 0 {
			return true
		}
		q.handed++
		q.newest[p.Channel.Number()] = q.handed
	}
	return false
}

// Add holds a message. It returns false for one without room.
func (q *Queue) Add(e *Envelope, name string, body []byte, now time.Duration, limits Limits) bool {
	cost, limit := len(body)+messageCost, limits.Unreliable
	switch {
	case e.Channel.Delivery().Reliable():
		limit = limits.Reliable
	case !e.Missing:
		cost = len(body) + briefCost
	}
	if q.costs[kind(e.Channel)]+cost > limit {
		return false
	}
	q.handed++
	if q.list == nil { // Once, so that a client without such messages takes no memory.
		q.list, q.bodies = make([]Message, 0, firstMessages), make([]byte, 0, firstBytes)
	}
	q.list = append(q.list, Message{Envelope: *e, Name: name, place: q.handed, Since: now, start: len(q.bodies), Size: len(body), cost: cost})
	q.bodies = append(q.bodies, body...)
	q.tally(&q.list[len(q.list)-1], +1)
	return true
}

// tally counts a message that comes (+1) or goes (-1).
func (q *Queue) tally(m *Message, by int) {
	q.Count += by
	q.bytes += by * m.Size
	q.costs[kind(m.Channel)] += by * m.cost
	switch m.Channel.Delivery() {
	case wire.ReliableOrdered:
		q.ordered[m.Channel.Number()] += by
	case wire.UnreliableSequenced:
		if m.AsOf != tick.None {
			q.next[m.Channel.Number()] += by
		}
	}
}

// Messages returns the messages in the order in which they were held. The slice is good until the next Add or Sweep.
func (q *Queue) Messages() []Message { return q.list }

// Body returns the body of a message, good until the next Add or Sweep.
func (q *Queue) Body(m *Message) []byte { return q.bodies[m.start : m.start+m.Size] }

// Overtaken reports whether a later message of the same sequenced channel has left.
func (q *Queue) Overtaken(m *Message) bool {
	return m.Channel.Delivery() == wire.UnreliableSequenced && m.place < q.newest[m.Channel.Number()]
}

// Leave takes a message out that is sent.
func (q *Queue) Leave(m *Message) {
	if m.Channel.Delivery() == wire.UnreliableSequenced {
		q.newest[m.Channel.Number()] = m.place
	}
	q.Drop(m)
}

// Drop takes a message out; Sweep closes the gaps.
func (q *Queue) Drop(m *Message) {
	m.gone = true
	q.tally(m, -1)
}

// Free makes a message wait for no state any more.
func (q *Queue) Free(m *Message) {
	q.tally(m, -1)
	m.After, m.AsOf = AfterNothing, tick.None
	q.tally(m, +1)
}

// Sweep closes the gaps that Leave and Drop made.
func (q *Queue) Sweep() {
	if q.Count == len(q.list) {
		return
	}
	kept, bodies := q.list[:0], q.bodies[:0]
	for _, m := range q.list {
		if m.gone {
			continue
		}
		body := q.bodies[m.start : m.start+m.Size]
		m.start = len(bodies)
		bodies = append(bodies, body...)
		kept = append(kept, m)
	}
	clear(q.list[len(kept):]) // Names.
	q.list, q.bodies = kept, bodies
}
