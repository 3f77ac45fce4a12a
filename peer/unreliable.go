package peer

import (
	"encoding/binary"

	"github.com/arche-netcode/netcode/wire"
)

// run is a row of unreliable messages of one channel, framed, one after the other in one buffer.
type run struct {
	before     uint64 // id of the first reliable message that was handed over after the run began
	buffer     uint64 // number of the buffer
	start, end int
	channel    wire.Channel
}

// batches is the queue of unreliable messages: framed as they will be sent, in a fixed number of buffers that each hold what
// fits a packet. Messages are appended to the newest buffer, runs leave from the oldest.
type batches struct {
	buf     []byte       // the newest buffer, up to where it is filled
	putEnd  int          // up to where Put may fill it; 0 where there is no run on channel 0 with a message in it
	put     uint64       // messages that Put appended
	warm    byte         // what touch found
	end     int          // where the newest buffer ends
	channel wire.Channel // of the run that is being filled
	running bool         // there is one
	start   int          // where it starts
	before  uint64       // its run.before

	runs   ring[run] // but the one that is being filled
	full   [][]byte  // the buffers before the newest, oldest first
	oldest uint64    // number of the oldest buffer
	own    []byte    // the buffer that stays
	free   bool      // own is not in use
	most0  int       // how long a framed message may be on channel 0
	limit  int       // how many buffers there may be
	queued int       // bytes in runs
	pool   *Pool
}

// maxRuns bounds how often the channel may change in a queue. It is more than the messages of half a full queue of default
// size, were they all empty.
const maxRuns = 1 << 13

func newBatches(cfg OutgoingConfig, pool *Pool) batches {
	size := cfg.PacketSize - packetOverhead
	own := make([]byte, 0, size)
	return batches{buf: own, own: own, end: size, most0: size, limit: max(1, cfg.UnreliableBytes/size), pool: pool}
}

// resize makes the buffers end at another size, which is at most that of newBatches. Nothing may wait.
func (q *batches) resize(size, bytes int) {
	q.close()
	q.recycle()
	q.end, q.most0, q.limit = size, size, max(1, bytes/size)
}

// most returns how long a framed message of a channel may be so that it fits every packet.
func (q *batches) most(ch wire.Channel) int {
	if ch == 0 {
		return q.most0
	}
	return q.most0 - furtherBatch
}

// open makes room for a message of need bytes, which most allows, in a run of its channel that comes before the reliable
// message before. It reports false when the queue is full.
func (q *batches) open(ch wire.Channel, need int, before uint64) bool {
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
	if q.start == 0 {
		q.warm = touch(q.buf[:q.end])
	}
	return true
}

// touch reads a byte of each line of the cache that a buffer lies in, and returns something of them. A buffer that is begun was last used a
// frame ago at least. Its lines come all at once now; message by message, with those of other connections between, each would be waited for.
func touch(buf []byte) (sum byte) {
	for i := 0; i < len(buf); i += 64 {
		sum |= buf[i]
	}
	return sum
}

// close ends the run that is being filled. It comes before the reliable messages that follow.
func (q *batches) close() {
	if q.running && len(q.buf) > q.start {
		q.runs.push(run{before: q.before, buffer: q.oldest + uint64(len(q.full)), start: q.start, end: len(q.buf), channel: q.channel})
		q.queued += len(q.buf) - q.start
	}
	q.running, q.putEnd = false, 0
}

// allowPut lets Put append to the run that is being filled, in which there is a message now.
func (q *batches) allowPut() {
	if q.channel == 0 {
		q.putEnd = q.end
	}
}

// waiting returns how many bytes wait.
func (q *batches) waiting() int {
	if !q.running {
		return q.queued
	}
	return q.queued + len(q.buf) - q.start
}

// front returns the oldest run, nil without one. The run that is being filled must be closed.
func (q *batches) front() *run {
	if q.runs.len() == 0 {
		return nil
	}
	return q.runs.at(q.runs.first)
}

// send moves the oldest run into a packet and reports whether all of it went.
func (q *batches) send(b *Builder) bool {
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
func (q *batches) framed(r *run) []byte {
	buf := q.buf
	if i := r.buffer - q.oldest; i < uint64(len(q.full)) {
		buf = q.full[i]
	}
	return buf[r.start:r.end]
}

// first returns the size of the first message of a run, with its header.
func (q *batches) first(r *run) int {
	return wire.MessageHeaderSize + int(binary.LittleEndian.Uint16(q.framed(r)[2:]))
}

// fitting returns how many bytes the messages at the start of framed take that fit into room together.
func fitting(framed []byte, room int) (n int) {
	for {
		next := n + wire.MessageHeaderSize + int(binary.LittleEndian.Uint16(framed[n+2:]))
		if next > room {
			return n
		}
		n = next
	}
}

// recycle gives back the buffers that no run is in.
func (q *batches) recycle() {
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

func (q *batches) giveBack(buf []byte) {
	if &buf[:1][0] == &q.own[:1][0] {
		q.free = true
		return
	}
	q.pool.giveBack(buf[:0])
}

func (q *batches) dropAll() {
	q.running, q.putEnd, q.queued = false, 0, 0
	q.runs.first = q.runs.next
	q.recycle()
}
