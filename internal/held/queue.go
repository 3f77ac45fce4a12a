package held

import (
	"time"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// messageCost is the number of bytes that a held message counts in Limits, in addition to its body. briefCost is the same for an
// unreliable message that waits for a capture, for at most a tick: about its overhead in a packet.
const (
	messageCost = 96
	briefCost   = 16
)

// firstMessages and firstBytes are the initial capacities for messages and bodies.
const (
	firstMessages = 64
	firstBytes    = 1 << 10
)

// Wait selects the state that a message follows.
type Wait uint8

// Values of Wait.
const (
	AfterEntity  Wait = iota // The state of the entity that the message is about.
	AfterNothing             // No state: option AtOnce.
	AfterAll                 // All state: option AfterAllState.
)

// Envelope is the header of a message, with the state that must be sent before it.
type Envelope struct {
	peer.Post
	After   Wait           // The state that the message follows.
	Missing bool           // The other end may not have the entity, or the message is behind such a message.
	AsOf    tick.Tick      // It follows the state captured in this tick; tick.None: no state.
	Seers   wire.NetworkID // Only a client that sees this entity gets the message. The entity was not captured when it was sent. Zero: no such condition.
}

// AboutEntity reports whether the message is about an entity.
func (e *Envelope) AboutEntity() bool { return e.Flags&wire.FlagEntity != 0 }

// Message is one held message.
type Message struct {
	Envelope
	Name  string        // Name of its type.
	Since time.Duration // Time of Add.
	Size  int           // Size of its body in bytes.

	place uint64
	start int // Offset of its body.
	cost  int
	gone  bool
}

// Gone reports whether the message was dropped or sent.
func (m *Message) Gone() bool { return m.gone }

// Limits is the maximum bytes of held messages, including a fixed cost for each.
type Limits struct {
	Unreliable, Reliable int // Bytes.
}

// Queue is the held messages to one end.
type Queue struct {
	Count  int // Number of held messages: those in list that are not gone.
	list   []Message
	bodies []byte
	bytes  int // Size of their bodies.
	costs  [2]int

	handed  uint64                   // Number of messages so far: the place of the newest one.
	newest  [wire.MaxChannels]uint64 // By sequenced channel: place of the newest sent message.
	ordered [wire.MaxChannels]int    // By ordered channel: number of messages.
	next    [wire.MaxChannels]int    // By sequenced channel: number of messages that wait for a capture.
}

// kind returns the index in costs for a channel.
func kind(ch wire.Channel) int {
	if ch.Delivery().Reliable() {
		return 1
	}
	return 0
}

// Bytes returns the size of the held bodies; 0 for nil.
func (q *Queue) Bytes() int {
	if q == nil {
		return 0
	}
	return q.bytes
}

// Holds reports whether a message must be held, because it waits itself or is behind others on its channel. On a sequenced
// channel a message that need not wait overtakes those that wait for their entity.
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

// Add adds a message. It returns false if there is no room.
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
	if q.list == nil { // Allocated late: a client without held messages needs no memory.
		q.list, q.bodies = make([]Message, 0, firstMessages), make([]byte, 0, firstBytes)
	}
	q.list = append(q.list, Message{Envelope: *e, Name: name, place: q.handed, Since: now, start: len(q.bodies), Size: len(body), cost: cost})
	q.bodies = append(q.bodies, body...)
	q.tally(&q.list[len(q.list)-1], +1)
	return true
}

// tally counts an added (+1) or removed (-1) message.
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

// Messages returns the messages in the order in which they were added. The slice is valid until the next Add or Sweep.
func (q *Queue) Messages() []Message { return q.list }

// Body returns the body of a message, valid until the next Add or Sweep.
func (q *Queue) Body(m *Message) []byte { return q.bodies[m.start : m.start+m.Size] }

// Overtaken reports whether a later message of the same sequenced channel was sent.
func (q *Queue) Overtaken(m *Message) bool {
	return m.Channel.Delivery() == wire.UnreliableSequenced && m.place < q.newest[m.Channel.Number()]
}

// Leave removes a message that is sent.
func (q *Queue) Leave(m *Message) {
	if m.Channel.Delivery() == wire.UnreliableSequenced {
		q.newest[m.Channel.Number()] = m.place
	}
	q.Drop(m)
}

// Drop removes a message; Sweep frees its memory.
func (q *Queue) Drop(m *Message) {
	m.gone = true
	q.tally(m, -1)
}

// Free makes a message wait for no state.
func (q *Queue) Free(m *Message) {
	q.tally(m, -1)
	m.After, m.AsOf = AfterNothing, tick.None
	q.tally(m, +1)
}

// Sweep removes the gaps that Leave and Drop left.
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
	clear(q.list[len(kept):]) // Releases the names.
	q.list, q.bodies = kept, bodies
}
