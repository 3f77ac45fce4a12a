package peer

import (
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// A packet of an open connection:
//
//	 3..9 bytes      2 bytes   (4 + size) bytes each, 0..n of them   4 bytes
//	+---------------+---------+--------+---------+--------+-----+   +----------+
//	| packet header | batch   | message| payload | message| ... |   | checksum |
//	|               | size    | header |         | header |     |   |          |
//	+---------------+---------+--------+---------+--------+-----+   +----------+
//	                 the batch size covers from its own first byte to here ^

// packetOverhead is the most that a packet needs besides its messages.
const packetOverhead = wire.MaxPacketHeader + wire.BatchHeaderSize + wire.ChecksumSize

// MaxPayload returns the payload that one message can always have when it is
// alone in a packet of the given size, whatever the packet's header takes.
func MaxPayload(packetSize int) int {
	return max(packetSize-packetOverhead-wire.MessageHeaderSize, 0)
}

// Builder fills the next packet of a Conn in a buffer of the caller's. The zero
// value has no room.
type Builder struct {
	buf      []byte // the packet so far
	limit    int    // where messages must end
	batch    int    // where the batch starts
	sequence uint64
	due      int // eliciting packets that this packet acknowledges
}

// Begin starts the next packet in buf, of which it uses no more than the
// connection's packet size. It reads the acknowledgement that the packet
// carries; the connection changes only when the packet is finished.
func (c *Conn) Begin(buf []byte) Builder {
	limit := min(len(buf), c.config.PacketSize) - wire.ChecksumSize
	if limit < packetOverhead-wire.ChecksumSize {
		return Builder{}
	}
	header := wire.PacketHeader{Sequence: wire.Sequence(c.sent.next)}
	header.HasAck, header.Ack, header.AckBits = c.received.ack()
	b := wire.AppendPacketHeader(buf[:0], header)
	batch := len(b)
	return Builder{
		buf:      b[:batch+wire.BatchHeaderSize],
		limit:    limit,
		batch:    batch,
		sequence: c.sent.next,
		due:      c.received.due,
	}
}

// Room returns how many bytes the payload of one more message may have. It is 0
// also when not even a message header fits any more; see Fits for those without
// a payload.
func (b *Builder) Room() int {
	return max(b.limit-len(b.buf)-wire.MessageHeaderSize, 0)
}

// Fits reports whether a message with n bytes of payload still goes in.
func (b *Builder) Fits(n int) bool {
	return n >= 0 && n <= b.limit-len(b.buf)-wire.MessageHeaderSize
}

// Payload returns the space for the next message's payload, Room bytes long. It
// is to be filled from its start and then committed by Add.
func (b *Builder) Payload() []byte {
	room := b.Room()
	if room == 0 {
		return nil
	}
	at := len(b.buf) + wire.MessageHeaderSize
	return b.buf[at : at+room : at+room]
}

// Add commits a message whose n bytes of payload were written to Payload. It
// reports false, and adds nothing, when that does not fit. It panics on a type
// or stage that does not exist.
func (b *Builder) Add(t wire.MessageType, s tick.Stage, n int) bool {
	if !b.Fits(n) {
		return false
	}
	at := len(b.buf)
	b.buf = b.buf[:at+wire.MessageHeaderSize+n]
	wire.MessageHeader{Type: t, Stage: s, Size: uint16(n)}.Put(b.buf[at:])
	return true
}

// Empty reports whether there is no message in the packet, so that it would
// only acknowledge.
func (b *Builder) Empty() bool {
	return len(b.buf) <= b.batch+wire.BatchHeaderSize
}

// Finish completes the packet begun last, records it as sent at tick t and
// returns its bytes, which lie in the buffer given to Begin. With messages in it
// the packet is pending until its outcome is known; without, it elicits nothing
// and has no outcome.
//
// Finish returns nil, and sends and changes nothing, when the builder is not
// that of the next packet or CanSend is false.
func (c *Conn) Finish(b *Builder, t tick.Tick, now time.Duration) []byte {
	if b.buf == nil || b.sequence != c.sent.next || c.sent.full() {
		return nil
	}
	wire.BatchHeader{Size: uint16(len(b.buf) - b.batch)}.Put(b.buf[b.batch:])
	state := sentPending
	if b.Empty() {
		state = sentSilent
	}
	packet := seal(c.config.Check, b.buf, 0)
	c.sent.push(t, now, state)
	c.received.due -= b.due
	c.stats.Sent++
	c.stats.BytesSent += uint64(len(packet))
	b.buf = nil
	return packet
}

// openBatch takes the header off a batch. The batch must end where the packet
// ends: one legal encoding.
func openBatch(b []byte) (messages []byte, ok bool) {
	header, err := wire.ParseBatchHeader(b)
	if err != nil || int(header.Size) != len(b) {
		return nil, false
	}
	return b[wire.BatchHeaderSize:], true
}

// NextMessage takes the first message off a batch that is not empty and returns
// its header, its payload and the rest of the batch, both parts of the batch and
// not copies. The error is ErrMalformed; whether the type is known, and legal in
// this place, is for the caller to judge.
func NextMessage(batch []byte) (h wire.MessageHeader, payload, rest []byte, err error) {
	h, err = wire.ParseMessageHeader(batch)
	if err != nil {
		return wire.MessageHeader{}, nil, nil, ErrMalformed
	}
	body := batch[wire.MessageHeaderSize:]
	return h, body[:h.Size:h.Size], body[h.Size:], nil
}
