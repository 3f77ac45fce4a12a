package held

import (
	"time"

	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// briefCost and messageCost are the bytes that a held message counts in Limits, in addition to its body: an unreliable one,
// which is sent or dropped soon, about as much as in a packet.
const (
	briefCost   = 16
	messageCost = 96
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
	After Wait           // The state that the message follows.
	AsOf  tick.Tick      // It follows the state captured in this tick; tick.None: no state.
	Seers wire.NetworkID // Only a client that sees this entity gets the message. The entity was not captured when it was sent. Zero: no such condition.
}

// AboutEntity reports whether the message is about an entity.
func (e *Envelope) AboutEntity() bool { return e.Flags&wire.FlagEntity != 0 }

// Message is one held message.
type Message struct {
	Envelope
	Name  string        // Name of its type.
	Since time.Duration // Time of Add.
	Size  int           // Size of its body in bytes.

	start int // Offset of its body.
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
	bytes  int       // Size of their bodies.
	used   [2]int    // Bytes of Limits, by kind.
	behind [2]uint64 // Channels with order that have a held message, by kind.
}

// kind returns the index of a channel in the arrays of a Queue.
func kind(ch wire.Channel) int {
	if ch.Delivery().Reliable() {
		return 1
	}
	return 0
}

// Order returns the index of a channel in a set of channels with order, and its bit there: 0 without order.
func Order(ch wire.Channel) (of int, bit uint64) {
	if d := ch.Delivery(); d == wire.ReliableOrdered || d == wire.UnreliableSequenced {
		bit = 1 << ch.Number()
	}
	return kind(ch), bit
}

// Bytes returns the size of the held bodies; 0 for nil.
func (q *Queue) Bytes() int {
	if q == nil {
		return 0
	}
	return q.bytes
}

// Blocks reports whether a message must be held because another one is held on its channel, which has an order.
func (q *Queue) Blocks(ch wire.Channel) bool {
	of, bit := Order(ch)
	return q.behind[of]&bit != 0
}

// Add adds a message. It returns false if there is no room.
func (q *Queue) Add(e *Envelope, name string, body []byte, now time.Duration, limits Limits) bool {
	of, bit := Order(e.Channel)
	if q.used[of]+cost(of, len(body)) > [2]int{limits.Unreliable, limits.Reliable}[of] {
		return false
	}
	if q.list == nil { // Allocated late: a client without held messages needs no memory.
		q.list, q.bodies = make([]Message, 0, firstMessages), make([]byte, 0, firstBytes)
	}
	q.list = append(q.list, Message{Envelope: *e, Name: name, Since: now, start: len(q.bodies), Size: len(body)})
	q.bodies = append(q.bodies, body...)
	q.behind[of] |= bit
	q.tally(&q.list[len(q.list)-1], +1)
	return true
}

// cost returns what a message of a kind counts in Limits.
func cost(of, size int) int { return size + [2]int{briefCost, messageCost}[of] }

// tally counts an added (+1) or removed (-1) message.
func (q *Queue) tally(m *Message, by int) {
	of := kind(m.Channel)
	q.Count += by
	q.bytes += by * m.Size
	q.used[of] += by * cost(of, m.Size)
}

// Messages returns the messages in the order in which they were added. The slice is valid until the next Add or Sweep.
func (q *Queue) Messages() []Message { return q.list }

// Body returns the body of a message, valid until the next Add or Sweep.
func (q *Queue) Body(m *Message) []byte { return q.bodies[m.start : m.start+m.Size] }

// Leave removes the i-th message, which is sent, and on a sequenced channel those that it overtakes. It returns their number.
func (q *Queue) Leave(i int) (overtaken uint64) {
	ch := q.list[i].Channel
	q.Drop(&q.list[i])
	for k := range q.list[:i] {
		if m := &q.list[k]; ch.Delivery() == wire.UnreliableSequenced && m.Channel == ch && !m.gone {
			q.Drop(m)
			overtaken++
		}
	}
	return overtaken
}

// Drop removes a message; Sweep frees its memory.
func (q *Queue) Drop(m *Message) {
	m.gone = true
	q.tally(m, -1)
}

// Sweep removes the gaps that Leave and Drop left.
func (q *Queue) Sweep() {
	if q.Count == len(q.list) {
		return
	}
	kept, bodies := q.list[:0], q.bodies[:0]
	q.behind = [2]uint64{}
	for _, m := range q.list {
		if m.gone {
			continue
		}
		body := q.bodies[m.start : m.start+m.Size]
		m.start = len(bodies)
		bodies = append(bodies, body...)
		kept = append(kept, m)
		of, bit := Order(m.Channel)
		q.behind[of] |= bit
	}
	clear(q.list[len(kept):]) // Releases the names.
	q.list, q.bodies = kept, bodies
}
