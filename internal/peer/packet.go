package peer

import (
	"encoding/binary"
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// A packet of an open connection:
//
//	 3..11 bytes     2 bytes   (4 + size) bytes each   2 bytes   1 byte    (4 + size) bytes each   4 bytes
//	+---------------+---------+---------------+-----+ +---------+---------+-----------------+-----+----------+
//	| packet header | batch   | messages, 0..n      | | batch   | channel | messages, 1..n  | ... | checksum |
//	|               | size    | of channel 0        | | size    |         |                 |     |          |
//	+---------------+---------+---------------+-----+ +---------+---------+-----------------+-----+----------+
//	                 the first batch, always           further batches, 0..n of them
//
// A batch's size covers the batch from its own first byte. The first batch is of channel 0 of Unreliable. Two batches that
// follow each other are never of the same channel, and the last one ends where the checksum begins: one legal encoding.

const (
	// packetOverhead is the largest size of a packet without its messages, if they are all in the first batch.
	packetOverhead = wire.MaxPacketHeader + wire.BatchHeaderSize + wire.ChecksumSize
	// furtherBatch is the header of each further batch: its size and its channel.
	furtherBatch = wire.BatchHeaderSize + 1
)

// MaxPayload returns the payload that a single message of channel 0 of Unreliable can have in a packet of a size, with
// any packet header. On other channels it is 3 bytes less.
func MaxPayload(packetSize int) int {
	return max(packetSize-packetOverhead-wire.MessageHeaderSize, 0)
}

// Builder builds the next packet of a Conn in a buffer of the caller. The zero value has no space.
type Builder struct {
	buf      []byte // the packet so far
	limit    int    // end of the space for messages
	most     int    // highest value of limit
	first    int    // start of the first batch
	batch    int    // start of the open batch
	sequence uint64
	due      int          // eliciting packets that this packet acknowledges
	open     wire.Channel // channel of the open batch
	next     wire.Channel // channel of the next message
	gap      int          // size of the batch header before the next message; 0: it is added to the open batch
	probe    bool         // the packet is a probe of a size
}

// BeginProbe is Begin for a packet of exactly n bytes. Its only message must fill its Room. The loss of a probe counts
// for the path's size and not for the link.
func (c *Conn) BeginProbe(buf []byte, n int) Builder {
	b := c.Begin(buf)
	b.Limit(n)
	b.probe = true
	return b
}

// Begin starts the next packet in buf. It uses at most the connection's packet size. It reads the present
// acknowledgement. The connection changes only when the packet is finished.
func (c *Conn) Begin(buf []byte) Builder {
	limit := min(len(buf), c.config.PacketSize) - wire.ChecksumSize
	if limit < packetOverhead-wire.ChecksumSize {
		return Builder{}
	}
	header := wire.PacketHeader{Sequence: wire.Sequence(c.sent.next)}
	if r := &c.received; r.any {
		header.HasAck, header.Ack, header.AckBits = true, wire.Sequence(r.newest), uint32(r.window[0]>>1)
	}
	b := wire.AppendPacketHeader(buf[:0], header)
	batch := len(b)
	return Builder{
		buf:      b[:batch+wire.BatchHeaderSize],
		limit:    limit,
		most:     limit,
		first:    batch,
		batch:    batch,
		sequence: c.sent.next,
		due:      c.received.due,
	}
}

// Limit sets the largest size of the packet to n bytes, header and checksum included. It never exceeds the size that
// Begin allowed.
func (b *Builder) Limit(n int) { b.limit = max(min(n-wire.ChecksumSize, b.most), len(b.buf)) }

// Size returns the present limit of the packet, in bytes, header and checksum included.
func (b *Builder) Size() int { return b.limit + wire.ChecksumSize }

// Spare returns the number of bytes by which Limit lowered the limit.
func (b *Builder) Spare() int { return b.most - b.limit }

// Grow raises the limit by n bytes, or by Spare if that is less, and returns the difference. A negative n lowers the
// limit.
func (b *Builder) Grow(n int) int {
	n = min(n, b.Spare())
	b.limit += n
	return n
}

// Sequence returns the sequence of the packet.
func (b *Builder) Sequence() uint64 { return b.sequence }

// Switch sets the channel of the following messages. A packet begins with channel 0 of Unreliable. If the channel
// changes, the next message opens a batch, which takes 3 bytes: Room, Fits and Payload count them. A Switch without a
// message after it adds nothing to the packet.
func (b *Builder) Switch(ch wire.Channel) { b.next, b.gap = ch, b.turnSize(ch) }

// Room returns the largest payload of one more message. It is also 0 if not even a message header fits: Fits(0) reports
// whether an empty message does.
func (b *Builder) Room() int {
	return max(b.limit-len(b.buf)-b.gap-wire.MessageHeaderSize, 0)
}

// Fits reports whether a message with n bytes of payload fits.
func (b *Builder) Fits(n int) bool {
	return n >= 0 && n <= b.limit-len(b.buf)-b.gap-wire.MessageHeaderSize
}

// Payload returns the space for the next message's payload, Room bytes. Write the payload to its start, then call Add.
func (b *Builder) Payload() []byte {
	room := b.Room()
	if room == 0 {
		return nil
	}
	at := len(b.buf) + b.gap + wire.MessageHeaderSize
	return b.buf[at : at+room : at+room]
}

// Add adds a message with the first n bytes of Payload. If they do not fit, it adds nothing and returns false. It
// panics on a type or stage that does not exist.
func (b *Builder) Add(t wire.MessageType, s tick.Stage, n int) bool {
	if !b.Fits(n) {
		return false
	}
	if b.gap > 0 {
		b.turn()
	}
	at := len(b.buf)
	b.buf = b.buf[:at+wire.MessageHeaderSize+n]
	wire.MessageHeader{Type: t, Stage: s, Size: uint16(n)}.Put(b.buf[at:])
	return true
}

// Append adds framed messages, headers and payloads one after the other, with one copy. If they do not fit, it adds
// nothing and returns false. If framed is not a sequence of whole messages, the other end refuses the packet.
func (b *Builder) Append(framed []byte) bool {
	if len(framed) > b.limit-len(b.buf)-b.gap {
		return false
	}
	if len(framed) > 0 && b.gap > 0 {
		b.turn()
	}
	b.buf = append(b.buf, framed...)
	return true
}

// turn closes the open batch and opens one of the next channel. There must be space for a message in it.
func (b *Builder) turn() {
	b.closeBatch()
	b.batch, b.open, b.gap = len(b.buf), b.next, 0
	b.buf = append(b.buf, 0, 0, byte(b.open))
}

// turnSize returns the additional bytes for a message of a channel: the header of a new batch, or 0.
func (b *Builder) turnSize(ch wire.Channel) int {
	if ch != b.open {
		return furtherBatch
	}
	return 0
}

// closeBatch writes the open batch's size.
func (b *Builder) closeBatch() {
	binary.LittleEndian.PutUint16(b.buf[b.batch:], uint16(len(b.buf)-b.batch))
}

// Empty reports whether the packet has no message, so that it only acknowledges.
func (b *Builder) Empty() bool {
	return len(b.buf) <= b.first+wire.BatchHeaderSize
}

// Finish completes the last begun packet, notes it as sent at tick t and returns its bytes, which are in the buffer of
// Begin. A packet with messages is pending until its outcome is known. A packet without messages is not eliciting and
// has no outcome.
//
// Finish returns nil and changes nothing if the builder is not that of the next packet or HasRoom is false.
func (c *Conn) Finish(b *Builder, t tick.Tick, now time.Duration) []byte {
	if b.buf == nil || b.sequence != c.sent.next || !c.HasRoom() {
		return nil
	}
	b.closeBatch()
	if of := c.config.Types; of != nil {
		renumber(b.buf[b.first:], &of.Out)
	}
	state := sentPending
	if b.Empty() {
		state = sentSilent
	} else if !c.ping.told || now-c.ping.toldAt >= delayEvery {
		c.tellDelay(b, now)
	}
	packet := binary.LittleEndian.AppendUint32(b.buf, c.config.Check.Sum(b.buf))
	if state == sentSilent {
		c.storeAck(packet)
	}
	c.mtu.sent(c.sent.next, len(packet), c.Control.PacketSize()-PacketOverhead, b.probe)
	c.sent.push(t, now, state, len(packet), c.Control.Sent(now, len(packet)+PacketOverhead, state == sentPending))
	c.received.due -= b.due
	c.stats.Sent++
	c.stats.BytesSent += uint64(len(packet))
	b.buf = nil
	return packet
}

// Version is the version of the wire protocol. Ends with different versions refuse each other.
const Version uint16 = 1

// A handshake datagram:
//
//	 byte 0                        4 bytes
//	+----------+----------------+ +----------+
//	| 0x80|kind| body, per kind | | checksum |   over epoch 0 and protocol hash 0,
//	+----------+----------------+ +----------+   of Join, Welcome and Resume over those of the session
//
// All numbers in the bodies are little-endian.

// Kind is the kind of a datagram, by its first byte.
type Kind uint8

// The kinds. Kinds of handshake datagrams have their number on the wire.
const (
	KindUnknown   Kind = 0 // unknown kind
	KindHello     Kind = 1 // client to server: I want in
	KindChallenge Kind = 2 // server to client: prove your address
	KindAccept    Kind = 3 // server to client: you may join
	KindRefuse    Kind = 4 // server to client: you may not
	KindJoin      Kind = 5 // client to server: I have your Accept
	KindWelcome   Kind = 6 // server to client: you have a session
	KindResume    Kind = 7 // client to server: I am here now
	KindReset     Kind = 8 // server to client: your session is over
	KindPacket    Kind = 9 // a packet of an open connection
)

// KindOf returns the kind of a datagram. It checks only the first byte.
func KindOf(datagram []byte) Kind {
	if len(datagram) == 0 {
		return KindUnknown
	}
	first := datagram[0]
	if first&wire.HandshakeFlag == 0 {
		return KindPacket
	}
	if k := Kind(first &^ wire.HandshakeFlag); k >= KindHello && k <= KindReset {
		return k
	}
	return KindUnknown
}

// handshakeCheck is the checksum's start before there is a session.
func handshakeCheck() wire.Checksum { return wire.NewChecksum(0, 0) }

// openDatagram checks a handshake datagram of one kind and returns its body. The error is ErrChecksum or ErrMalformed.
func openDatagram(datagram []byte, kind Kind) ([]byte, error) {
	body, ok := unseal(handshakeCheck(), datagram)
	if !ok {
		return nil, ErrChecksum
	}
	if KindOf(body) != kind || kind == KindPacket {
		return nil, ErrMalformed
	}
	return body[1:], nil
}

// sealDatagram completes the handshake datagram that starts at b[start].
func sealDatagram(b []byte, start int) []byte {
	return seal(handshakeCheck(), b, start)
}

// seal appends the checksum over b[start:].
func seal(check wire.Checksum, b []byte, start int) []byte {
	return binary.LittleEndian.AppendUint32(b, check.Sum(b[start:]))
}

// unseal returns the bytes before the checksum, if the checksum is correct.
func unseal(check wire.Checksum, b []byte) (body []byte, ok bool) {
	if len(b) < wire.ChecksumSize {
		return nil, false
	}
	body = b[:len(b)-wire.ChecksumSize]
	return body, binary.LittleEndian.Uint32(b[len(body):]) == check.Sum(body)
}

// Reader iterates over the messages of a packet, in the order in which the other end added them:
//
//	r := in.Messages()
//	for r.Next() {
//		… r.Channel, r.Header, r.Payload
//	}
//	err := r.Err()
//
// Do not declare it in the for statement itself, which would copy it for each message.
type Reader struct {
	Channel wire.Channel       // channel of the message
	Header  wire.MessageHeader // type, stage and flags exist; the caller checks whether the type is known and allowed
	Payload []byte             // part of the packet, Header.Size bytes; begins with the fields of the flags

	batches []byte
	at, end int // start of the next message, end of its batch
	bad     bool
}

// Messages returns a reader before the first message. A copy of a reader marks a position.
func (in *Incoming) Messages() Reader {
	r := Reader{batches: in.Batches}
	if len(in.Batches) == 0 {
		return r
	}
	size, ok := batchSize(in.Batches, wire.BatchHeaderSize)
	if !ok {
		r.fail()
		return r
	}
	r.at, r.end = wire.BatchHeaderSize, size
	return r
}

// Next moves to the next message and reports whether there is one.
func (r *Reader) Next() bool {
	if r.at >= r.end && !r.open() {
		return false
	}
	room := r.end - r.at - wire.MessageHeaderSize
	if room < 0 {
		return r.fail()
	}
	from := r.at + wire.MessageHeaderSize
	h, ok := wire.UnpackMessageHeader(binary.LittleEndian.Uint32(r.batches[r.at:from:from]))
	if !ok || int(h.Size) > room {
		return r.fail()
	}
	r.at = from + int(h.Size)
	r.Header = h
	r.Payload = r.batches[from:r.at:r.at]
	return true
}

// Start returns the position of Payload in the packet's batches.
func (r *Reader) Start() int { return r.at - len(r.Payload) }

// Err returns ErrMalformed if Next stopped before the end of the packet, otherwise nil.
func (r *Reader) Err() error {
	if r.bad {
		return ErrMalformed
	}
	return nil
}

// open moves to the next batch.
func (r *Reader) open() bool {
	rest := r.batches[r.end:]
	if len(rest) == 0 || r.bad {
		return false
	}
	size, ok := batchSize(rest, minFurtherBatch)
	if !ok || wire.Channel(rest[wire.BatchHeaderSize]) == r.Channel {
		return r.fail()
	}
	r.Channel = wire.Channel(rest[wire.BatchHeaderSize])
	r.at = r.end + furtherBatch
	r.end += size
	return true
}

func (r *Reader) fail() bool {
	r.bad = true
	r.at, r.end = len(r.batches), len(r.batches)
	return false
}

// minFurtherBatch is the smallest size of a further batch: it has a message.
const minFurtherBatch = furtherBatch + wire.MessageHeaderSize

// batchSize returns the size of the batch at the start of b. It must be from least to len(b).
func batchSize(b []byte, least int) (size int, ok bool) {
	if len(b) < wire.BatchHeaderSize {
		return 0, false
	}
	size = int(binary.LittleEndian.Uint16(b))
	return size, size >= least && size <= len(b)
}

// legalBatches reports whether b is a first batch and any number of further ones, to the last byte. It does not check
// their messages.
func legalBatches(b []byte) bool {
	size, ok := batchSize(b, wire.BatchHeaderSize)
	if !ok {
		return false
	}
	channel := wire.Channel(0)
	for b = b[size:]; len(b) > 0; b = b[size:] {
		if size, ok = batchSize(b, minFurtherBatch); !ok || wire.Channel(b[wire.BatchHeaderSize]) == channel {
			return false
		}
		channel = wire.Channel(b[wire.BatchHeaderSize])
	}
	return true
}

// Types maps message types between this end and another end with another protocol. A Conn replaces the numbers in
// received and sent packets. The rest of this end uses its own numbers. The receiver treats number 0 as malformed, so
// every type needs a number.
type Types struct {
	In  [1 << 8]wire.MessageType // by the other end's number: number at this end
	Out [1 << 8]wire.MessageType // by this end's number: number at the other end
}

// renumber replaces the types of the game's messages in the batches of a packet, in place. It stops at malformed data.
func renumber(batches []byte, by *[1 << 8]wire.MessageType) {
	in := Incoming{Batches: batches}
	for r := in.Messages(); r.Next(); {
		switch h := r.Header; {
		case h.Type >= wire.FirstUserMessage:
			batches[r.Start()-wire.MessageHeaderSize] = byte(by[h.Type])
		case h.Type == wire.MessageFragment && r.Channel.Delivery().Reliable() && len(r.Payload) > numberSize:
			if of := wire.MessageType(r.Payload[numberSize]); of >= wire.FirstUserMessage { // a refusal may be in pieces, too
				r.Payload[numberSize] = byte(by[of])
			}
		}
	}
}
