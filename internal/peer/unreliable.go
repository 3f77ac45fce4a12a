package peer

import (
	"encoding/binary"

	"github.com/arche-netcode/netcode/wire"
)

// run is a sequence of framed unreliable messages of one channel, one after the other in one buffer.
type run struct {
	before     uint64 // id of the first reliable message that was added after the run began
	buffer     uint64 // number of the buffer
	start, end int
	channel    wire.Channel
}

// unreliableQueue is the queue of unreliable messages. They are framed as they will be sent, in a fixed number of buffers. Each
// buffer holds the content of one packet. Messages are appended to the newest buffer, and runs are sent from the
// oldest.
type unreliableQueue struct {
	buf     []byte       // used part of the newest buffer
	end     int          // end of the newest buffer
	added   uint64       // messages added so far
	channel wire.Channel // channel of the open run
	running bool         // there is an open run
	start   int          // start of the open run
	before  uint64       // run.before of the open run

	runs   ring[run] // all but the open run
	full   [][]byte  // full buffers, oldest first
	oldest uint64    // number of the oldest buffer
	own    []byte    // the buffer that belongs to the queue
	free   bool      // own is not in use
	most0  int       // largest size of a framed message on channel 0
	limit  int       // largest number of buffers
	queued int       // bytes in runs
	pool   *Pool
}

// maxRuns limits how often the channel may change in a queue. It exceeds half the messages of a full queue of default
// size, if all of them are empty.
const maxRuns = 1 << 13

func newUnreliableQueue(cfg OutgoingConfig, pool *Pool) unreliableQueue {
	size := cfg.PacketSize - packetOverhead
	own := make([]byte, 0, size)
	return unreliableQueue{buf: own, own: own, end: size, most0: size, limit: max(1, cfg.UnreliableBytes/size), pool: pool}
}

// resize changes the end of the buffers to a size, which is at most the one of newUnreliableQueue. The queue must be empty.
func (q *unreliableQueue) resize(size, bytes int) {
	q.close()
	q.recycle()
	q.end, q.most0, q.limit = size, size, max(1, bytes/size)
}

// most returns the largest size of a framed message of a channel that fits every packet.
func (q *unreliableQueue) most(ch wire.Channel) int {
	if ch == 0 {
		return q.most0
	}
	return q.most0 - furtherBatch
}

// open makes space for a message of need bytes, which most allows. The message is in a run of its channel and comes
// before the reliable message before. open returns false if the queue is full.
func (q *unreliableQueue) open(ch wire.Channel, need int, before uint64) bool {
	if q.running && q.channel == ch && need <= q.end-len(q.buf) {
		return true
	}
	if q.runs.len() >= maxRuns {
		return false
	}
	if need > q.end-len(q.buf) {
		if len(q.full)+1 >= q.limit {
			return false
		}
		q.close()
		q.full = append(q.full, q.buf)
		if q.buf = q.own; !q.free {
			q.buf = q.pool.lend(q.most0)
		}
		q.free = false
	}
	q.close()
	q.running, q.channel, q.before, q.start = true, ch, before, len(q.buf)
	return true
}

// close ends the open run. Reliable messages that are added later come after it.
func (q *unreliableQueue) close() {
	if q.running && len(q.buf) > q.start {
		q.runs.push(run{before: q.before, buffer: q.oldest + uint64(len(q.full)), start: q.start, end: len(q.buf), channel: q.channel})
		q.queued += len(q.buf) - q.start
	}
	q.running = false
}

// waiting returns the number of waiting bytes.
func (q *unreliableQueue) waiting() int {
	if !q.running {
		return q.queued
	}
	return q.queued + len(q.buf) - q.start
}

// front returns the oldest run, or nil. There must be no open run.
func (q *unreliableQueue) front() *run {
	if q.runs.len() == 0 {
		return nil
	}
	return q.runs.at(q.runs.first)
}

// send moves the oldest run into a packet, or the messages of it that fit. It reports whether all fitted.
func (q *unreliableQueue) send(b *Builder) bool {
	r := q.front()
	framed := q.framed(r)
	b.Switch(r.channel)
	if b.Append(framed) {
		q.queued -= len(framed)
		q.runs.first++
		q.recycle()
		return true
	}
	if n := fitting(framed, b.limit-len(b.buf)-b.gap); n > 0 {
		b.Append(framed[:n])
		q.queued -= n
		r.start += n
	}
	return false
}

// framed returns the messages of a run.
func (q *unreliableQueue) framed(r *run) []byte {
	buf := q.buf
	if i := r.buffer - q.oldest; i < uint64(len(q.full)) {
		buf = q.full[i]
	}
	return buf[r.start:r.end]
}

// first returns the size of the first message of a run, with its header.
func (q *unreliableQueue) first(r *run) int {
	return wire.MessageHeaderSize + int(binary.LittleEndian.Uint16(q.framed(r)[2:]))
}

// fitting returns the total size of the first messages of framed that fit into room together.
func fitting(framed []byte, room int) (n int) {
	for {
		next := n + wire.MessageHeaderSize + int(binary.LittleEndian.Uint16(framed[n+2:]))
		if next > room {
			return n
		}
		n = next
	}
}

// recycle returns the buffers without a run.
func (q *unreliableQueue) recycle() {
	r := q.front()
	sent := len(q.full)
	if r != nil {
		sent = int(r.buffer - q.oldest)
	}
	if sent > 0 {
		for _, buf := range q.full[:sent] {
			q.giveBack(buf)
		}
		q.full = q.full[:copy(q.full, q.full[sent:])]
		q.oldest += uint64(sent)
	}
	if r != nil || q.running {
		return
	}
	if q.free {
		q.giveBack(q.buf)
		q.buf, q.free = q.own, false
	}
	q.buf = q.buf[:0]
}

func (q *unreliableQueue) giveBack(buf []byte) {
	if &buf[:1][0] == &q.own[:1][0] {
		q.free = true
		return
	}
	q.pool.giveBack(buf[:0])
}

func (q *unreliableQueue) dropAll() {
	q.running, q.queued = false, 0
	q.runs.first = q.runs.next
	q.recycle()
}
