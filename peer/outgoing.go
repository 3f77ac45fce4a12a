package peer

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// OutgoingConfig bounds what waits to be sent to one peer. Zero or less in a field takes its default.
type OutgoingConfig struct {
	// PacketSize is that of the connection, in bytes. Default 1200.
	PacketSize int
	// UnreliableBytes bounds the bytes of unreliable messages, headers included, that wait. It is rounded to whole packets,
	// one at least. Default 64 KiB.
	UnreliableBytes int
	// ReliableBytes bounds the memory of reliable messages that wait or are not yet acknowledged; each takes 64 bytes beside
	// its own. Default 256 KiB.
	ReliableBytes int
	// SentPackets is that of the connection: for how many packets back it is remembered what they carried. Default 1024.
	SentPackets int
}

const (
	defaultUnreliableBytes = 64 << 10
	defaultReliableBytes   = 256 << 10
)

func (c OutgoingConfig) withDefaults() OutgoingConfig {
	conn := ConnConfig{PacketSize: c.PacketSize, SentPackets: c.SentPackets}.withDefaults()
	c.PacketSize, c.SentPackets = conn.PacketSize, len(newSent(1, conn.SentPackets).ring)
	if c.UnreliableBytes <= 0 {
		c.UnreliableBytes = defaultUnreliableBytes
	}
	if c.ReliableBytes <= 0 {
		c.ReliableBytes = defaultReliableBytes
	}
	c.ReliableBytes = min(max(c.ReliableBytes, minArena), math.MaxInt32)
	return c
}

// opened says where the message that Reserve opened will go.
type opened uint8

const (
	openNone opened = iota
	openUnreliable
	openReliable
	openScratch // reliable, and perhaps too large for one packet
)

// Outgoing stores the messages that wait to be sent to one peer, in the order of the calls, and those that may have to be
// sent again. It belongs to one goroutine. Once warm it allocates nothing.
//
// Reserve with Commit, or Push, put messages in; Fill moves them into packets; Acked and Lost tell the fate of those.
type Outgoing struct {
	batches  batches // its first fields are what Put looks at, in one line of the cache
	opened   opened  // the message that Reserve opened
	reliable reliable
	config   OutgoingConfig
	most     int // the packet size that the buffers were made for
	stats    OutgoingStats

	// More of the message that Reserve opened.
	message int // where its header is in the open buffer, or in the arena
	body    int // where its body starts there
	bound   int

	progress     uint64 // sum of what moves when reliable messages get on
	blockedSince time.Duration
	blocked      bool
}

// OutgoingStats counts what happened to messages since the queue was made.
type OutgoingStats struct {
	Unreliable   uint64 // unreliable messages taken
	Reliable     uint64 // reliable messages taken
	Pieces       uint64 // pieces that messages were cut into
	QueueFull    uint64 // unreliable messages dropped: no room
	BackPressure uint64 // reliable messages refused: no room
	Refused      uint64 // messages refused: too large, or not legal
	Resent       uint64 // reliable messages and pieces sent once more
	Confirmed    uint64 // reliable messages and pieces acknowledged
	LateAcks     uint64 // of those, in packets that were presumed lost
	Recalled     uint64 // messages taken back before they were sent
}

// NewOutgoing returns an empty queue. Its first buffer is its own and stays, further ones come from the pool and go back
// when they were sent.
func NewOutgoing(cfg OutgoingConfig, pool *Pool) *Outgoing {
	cfg = cfg.withDefaults()
	return &Outgoing{config: cfg, most: cfg.PacketSize, batches: newBatches(cfg, pool), reliable: newReliable(cfg)}
}

// Reserve opens a message and returns room for its body, bound bytes: straight in the batch that is being filled where the
// message is unreliable. Commit or Cancel must follow before any other call. An error means that nothing was opened:
// ErrQueueFull, ErrBackPressure, ErrTooLarge, ErrEntity or ErrDelivery. It panics on a type, stage or flags that do not
// exist.
func (o *Outgoing) Reserve(p *Post, bound int) (payload []byte, err error) {
	q := &o.batches
	at := len(q.buf)
	if p.Channel != q.channel || p.Flags != 0 || p.Type < wire.FirstUserMessage || p.Type > wire.MaxMessageType ||
		p.Stage >= tick.NumStages || !q.running || at == q.start || bound < 0 || bound > q.end-at-wire.MessageHeaderSize {
		return o.reserve(p, bound)
	}
	o.message, o.body, o.bound, o.opened = at, at+wire.MessageHeaderSize, bound, openUnreliable
	buf := q.buf[at : at+wire.MessageHeaderSize+bound]
	binary.LittleEndian.PutUint32(buf, uint32(p.Type)|uint32(p.Stage)<<8) // the size follows with Commit
	return buf[wire.MessageHeaderSize : wire.MessageHeaderSize+bound : wire.MessageHeaderSize+bound], nil
}

// reserve is Reserve without the short way.
func (o *Outgoing) reserve(p *Post, bound int) (payload []byte, err error) {
	o.opened = openNone // also when a message was opened and neither committed nor cancelled
	if err = p.legal(); err == nil {
		if bound = max(bound, 0); p.Channel.Delivery().Reliable() {
			payload, err = o.reserveReliable(p, bound)
		} else {
			payload, err = o.reserveUnreliable(p, bound)
		}
	}
	switch err {
	case nil:
		o.bound = bound
	case ErrQueueFull:
		o.stats.QueueFull++
	case ErrBackPressure:
		o.stats.BackPressure++
	default:
		o.stats.Refused++
	}
	return payload, err
}

func (o *Outgoing) reserveUnreliable(p *Post, bound int) ([]byte, error) {
	var prefix [maxPrefix]byte
	front := p.appendPrefix(prefix[:0])
	need := wire.MessageHeaderSize + len(front) + bound
	if bound > o.config.PacketSize || need > o.batches.most(p.Channel) {
		return nil, ErrTooLarge
	}
	if !o.batches.open(p.Channel, need, o.reliable.items.next) {
		return nil, ErrQueueFull
	}
	at := len(o.batches.buf)
	buf := o.batches.buf[at : at+need]
	wire.MessageHeader{Type: p.Type, Stage: p.Stage, Flags: p.Flags}.Put(buf)
	copy(buf[wire.MessageHeaderSize:], front)
	o.message, o.body, o.opened = at, at+need-bound, openUnreliable
	return buf[need-bound : need : need], nil
}

// Commit adds the message opened by Reserve, of whose room the first n bytes are the body. It panics on more than was
// reserved.
func (o *Outgoing) Commit(n int) {
	if uint(n) > uint(o.bound) || o.opened == openNone {
		panic("peer: commit of more than was reserved")
	}
	kind := o.opened
	o.opened = openNone
	if kind == openUnreliable && o.message != len(o.batches.buf) {
		panic("peer: commit of a message in whose room Put wrote another")
	}
	if kind != openUnreliable {
		o.commitReliable(kind, n)
		return
	}
	end := o.body + n
	buf := o.batches.buf[:end]
	binary.LittleEndian.PutUint16(buf[o.message+2:], uint16(end-o.message-wire.MessageHeaderSize))
	o.batches.buf = buf
	o.batches.allowPut()
	o.stats.Unreliable++
}

// Put is Reserve and Commit in one, for a message of the game on channel 0 of Unreliable without flags whose header is known: its
// type, its stage and its size, which must exist. It returns the room for its body, which the caller must fill at once, or nil, with
// nothing done, where it takes more than to append to what waits: PutFirst may do it.
func (o *Outgoing) Put(header uint32) []byte {
	q := &o.batches
	at, size := len(q.buf), wire.MessageHeaderSize+int(header>>16)
	if size > q.putEnd-at {
		return nil
	}
	q.buf = q.buf[:at+size] // in this form no pointer is stored, for which the collector would have to be asked
	room := q.buf[at:]
	binary.LittleEndian.PutUint32(room, header)
	q.put++
	return room[wire.MessageHeaderSize:]
}

// PutFirst is Put where a batch has to be begun. Nil, with nothing done, says that Reserve has an error to tell.
func (o *Outgoing) PutFirst(header uint32) []byte {
	need := wire.MessageHeaderSize + int(header>>16)
	if need > o.batches.most(0) || !o.batches.open(0, need, o.reliable.items.next) {
		return nil
	}
	o.opened = openNone // also when a message was opened and neither committed nor cancelled
	o.batches.allowPut()
	return o.Put(header)
}

// Cancel forgets the message opened by Reserve.
func (o *Outgoing) Cancel() { o.opened = openNone }

// Push adds a message whose body is encoded already. Errors and panics are those of Reserve.
func (o *Outgoing) Push(p *Post, body []byte) error {
	room, err := o.Reserve(p, len(body))
	if err != nil {
		return err
	}
	copy(room, body)
	o.Commit(len(body))
	return nil
}

// SetPacketSize bounds the packets that are filled from now on, in bytes. A size above that of OutgoingConfig counts as that. It
// reports false, and changes nothing, while messages wait or are not acknowledged yet: they were cut for packets of the old size.
func (o *Outgoing) SetPacketSize(n int) bool {
	if o.Waiting() > 0 || o.reliable.unconfirmed > 0 || o.opened != openNone {
		return false
	}
	n = min(max(n, MinPacketSize), o.most)
	o.config.PacketSize = n
	o.batches.resize(n-packetOverhead, o.config.UnreliableBytes)
	o.reliable.most = mostReliable(n)
	return true
}

// Acked says that a packet arrived, also one that was presumed lost: what it carried is confirmed.
func (o *Outgoing) Acked(seq uint64) { o.reliable.acked(seq, &o.stats) }

// Lost says that a packet is presumed lost: what it carried waits to be sent again, unless a later packet carries it.
func (o *Outgoing) Lost(seq uint64) { o.reliable.lost(seq) }

// Unsent says that a packet that was filled will not be finished: the next one takes its number. What it carried waits
// again.
func (o *Outgoing) Unsent(seq uint64) {
	o.reliable.lost(seq)
	o.reliable.carried.takeBack(seq)
}

// Credit notes a credit message: the low 32 bits of what the receiver has granted. What is not more than before is ignored,
// and so is what is more than 2^31 ahead: it is taken for less.
func (o *Outgoing) Credit(low uint32) {
	if ahead := low - uint32(o.reliable.granted); ahead <= 1<<31 {
		o.reliable.granted += uint64(ahead)
	}
}

// Waiting returns how many bytes wait to be sent, message headers included.
func (o *Outgoing) Waiting() int { return o.batches.waiting() + o.reliable.waiting }

// Pending reports whether Fill would put anything into a packet with room.
func (o *Outgoing) Pending() bool {
	return !o.batches.empty() || o.reliable.unconfirmed > 0 && (o.reliable.items.lostCount > 0 || o.reliable.sendable() != nil)
}

// Unconfirmed returns how many reliable messages are not yet acknowledged, pieces counted apart.
func (o *Outgoing) Unconfirmed() int { return o.reliable.unconfirmed }

// Blocked returns for how long reliable messages have waited for window or credit without any progress; 0 while none
// waits so. It is to be called once a frame: the time counts from the call that first saw them wait. t is the tick that the
// receiver waits for, as far as is known here: up to the newest tick before which a message was not to be handled, a receiver that has
// acknowledged all that was sent may lack credit because it waits as it was asked to, and that does not count.
func (o *Outgoing) Blocked(now time.Duration, t tick.Tick) time.Duration {
	if o.reliable.unconfirmed == 0 { // as in most games' ticks
		o.blocked = false
		return 0
	}
	return o.blockedFor(now, t)
}

// blockedFor is Blocked where there are reliable messages that are not acknowledged.
func (o *Outgoing) blockedFor(now time.Duration, t tick.Tick) time.Duration {
	why := o.reliable.blocked()
	if why == holdNone || why == holdCredit && t < o.reliable.heldUntil && o.reliable.underway == 0 {
		o.blocked = false
		return 0
	}
	if progress := o.stats.Confirmed + o.reliable.granted; !o.blocked || progress != o.progress {
		o.blocked, o.progress, o.blockedSince = true, progress, now
	}
	return now - o.blockedSince
}

// Clear drops everything, gives the buffers back and begins anew, for another connection of the same packet size. The
// counters stay.
func (o *Outgoing) Clear() {
	o.opened, o.blocked = openNone, false
	o.batches.clear()
	o.reliable.clear()
}

// Stats returns the counters.
func (o *Outgoing) Stats() OutgoingStats {
	stats := o.stats
	stats.Unreliable += o.batches.put
	return stats
}
