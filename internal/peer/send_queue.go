package peer

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// OutgoingConfig limits the messages that wait to be sent to one peer. A field of zero or less takes its default.
type OutgoingConfig struct {
	// PacketSize is the packet size of the connection, in bytes. Default 1200.
	PacketSize int
	// PieceSize is the size of packets that have space for any reliable message or piece, in bytes: larger messages are
	// sent in pieces. Default: PacketSize.
	PieceSize int
	// UnreliableBytes limits the bytes of waiting unreliable messages, headers included. It is rounded to whole
	// packets, at least one. Default 64 KiB.
	UnreliableBytes int
	// ReliableBytes limits the memory of reliable messages that wait or are not acknowledged. Each takes 64 bytes in
	// addition to its own. Default 256 KiB.
	ReliableBytes int
	// SentPackets is ConnConfig.SentPackets of the connection: the number of packets whose messages are stored. Default
	// 1024.
	SentPackets int
}

const (
	defaultUnreliableBytes = 64 << 10
	defaultReliableBytes   = 256 << 10
)

func (c OutgoingConfig) withDefaults() OutgoingConfig {
	conn := ConnConfig{PacketSize: c.PacketSize, SentPackets: c.SentPackets}.withDefaults()
	c.PacketSize, c.SentPackets = conn.PacketSize, sentRoom(conn.SentPackets)
	if c.PieceSize <= 0 {
		c.PieceSize = c.PacketSize
	}
	if c.UnreliableBytes <= 0 {
		c.UnreliableBytes = defaultUnreliableBytes
	}
	if c.ReliableBytes <= 0 {
		c.ReliableBytes = defaultReliableBytes
	}
	c.ReliableBytes = min(max(c.ReliableBytes, minArena), math.MaxInt32)
	return c
}

// opened is the place of the message that Reserve opened.
type opened uint8

const (
	openNone opened = iota
	openUnreliable
	openReliable
	openScratch // reliable, may be too large for one packet
)

// Outgoing stores the messages to one peer that wait to be sent, in the order of the calls. It also stores messages
// that may have to be sent again. It must be used by one goroutine at a time. It does not allocate once its buffers
// have grown.
//
// Reserve with Commit, or Push, adds messages. Fill moves them into packets. Acked and Lost report the outcome of the
// packets.
type Outgoing struct {
	unreliable unreliableQueue
	opened     opened // the message that Reserve opened
	reliable   reliable
	config     OutgoingConfig
	most       int // the packet size that the buffers were allocated for
	stats      OutgoingStats

	// Further state of the message that Reserve opened.
	message int // position of its header in the open buffer, or in the arena
	body    int // position of its body there
	bound   int

	progress     uint64 // sum of counters that grow while reliable messages make progress
	blockedSince time.Duration
	blocked      bool
}

// OutgoingStats counts what happened to messages since the queue was made.
type OutgoingStats struct {
	Unreliable   uint64 // unreliable messages added
	Reliable     uint64 // reliable messages added
	Pieces       uint64 // fragments that messages were cut into
	QueueFull    uint64 // unreliable messages dropped: no room
	BackPressure uint64 // reliable messages refused: no room
	Refused      uint64 // messages refused: too large, or not legal
	Resent       uint64 // reliable messages and pieces sent once more
	Confirmed    uint64 // reliable messages and pieces acknowledged
	LateAcks     uint64 // part of Confirmed: in packets that were presumed lost
	Recalled     uint64 // messages taken back before they were sent
}

// NewOutgoing returns an empty queue. Its first buffer belongs to it. Further buffers come from the pool and return to
// it when they were sent.
func NewOutgoing(cfg OutgoingConfig, pool *Pool) *Outgoing {
	cfg = cfg.withDefaults()
	return &Outgoing{config: cfg, most: cfg.PacketSize, unreliable: newUnreliableQueue(cfg, pool), reliable: newReliable(cfg)}
}

// Reserve opens a message and returns memory of bound bytes for its body. For an unreliable message that is part of the
// batch that is being filled. Commit or Cancel must follow before any other call.
//
// If there is an error, no message was opened: ErrQueueFull, ErrBackPressure, ErrTooLarge, ErrEntity or ErrDelivery.
// Reserve panics on a type, stage or flags that do not exist.
func (o *Outgoing) Reserve(p *Post, bound int) (payload []byte, err error) {
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
	if bound > o.config.PacketSize || need > o.unreliable.most(p.Channel) {
		return nil, ErrTooLarge
	}
	if !o.unreliable.open(p.Channel, need, o.reliable.items.next) {
		return nil, ErrQueueFull
	}
	at := len(o.unreliable.buf)
	buf := o.unreliable.buf[at : at+need]
	wire.MessageHeader{Type: p.Type, Stage: p.Stage, Flags: p.Flags}.Put(buf)
	copy(buf[wire.MessageHeaderSize:], front)
	o.message, o.body, o.opened = at, at+need-bound, openUnreliable
	return buf[need-bound : need : need], nil
}

// Commit adds the message opened by Reserve. Its body is the first n bytes of the memory. Commit panics if n is more
// than was reserved.
func (o *Outgoing) Commit(n int) {
	if uint(n) > uint(o.bound) || o.opened == openNone {
		panic("peer: commit of more than was reserved")
	}
	kind := o.opened
	o.opened = openNone
	if kind == openUnreliable && o.message != len(o.unreliable.buf) {
		panic("peer: commit of a message that another call overwrote")
	}
	if kind != openUnreliable {
		o.commitReliable(kind, n)
		return
	}
	end := o.body + n
	buf := o.unreliable.buf[:end]
	binary.LittleEndian.PutUint16(buf[o.message+2:], uint16(end-o.message-wire.MessageHeaderSize))
	o.unreliable.buf = buf
	o.unreliable.added++
}

// Cancel drops the message opened by Reserve.
func (o *Outgoing) Cancel() { o.opened = openNone }

// Push adds a message whose body is already encoded. Errors and panics are the same as in Reserve.
func (o *Outgoing) Push(p *Post, body []byte) error {
	room, err := o.Reserve(p, len(body))
	if err != nil {
		return err
	}
	copy(room, body)
	o.Commit(len(body))
	return nil
}

// SetPacketSize changes the limit of packets that are filled from now on, in bytes. The packet size of OutgoingConfig
// is the upper limit. While messages wait or are not acknowledged, SetPacketSize does nothing and returns false: they
// were cut for packets of the old size.
func (o *Outgoing) SetPacketSize(n int) bool {
	if o.Waiting() > 0 || o.reliable.unconfirmed > 0 || o.opened != openNone {
		return false
	}
	n = min(max(n, MinPacketSize), o.most)
	o.config.PacketSize = n
	o.unreliable.resize(n-packetOverhead, o.config.UnreliableBytes)
	o.reliable.most = mostReliable(min(n, o.config.PieceSize))
	return true
}

// Acked notes that a packet arrived, and confirms its messages. The packet may have been presumed lost.
func (o *Outgoing) Acked(seq uint64) { o.reliable.acked(seq, &o.stats) }

// Lost notes that a packet is presumed lost. Its messages wait to be sent again, except messages that a later packet
// has.
func (o *Outgoing) Lost(seq uint64) { o.reliable.lost(seq) }

// Credit applies a credit message: the low 32 bits of the credit that the receiver granted. A value that does not
// exceed the last one is ignored. A value more than 2^31 ahead counts as one behind.
func (o *Outgoing) Credit(low uint32) {
	if ahead := low - uint32(o.reliable.granted); ahead <= 1<<31 {
		o.reliable.granted += uint64(ahead)
	}
}

// Waiting returns the number of bytes that wait to be sent, message headers included.
func (o *Outgoing) Waiting() int { return o.unreliable.waiting() + o.reliable.waiting }

// Pending reports whether Fill would add anything to a packet with enough space.
func (o *Outgoing) Pending() bool {
	return o.unreliable.waiting() > 0 || o.reliable.unconfirmed > 0 && (o.reliable.items.lostCount > 0 || o.reliable.sendable() != nil)
}

// Unconfirmed returns the number of reliable messages that are not acknowledged. Each piece counts.
func (o *Outgoing) Unconfirmed() int { return o.reliable.unconfirmed }

// Blocked returns the time for which reliable messages have waited for window or credit without progress, or 0. Call it
// once per frame: the time starts at the first call that finds them waiting.
//
// t is the tick that the receiver waits for, as far as this end knows. The receiver may store messages until their tick
// and then has no credit to grant. That does not count as blocked, if it has acknowledged all that was sent.
func (o *Outgoing) Blocked(now time.Duration, t tick.Tick) time.Duration {
	why := o.reliable.blocked()
	if why == blockNone || why == blockCredit && t < o.reliable.heldUntil && o.reliable.underway == 0 {
		o.blocked = false
		return 0
	}
	if progress := o.stats.Confirmed + o.reliable.granted; !o.blocked || progress != o.progress {
		o.blocked, o.progress, o.blockedSince = true, progress, now
	}
	return now - o.blockedSince
}

// Clear drops all messages and returns the buffers, for another connection with the same packet size. The counters
// stay.
func (o *Outgoing) Clear() {
	o.opened, o.blocked = openNone, false
	o.unreliable.dropAll()
	o.reliable.clear()
}

// Stats returns the counters.
func (o *Outgoing) Stats() OutgoingStats {
	stats := o.stats
	stats.Unreliable = o.unreliable.added
	return stats
}

// Fill moves messages into the packet that b builds, at most limit bytes with the headers of messages and batches.
// First come lost messages, oldest first, then waiting messages in the order of the calls. Reliable messages that wait
// for window or credit let other messages pass. Fill stops at the first message that does not fit. more reports whether
// something is left that could be sent now. Afterwards the builder is at channel 0 of Unreliable.
//
// The packet must be finished.
func (o *Outgoing) Fill(b *Builder, limit int) (more bool) {
	whole := b.limit
	b.limit -= max(whole-len(b.buf)-max(limit, 0), 0)
	o.unreliable.close()
	if o.reliable.resend(b, &o.stats) {
		o.fillNew(b)
	}
	b.limit = whole
	b.Switch(0)
	return o.Pending()
}

// Next returns the least limit with which Fill moves a message into the packet that b builds, or 0 if none can be sent.
func (o *Outgoing) Next(b *Builder) int {
	o.unreliable.close()
	r := &o.reliable
	if id := r.items.oldestLost(); id != 0 {
		it := r.items.at(id)
		return len(r.framed(it)) + b.turnSize(r.channels[it.channel].channel)
	}
	run, channel := o.unreliable.front(), r.sendable()
	switch {
	case run == nil && channel == nil:
		return 0
	case channel == nil, run != nil && run.before <= channel.head:
		return o.unreliable.first(run) + b.turnSize(run.channel)
	}
	return len(r.framed(r.items.at(channel.head))) + b.turnSize(channel.channel)
}

// fillNew moves messages that were not sent before, until one does not fit.
func (o *Outgoing) fillNew(b *Builder) {
	for {
		run, channel := o.unreliable.front(), o.reliable.sendable()
		switch {
		case run == nil && channel == nil:
			return
		case channel == nil, run != nil && run.before <= channel.head:
			if !o.unreliable.send(b) {
				return
			}
		default:
			if !o.reliable.sendHead(channel, b) {
				return
			}
		}
	}
}

var (
	// ErrQueueFull means that no more unreliable messages can wait for this peer. The message was dropped and counted.
	ErrQueueFull = errors.New("peer: send queue full")
	// ErrBackPressure means that no more reliable messages can wait for this peer. Nothing was sent. The caller may try
	// again later.
	ErrBackPressure = errors.New("peer: too many reliable messages wait")
	// ErrTooLarge means that a message exceeds, or may exceed, the largest size of a message. Nothing was sent.
	ErrTooLarge = errors.New("peer: message too large")
	// ErrEntity means that the entity id of a message cannot be sent: its index is MaxEntityIndex or more, or its
	// generation is 0. It also means that a message waits for the state of no entity. Nothing was sent.
	ErrEntity = errors.New("peer: no such entity id")
	// ErrDelivery means that a message of netcode's own types was sent on a channel on which that type is not allowed.
	// Nothing was sent.
	ErrDelivery = errors.New("peer: the type does not travel on this channel")
)

// Pool provides the buffers for waiting messages that do not fit into a peer's own buffer. All peers of an end share
// it.
type Pool struct {
	free [][]byte
	size int
	lent int
}

// poolKeep is the largest total size of unused buffers in a pool, in bytes. With it, 64 peers whose queues are full in
// every frame never make the pool allocate.
const poolKeep = 8 << 20

// NewPool returns an empty pool of buffers for packets of at most packetSize bytes. Larger buffers are allocated at
// each use.
func NewPool(packetSize int) *Pool { return &Pool{size: packetSize} }

// Lent returns the number of buffers in use.
func (p *Pool) Lent() int { return p.lent }

// lend returns an empty buffer with a capacity of at least size.
func (p *Pool) lend(size int) []byte {
	p.lent++
	n := len(p.free)
	if n == 0 || size > p.size {
		return make([]byte, 0, max(size, p.size))
	}
	b := p.free[n-1]
	p.free = p.free[:n-1]
	return b
}

// giveBack returns a buffer to the pool. A buffer with another capacity than the pool's is dropped.
func (p *Pool) giveBack(b []byte) {
	p.lent--
	if cap(b) == p.size && len(p.free)*p.size < poolKeep {
		p.free = append(p.free, b[:0])
	}
}
