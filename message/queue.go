package message

import "github.com/arche-netcode/netcode/wire"

// item is a message in a frame: two words, which travel in registers and are stored whole. It holds no pointer, so the
// memory of queues is nothing to the garbage collector.
type item struct {
	place uint64 // start of the payload in the frame's bytes, 32 bits; place in the frame's origins, 32 bits
	what  uint64 // place in the frame's extras and 1, or 0, 32 bits; size of the payload, 16; type, 8; channel, 8
}

const (
	typeBits    uint64 = 0xFF << 48
	channelBits uint64 = 0xFF << 56
	orderedBits uint64 = 0xC0 << 56 // of the channel: its mode, which is ReliableOrdered where both are set
	extraBits   uint64 = 1<<32 - 1
)

// newItem returns a message that lies nowhere yet.
func newItem(t wire.MessageType, ch wire.Channel, extra int) item {
	return item{what: uint64(ch)<<56 | uint64(t)<<48 | uint64(extra)}
}

// at returns the message at its place.
func (it item) at(start, size, origin int) item {
	return item{place: uint64(origin)<<32 | uint64(start), what: it.what | uint64(size)<<32}
}

// moved returns the message at another place.
func (it item) moved(start, origin, extra int) item {
	return item{place: uint64(origin)<<32 | uint64(start), what: it.what&^extraBits | uint64(extra)}
}

func (it item) start() int              { return int(uint32(it.place)) }
func (it item) origin() int             { return int(it.place >> 32) }
func (it item) extra() int              { return int(uint32(it.what)) }
func (it item) size() int               { return int(uint16(it.what >> 32)) }
func (it item) typ() wire.MessageType   { return wire.MessageType(it.what >> 48) }
func (it item) channel() wire.Channel   { return wire.Channel(it.what >> 56) }
func (it item) delivery() wire.Delivery { return it.channel().Delivery() }

// sameContext reports whether a message has type, channel and origin of another one without extra, and none itself.
func (it item) sameContext(other item) bool {
	return (it.what^other.what)&(typeBits|channelBits|extraBits) == 0 && (it.place^other.place)>>32 == 0
}

// simple reports whether the message has no extra and no promise of order: nothing can keep it waiting.
func (it item) simple() bool { return it.what&extraBits == 0 && it.what&orderedBits != orderedBits }

// maxPayload is the most that an item can hold: more than any message that travels, fragmented or not.
const maxPayload = 1<<16 - 1

// dead reports whether the message was dropped while it waited.
func (it item) dead() bool { return it.what&typeBits == 0 }

// kill drops the message.
func (it *item) kill() { it.what &^= typeBits }

const firstItems = 16 // a queue has room for so many at first

// queue is the messages of one stage, in order. It grows by doubling up to twice its limit, so that closing the gaps of
// messages that left it costs no more than having put them in.
type queue struct {
	items []item
	head  int    // those before it are done with
	end   int    // those before it, and not before head, are for the Drain that is under way
	live  int    // how many wait
	epoch uint64 // counts how often items lost their places
}

// push appends a message; the caller has seen that fewer than limit wait. It reports whether memory had to grow.
func (q *queue) push(it item, limit int) (grown bool) {
	if len(q.items) == cap(q.items) {
		grown = q.widen(limit)
	}
	q.items = append(q.items, it)
	q.live++
	return grown
}

// widen makes room for one more message. It reports whether memory had to grow.
func (q *queue) widen(limit int) (grown bool) {
	if 2*q.live > len(q.items) || cap(q.items) == 0 {
		larger := make([]item, len(q.items), max(firstItems, min(2*cap(q.items), 2*limit)))
		copy(larger, q.items)
		q.items, grown = larger, true
	}
	if len(q.items) == cap(q.items) {
		q.compact()
	}
	return grown
}

// compact closes the gaps.
func (q *queue) compact() {
	kept, end := q.items[:0], 0
	for i := q.head; i < len(q.items); i++ {
		if q.items[i].dead() {
			continue
		}
		kept = append(kept, q.items[i])
		if i < q.end {
			end = len(kept)
		}
	}
	q.items, q.head, q.end = kept, 0, end
	q.epoch++
}

// clear empties the queue and keeps its memory.
func (q *queue) clear() { *q = queue{items: q.items[:0], epoch: q.epoch + 1} }
