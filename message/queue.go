package message

import "github.com/arche-netcode/netcode/wire"

// item is a message in a frame. It holds no pointer: the memory of queues is nothing to the garbage collector.
type item struct {
	start   uint32 // of the payload in the frame's bytes
	origin  uint32 // place in the frame's origins
	extra   uint32 // place in the frame's extras, and 1; 0 for none
	size    uint16 // of the payload
	typ     wire.MessageType
	channel wire.Channel
}

// maxPayload is the most that an item can hold: more than any message that travels, fragmented or not.
const maxPayload = 1<<16 - 1

// dead reports whether the message was dropped while it waited.
func (it *item) dead() bool { return it.typ == 0 }

const firstItems = 64 // a queue has room for so many at first

// queue is the messages of one stage, in order. It grows by doubling up to twice its limit, so that closing the gaps of
// messages that left it costs no more than having put them in.
type queue struct {
	items []item
	head  int // those before it are done with
	end   int // those before it, and not before head, are for the Drain that is under way
	scan  int // those before it are not unreliable, or not waiting
	live  int // how many wait
}

// push appends a message; the caller has seen that fewer than limit wait. It reports whether memory had to grow.
func (q *queue) push(it item, limit int) (grown bool) {
	if len(q.items) == cap(q.items) {
		if 2*q.live > len(q.items) || cap(q.items) == 0 {
			larger := make([]item, len(q.items), max(firstItems, min(2*cap(q.items), 2*limit)))
			copy(larger, q.items)
			q.items, grown = larger, true
		}
		if len(q.items) == cap(q.items) || !grown {
			q.compact()
		}
	}
	q.items = append(q.items, it)
	q.live++
	return grown
}

// compact closes the gaps.
func (q *queue) compact() {
	kept, end, scan := q.items[:0], 0, 0
	for i := q.head; i < len(q.items); i++ {
		if q.items[i].dead() {
			continue
		}
		kept = append(kept, q.items[i])
		if i < q.end {
			end = len(kept)
		}
		if i < q.scan {
			scan = len(kept)
		}
	}
	q.items, q.head, q.end, q.scan = kept, 0, end, scan
}

// dropOldest drops the oldest unreliable message that waits; false if there is none.
func (q *queue) dropOldest() bool {
	for q.scan = max(q.scan, q.head); q.scan < len(q.items); q.scan++ {
		if it := &q.items[q.scan]; !it.dead() && !it.channel.Delivery().Reliable() {
			it.typ = 0
			q.scan++
			q.live--
			return true
		}
	}
	return false
}

// clear empties the queue and keeps its memory.
func (q *queue) clear() { *q = queue{items: q.items[:0]} }
