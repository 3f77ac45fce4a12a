package peer

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/arche-netcode/netcode/message"
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
	// packetOverhead is the most that a packet needs besides its messages when they are all in the first batch.
	packetOverhead = wire.MaxPacketHeader + wire.BatchHeaderSize + wire.ChecksumSize
	// furtherBatch is the header of each further batch: its size and its channel.
	furtherBatch = wire.BatchHeaderSize + 1
)

// MaxPayload returns the payload that one message of channel 0 of Unreliable can always have when it is
// alone in a packet of the given size, whatever the packet's header takes. On other channels it is 3 bytes less.
func MaxPayload(packetSize int) int {
	return max(packetSize-packetOverhead-wire.MessageHeaderSize, 0)
}

// Builder fills the next packet of a Conn in a buffer of the caller's. The zero
// value has no room.
type Builder struct {
	buf      []byte // the packet so far
	limit    int    // where messages must end
	most     int    // the most that limit may be
	first    int    // where the first batch starts
	batch    int    // where the open batch starts
	sequence uint64
	due      int          // eliciting packets that this packet acknowledges
	open     wire.Channel // of the open batch
	next     wire.Channel // of the next message
	gap      int          // header of the batch that opens with the next message; 0 where the open one goes on
	probe    bool         // the packet tries a size
}

// SetPacketSize bounds the packets that are begun from now on, in bytes.
func (c *Conn) SetPacketSize(n int) {
	c.config.PacketSize = min(max(n, MinPacketSize), MaxPacketSize)
	c.path = c.newPath()
}

// newPath returns the path to the other end as long as nothing is known of it.
func (c *Conn) newPath() path {
	return newPath(cmp.Or(c.config.BaseSize, c.config.PacketSize), c.config.PacketSize, c.sent.next)
}

// PathSize returns the bytes of the largest packet that is known to reach the other end: BaseSize at first. Larger ones may be
// sent, up to SettledSize.
func (c *Conn) PathSize() int { return c.path.size }

// SettledSize returns the bytes of the largest packet that may reach the other end, as far as is known: PathSize, if larger ones
// were tried in vain, else the packet size.
func (c *Conn) SettledSize() int {
	if c.path.settled() {
		return c.path.size
	}
	return c.config.PacketSize
}

// ProbeDue returns the bytes of the probe that is to be sent now, 0 for none: a packet of this size that BeginProbe has begun.
func (c *Conn) ProbeDue(now time.Duration) int { return c.path.due(now) }

// BeginProbe is Begin for a packet of exactly n bytes, once its one message fills its Room. Its loss says something about the size
// and nothing about the link.
func (c *Conn) BeginProbe(buf []byte, n int) Builder {
	b := c.Begin(buf)
	b.Limit(n)
	b.probe = true
	return b
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

// Limit makes n bytes the most that the packet takes, header and checksum included. It never raises what Begin allowed.
func (b *Builder) Limit(n int) { b.limit = max(min(n-wire.ChecksumSize, b.most), len(b.buf)) }

// Size returns the most bytes that the packet may have at present, header and checksum included.
func (b *Builder) Size() int { return b.limit + wire.ChecksumSize }

// Spare returns how many bytes Limit took away.
func (b *Builder) Spare() int { return b.most - b.limit }

// Grow raises the limit by n bytes, or by Spare if that is less, and returns by how much. A negative n lowers it.
func (b *Builder) Grow(n int) int {
	n = min(n, b.Spare())
	b.limit += n
	return n
}

// Sequence returns the number that the packet will have.
func (b *Builder) Sequence() uint64 { return b.sequence }

// Switch makes ch the channel of the messages that are added from now on; a
// packet begins with channel 0 of Unreliable. Where the channel changes a batch
// opens with the next message, which takes 3 bytes: Room, Fits and Payload count
// them. A Switch that no message follows leaves nothing in the packet.
func (b *Builder) Switch(ch wire.Channel) { b.next, b.gap = ch, b.turnSize(ch) }

// Room returns how many bytes the payload of one more message may have. It is 0
// also when not even a message header fits any more; see Fits for those without
// a payload.
func (b *Builder) Room() int {
	return max(b.limit-len(b.buf)-b.gap-wire.MessageHeaderSize, 0)
}

// Fits reports whether a message with n bytes of payload still goes in.
func (b *Builder) Fits(n int) bool {
	return n >= 0 && n <= b.limit-len(b.buf)-b.gap-wire.MessageHeaderSize
}

// Payload returns the space for the next message's payload, Room bytes long. It
// is to be filled from its start and then committed by Add.
func (b *Builder) Payload() []byte {
	room := b.Room()
	if room == 0 {
		return nil
	}
	at := len(b.buf) + b.gap + wire.MessageHeaderSize
	return b.buf[at : at+room : at+room]
}

// Add commits a message whose n bytes of payload were written to Payload. It
// reports false, and adds nothing, when that does not fit. It panics on a type
// or stage that does not exist.
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

// Append adds messages that are framed already, headers and payloads one after
// the other, as one copy. It reports false, and adds nothing, when they do not
// fit. Other bytes than whole messages make a packet that the other end refuses.
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

// turn closes the open batch and opens that of another channel. There must be
// room for a message in it.
func (b *Builder) turn() {
	b.closeBatch()
	b.batch, b.open, b.gap = len(b.buf), b.next, 0
	b.buf = append(b.buf, 0, 0, byte(b.open))
}

// turnSize returns what it takes to add a message of a channel beside the message itself.
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

// Empty reports whether there is no message in the packet, so that it would
// only acknowledge.
func (b *Builder) Empty() bool {
	return len(b.buf) <= b.first+wire.BatchHeaderSize
}

// Finish completes the packet begun last, records it as sent at tick t and
// returns its bytes, which lie in the buffer given to Begin. With messages in it
// the packet is pending until its outcome is known; without, it elicits nothing
// and has no outcome.
//
// Finish returns nil, and sends and changes nothing, when the builder is not
// that of the next packet or HasRoom is false.
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
		c.says(packet)
	}
	c.path.sent(c.sent.next, len(packet), b.probe)
	c.sent.push(t, now, state, len(packet), c.Control.Sent(now, len(packet)+PacketOverhead, state == sentPending))
	c.received.due -= b.due
	c.stats.Sent++
	c.stats.BytesSent += uint64(len(packet))
	b.buf = nil
	return packet
}

// Version is the version of the wire protocol that this code speaks. Ends with
// different versions refuse each other.
const Version uint16 = 1

// A handshake datagram:
//
//	 byte 0                        4 bytes
//	+----------+----------------+ +----------+
//	| 0x80|kind| body, per kind | | checksum |   over epoch 0 and protocol hash 0,
//	+----------+----------------+ +----------+   of Join, Welcome and Resume over those of the session
//
// All numbers in the bodies are little-endian.

// Kind tells what a datagram is, by its first byte.
type Kind uint8

// The kinds. Those of the handshake have their number on the wire.
const (
	KindUnknown   Kind = 0 // no kind that is known here
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

// KindOf returns what a datagram claims to be. Nothing but its first byte was
// looked at.
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

// openDatagram checks a handshake datagram of one kind and returns its body.
// The error is ErrChecksum or ErrMalformed.
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

// unseal returns what comes before the checksum if that is right.
func unseal(check wire.Checksum, b []byte) (body []byte, ok bool) {
	if len(b) < wire.ChecksumSize {
		return nil, false
	}
	body = b[:len(b)-wire.ChecksumSize]
	return body, binary.LittleEndian.Uint32(b[len(body):]) == check.Sum(body)
}

// Bits of the prefixes that limits count by: the network that one site has as a rule.
const (
	networkBits4 = 24
	networkBits6 = 64
)

// AddressPrefix is the prefix of one address alone, without its zone.
func AddressPrefix(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap().WithZone("")
	return netip.PrefixFrom(addr, addr.BitLen())
}

// NetworkPrefix is the network around an address: the /24 of an IPv4 address, the /64 of an IPv6 address.
func NetworkPrefix(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap().WithZone("")
	bits := networkBits6
	if addr.Is4() {
		bits = networkBits4
	}
	p, _ := addr.Prefix(bits) // the error is that of an address which is none: then the prefix is none, too
	return p
}

// Reader goes through the messages of a packet in the order in which the other end handed them over:
//
//	r := in.Messages()
//	for r.Next() {
//		… r.Channel, r.Header, r.Payload
//	}
//	err := r.Err()
//
// It is not to be declared in the for statement itself, which would copy it for each message.
type Reader struct {
	Channel wire.Channel       // of the message
	Header  wire.MessageHeader // type, stage and flags exist; whether the type is known, and legal here, is for the caller
	Payload []byte             // part of the packet, Header.Size bytes; with what the flags put in front

	batches []byte
	at, end int // the next message, and where its batch ends
	bad     bool
}

// Messages returns a reader before the first message. A copy of it is a mark.
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

// Next goes to the next message and reports whether there is one.
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

// Plain goes over the messages up to the first that is no message of the game on channel 0 of Unreliable without flags, or not
// as long as sizes says of its type, and adds them to found. Next goes on from there. The messages that it goes over are legal.
func (r *Reader) Plain(sizes *message.Sizes, found []message.Simple) []message.Simple {
	if r.Channel != 0 {
		return found
	}
	batches := r.batches[:r.end]
	for len(batches)-r.at >= wire.MessageHeaderSize {
		v := binary.LittleEndian.Uint32(batches[r.at:])
		if sizes[uint8(v)] != v>>16 {
			break
		}
		n := row(batches[r.at:], v)
		if n == 0 {
			break
		}
		found = append(found, message.Simple{At: uint32(r.at), Count: uint16(n), Size: uint16(v >> 16), Type: wire.MessageType(v)})
		r.at += n * (wire.MessageHeaderSize + int(v>>16))
	}
	return found
}

// row returns how many whole messages with this header, whatever their stage if it exists, stand one after the other at the start of b. Where
// the next one begins is not read from the one before: that would have to be waited for each time. It is not inlined since in the midst of
// its caller its numbers lie on the stack.
//
//go:noinline
func row(b []byte, header uint32) (n int) {
	const stage = 0xFF << 8
	step := wire.MessageHeaderSize + int(header>>16)
	for len(b) >= step {
		v := binary.LittleEndian.Uint32(b)
		if (v^header)&^stage != 0 || v&stage >= tick.NumStages<<8 {
			break
		}
		n++
		b = b[step:]
	}
	return n
}

// Start returns where in the packet's batches Payload begins.
func (r *Reader) Start() int { return r.at - len(r.Payload) }

// Err returns nil when Next has reached the end of the packet or not stopped yet, and ErrMalformed when it stopped early.
func (r *Reader) Err() error {
	if r.bad {
		return ErrMalformed
	}
	return nil
}

// open goes into the next batch.
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

// minFurtherBatch is the smallest further batch: there is a message in it.
const minFurtherBatch = furtherBatch + wire.MessageHeaderSize

// batchSize returns the size of the batch at the start of b, least or more and not above len(b).
func batchSize(b []byte, least int) (size int, ok bool) {
	if len(b) < wire.BatchHeaderSize {
		return 0, false
	}
	size = int(binary.LittleEndian.Uint16(b))
	return size, size >= least && size <= len(b)
}

// legalBatches reports whether b is a first batch and any number of further ones, to the last byte. Their messages are not
// looked at.
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

// Types tells how the other end numbers the types of messages, where its protocol is another one. A Conn changes the numbers in the packets
// that come and go: all else of this end has its own. A number that is 0 is malformed at the receiver, so each has one.
type Types struct {
	In  [1 << 8]wire.MessageType // by their number: ours
	Out [1 << 8]wire.MessageType // by our number: theirs
}

// renumber changes the types of the game's messages in the batches of a packet, in their place. It stops at what is malformed.
func renumber(batches []byte, by *[1 << 8]wire.MessageType) {
	in := Incoming{Batches: batches}
	for r := in.Messages(); r.Next(); {
		switch h := r.Header; {
		case h.Type >= wire.FirstUserMessage:
			batches[r.Start()-wire.MessageHeaderSize] = byte(by[h.Type])
		case h.Type == wire.MessageFragment && r.Channel.Delivery().Reliable() && len(r.Payload) > numberSize:
			if of := wire.MessageType(r.Payload[numberSize]); of >= wire.FirstUserMessage { // A refusal may come in pieces too.
				r.Payload[numberSize] = byte(by[of])
			}
		}
	}
}
