package message

const (
	firstItems = 16  // messages a queue has room for at first
	firstBytes = 512 // bytes of payload a queue has room for at first
)

// queue is a ring of messages beside a ring of their payloads. Both double when they are full: bounds are the caller's, who
// drops before pushing.
type queue struct {
	items []item // its length is a power of two
	head  uint64 // messages ever pushed
	tail  uint64 // messages ever taken or dropped
	bytes []byte // its length is a power of two
	next  uint64 // where the next payload goes, counted on through all laps
	live  int    // bytes of all payloads that wait
}

// item is a message; its payload lies in one piece, so the end of a lap may stay empty.
type item struct {
	ctx   Context
	start uint64
	size  int
}

func (q *queue) len() int { return int(q.head - q.tail) }

func (q *queue) at(i uint64) *item { return &q.items[i&uint64(len(q.items)-1)] }

func (q *queue) push(ctx *Context, payload []byte) {
	if q.len() == len(q.items) {
		q.growItems()
	}
	start, ok := q.place(len(payload))
	if !ok {
		q.growBytes(len(payload))
		start, _ = q.place(len(payload))
	}
	*q.at(q.head) = item{ctx: *ctx, start: start, size: len(payload)}
	q.head++
	q.next = start + uint64(len(payload))
	q.live += len(payload)
	copy(q.payload(start, len(payload)), payload)
}

// pop takes the oldest message out and copies its payload behind what is in buf.
func (q *queue) pop(buf []byte) (Context, []byte) {
	oldest := q.at(q.tail)
	buf = append(buf, q.payload(oldest.start, oldest.size)...)
	ctx := oldest.ctx
	q.drop()
	return ctx, buf
}

// drop takes the oldest message out; there is one.
func (q *queue) drop() {
	q.live -= q.at(q.tail).size
	q.tail++
	if q.head == q.tail {
		q.next = 0
	}
}

func (q *queue) payload(start uint64, size int) []byte {
	if size == 0 {
		return nil
	}
	i := int(start & uint64(len(q.bytes)-1))
	return q.bytes[i : i+size]
}

// place returns where a payload of this size can go, and whether there is room.
func (q *queue) place(size int) (start uint64, ok bool) {
	if size == 0 {
		return q.next, true
	}
	lap := uint64(len(q.bytes))
	if lap == 0 {
		return 0, false
	}
	start = q.next
	if left := lap - start&(lap-1); uint64(size) > left {
		start += left
	}
	first := start
	if q.head != q.tail {
		first = q.at(q.tail).start
	}
	return start, start+uint64(size)-first <= lap
}

func (q *queue) growItems() {
	larger := make([]item, max(firstItems, 2*len(q.items)))
	for i := q.tail; i < q.head; i++ {
		larger[i&uint64(len(larger)-1)] = *q.at(i)
	}
	q.items = larger
}

// growBytes lays the payloads out anew, without gaps, in a ring with room for one more of this size.
func (q *queue) growBytes(size int) {
	n := max(firstBytes, 2*len(q.bytes))
	for n < q.live+size {
		n *= 2
	}
	larger := make([]byte, n)
	next := 0
	for i := q.tail; i < q.head; i++ {
		it := q.at(i)
		copy(larger[next:], q.payload(it.start, it.size))
		it.start = uint64(next)
		next += it.size
	}
	q.bytes, q.next = larger, uint64(next)
}
