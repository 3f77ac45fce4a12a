package netcode

import (
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// outbox holds the messages that wait to be sent to one peer, in the order of the calls, in reused memory.
type outbox struct {
	bytes []byte
	items []outgoing
	first int // Items before this one are sent.
	limit int // Bytes that may wait.
}

// outgoing is one message: its header's parts and where in bytes its payload is.
type outgoing struct {
	kind       wire.MessageType
	stage      tick.Stage
	start, end int
}

// messageOverhead is charged for each waiting message beside its payload, so that empty messages are bounded too.
const messageOverhead = 4

// push adds a message, or says false when too much waits.
func (o *outbox) push(kind wire.MessageType, stage tick.Stage, payload []byte) bool {
	if o.waiting()+len(payload)+messageOverhead > o.limit {
		return false
	}
	if o.first > len(o.items)/2 {
		o.compact()
	}
	start := len(o.bytes)
	o.bytes = append(o.bytes, payload...)
	o.items = append(o.items, outgoing{kind, stage, start, len(o.bytes)})
	return true
}

// waiting is the size of what waits, in bytes.
func (o *outbox) waiting() int {
	if o.empty() {
		return 0
	}
	return len(o.bytes) - o.items[o.first].start + (len(o.items)-o.first)*messageOverhead
}

// empty tells if nothing waits.
func (o *outbox) empty() bool { return o.first == len(o.items) }

// next is the message that waits longest; the payload is good until the next push.
func (o *outbox) next() (m outgoing, payload []byte) {
	m = o.items[o.first]
	return m, o.bytes[m.start:m.end]
}

// sent takes the message that waited longest away.
func (o *outbox) sent() {
	o.first++
	if o.empty() {
		o.clear()
	}
}

// clear forgets everything and keeps the memory.
func (o *outbox) clear() { o.bytes, o.items, o.first = o.bytes[:0], o.items[:0], 0 }

// compact moves what waits to the front.
func (o *outbox) compact() {
	from := len(o.bytes)
	if !o.empty() {
		from = o.items[o.first].start
	}
	o.bytes = o.bytes[:copy(o.bytes, o.bytes[from:])]
	o.items = o.items[:copy(o.items, o.items[o.first:])]
	for i := range o.items {
		o.items[i].start -= from
		o.items[i].end -= from
	}
	o.first = 0
}

// fill moves messages into a packet, in order, as many as fit. If state waits too, only the first message may take
// more than half of a packet, so that messages never starve the state.
func (o *outbox) fill(b *peer.Builder, stateWaits bool) {
	half := b.Room() / 2
	for !o.empty() {
		m, payload := o.next()
		left := b.Room() - len(payload)
		if !b.Fits(len(payload)) || (stateWaits && !b.Empty() && left < half) {
			return
		}
		copy(b.Payload(), payload)
		b.Add(m.kind, m.stage, len(payload))
		o.sent()
	}
}
