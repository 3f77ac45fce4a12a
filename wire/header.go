package wire

import (
	"encoding/binary"
	"strconv"
	"time"

	"github.com/arche-netcode/netcode/tick"
)

// PacketHeader opens every data packet.
//
//	 byte 0          1    2        3    4       0..4 bytes             2 bytes
//	+---------------+----+----+   +----+----+   +--------------------+ +-----------+
//	| flags         | sequence|   | ack     |   | ack bits           | | ack delay |
//	+---------------+----+----+   +----+----+   +--------------------+ +-----------+
//	                 LE, always    LE, if bit 0  byte k if bit 1+k      LE, if bit 5
//
//	flags, bit 7 to 0:
//	+---+---+-------+----+----+----+----+-----+
//	| H | 0 | delay | a3 | a2 | a1 | a0 | ack |    H: 1 = handshake datagram, 0 = data packet
//	+---+---+-------+----+----+----+----+-----+    ak: byte k of the ack bits is not 0xFF and follows
//
// Ack is the newest sequence received; bit i of the ack bits tells that sequence Ack-1-i arrived too. Without loss
// every ack-bits byte is 0xFF and none is sent.
type PacketHeader struct {
	Sequence Sequence // this packet's number
	HasAck   bool     // Ack and AckBits are set: a packet was received
	Ack      Sequence // newest received packet
	AckBits  uint32   // bit i: Ack-1-i was received
	HasDelay bool     // Delay is set; only with HasAck
	Delay    uint16   // time between the arrival of packet Ack and the sending of this packet, in AckDelayUnit
}

// AckDelayUnit is the unit of PacketHeader.Delay. It is the default of RFC 9000, section 18.2.
const AckDelayUnit = 8 * time.Microsecond

// Sizes of the headers in bytes.
const (
	MaxPacketHeader   = 9 // longest packet header without an ack delay
	MinPacketHeader   = 3 // shortest packet header
	AckDelaySize      = 2 // length of an ack delay
	BatchHeaderSize   = 2
	MessageHeaderSize = 4
)

// HandshakeFlag is set in the first byte of a handshake datagram and clear in that of a packet.
const HandshakeFlag byte = 0x80

const (
	flagAck     byte = 1 << 0
	flagAckByte      = 1 // flag bit of ack-bits byte 0
	flagDelay   byte = 1 << 5
	flagUnused  byte = 0x40
)

// AppendPacketHeader appends h to b. Ack, AckBits and Delay are ignored without HasAck.
func AppendPacketHeader(b []byte, h PacketHeader) []byte {
	at := len(b)
	b = append(b, 0, byte(h.Sequence), byte(h.Sequence>>8))
	if !h.HasAck {
		return b
	}
	flags := flagAck
	b = append(b, byte(h.Ack), byte(h.Ack>>8))
	for k := 0; k < 4; k++ {
		if bits := byte(h.AckBits >> (8 * k)); bits != 0xFF {
			flags |= 1 << (flagAckByte + k)
			b = append(b, bits)
		}
	}
	b[at] = flags
	if h.HasDelay {
		return InsertAckDelay(b, at, len(b)-at, h.Delay)
	}
	return b
}

// InsertAckDelay inserts an ack delay after the packet header of n bytes at b[at]. The header has an ack and no ack
// delay. Later bytes move.
func InsertAckDelay(b []byte, at, n int, delay uint16) []byte {
	b[at] |= flagDelay
	b = append(b, 0, 0)
	copy(b[at+n+AckDelaySize:], b[at+n:])
	binary.LittleEndian.PutUint16(b[at+n:], delay)
	return b
}

// ParsePacketHeader parses the header at the start of b and returns its length. Errors are ErrTruncated and
// ErrMalformed (a handshake datagram, an unused flag, an ack-bits byte of 0xFF).
func ParsePacketHeader(b []byte) (h PacketHeader, n int, err error) {
	if len(b) < MinPacketHeader {
		return h, 0, ErrTruncated
	}
	flags := b[0]
	if flags&(HandshakeFlag|flagUnused) != 0 || (flags&flagAck == 0 && flags != 0) {
		return h, 0, ErrMalformed
	}
	seq := Sequence(binary.LittleEndian.Uint16(b[1:]))
	if flags == 0 {
		return PacketHeader{Sequence: seq}, MinPacketHeader, nil
	}
	if len(b) < MinPacketHeader+2 {
		return h, 0, ErrTruncated
	}
	ack, ackBits, n := Sequence(binary.LittleEndian.Uint16(b[3:])), uint32(0), MinPacketHeader+2
	for k := 0; k < 4; k++ {
		bits := byte(0xFF)
		if flags&(1<<(flagAckByte+k)) != 0 {
			if n >= len(b) {
				return h, 0, ErrTruncated
			}
			if bits = b[n]; bits == 0xFF {
				return h, 0, ErrMalformed
			}
			n++
		}
		ackBits |= uint32(bits) << (8 * k)
	}
	h = PacketHeader{Sequence: seq, HasAck: true, Ack: ack, AckBits: ackBits}
	if flags&flagDelay != 0 {
		if n+AckDelaySize > len(b) {
			return PacketHeader{}, 0, ErrTruncated
		}
		h.HasDelay, h.Delay = true, binary.LittleEndian.Uint16(b[n:])
		n += AckDelaySize
	}
	return h, n, nil
}

// BatchHeader starts a batch: the messages of one channel in one packet.
//
//	byte 0    1
//	+----+----+
//	| size LE |   bytes of the batch, these two included
//	+----+----+
//
// The first batch of a packet belongs to channel 0 of Unreliable. Each later batch has the channel as one byte after
// the size; the size includes it.
type BatchHeader struct {
	Size uint16 // bytes, header included: at least 2
}

// Put writes h to the first 2 bytes of b. It panics on a size below the header's own.
func (h BatchHeader) Put(b []byte) {
	if h.Size < BatchHeaderSize {
		panic("wire: batch smaller than its header")
	}
	binary.LittleEndian.PutUint16(b, h.Size)
}

// ParseBatchHeader parses the header at the start of b. Size is from 2 to len(b); otherwise the error is ErrMalformed
// or ErrTruncated.
func ParseBatchHeader(b []byte) (BatchHeader, error) {
	if len(b) < BatchHeaderSize {
		return BatchHeader{}, ErrTruncated
	}
	size := binary.LittleEndian.Uint16(b)
	if size < BatchHeaderSize {
		return BatchHeader{}, ErrMalformed
	}
	if int(size) > len(b) {
		return BatchHeader{}, ErrTruncated
	}
	return BatchHeader{Size: size}, nil
}

// MessageFlags are the optional fields that precede a message's body. They are sent in the high bits of the stage's
// byte.
type MessageFlags uint8

// The flags, in the order of their fields in the payload, before the body. The other bits are never set.
const (
	// FlagTick: do not handle the message before a tick. 2 bytes little-endian, the tick's low bits.
	FlagTick MessageFlags = 0x08
	// FlagEntity: the message is about an entity; do not handle it before the entity exists at the receiver. Index and
	// generation of the entity as varints.
	FlagEntity MessageFlags = 0x10
	// FlagCall: the message is a question or its answer. 2 bytes little-endian, the number of the call.
	FlagCall MessageFlags = 0x20
	// FlagState: do not handle the message before the receiver has the sender's state of the entity as of a tick. Only
	// with FlagEntity. 2 bytes little-endian, the tick's low bits.
	FlagState MessageFlags = 0x40

	allFlags  = FlagTick | FlagEntity | FlagCall | FlagState
	stageBits = 0x07
)

// Valid reports whether only bits of known flags are set.
func (f MessageFlags) Valid() bool { return f&^allFlags == 0 }

// MessageHeader opens a message within a batch. It is written and read as one 32-bit value.
//
//	 byte 0    1       2    3
//	+------+-------+----+----+
//	| type | stage | size LE |   size: bytes of payload that follow, header not included
//	+------+-------+----+----+
//
//	stage, bit 7 to 0:
//	+---+-------+------+--------+------+----+----+----+
//	| 0 | state | call | entity | tick |    stage     |
//	+---+-------+------+--------+------+----+----+----+
//
// Without flags the byte is the stage's number alone. Types below FirstUserMessage have no flags, but for MessageRefusal,
// which has FlagCall and no other.
type MessageHeader struct {
	Type  MessageType  // 1..254
	Stage tick.Stage   // stage of the receiver's frame that handles it
	Flags MessageFlags // optional fields before the body
	Size  uint16       // payload bytes that follow
}

// Put writes h to the first 4 bytes of b. It panics on an invalid type, stage or combination of type and flags.
func (h MessageHeader) Put(b []byte) {
	v := uint32(h.Type) | uint32(h.Stage|tick.Stage(h.Flags))<<8
	if h.Stage > stageBits || h.Flags&stageBits != 0 || !legalHeader(v) {
		panic("wire: message header with no valid type, stage or flags")
	}
	binary.LittleEndian.PutUint32(b, v|uint32(h.Size)<<16)
}

// legalHeader reports whether a header, as a little-endian number, has a valid combination of type, stage and flags.
func legalHeader(v uint32) bool {
	kind, stage := v&0xFF, v>>8&0xFF
	if kind-uint32(FirstUserMessage) <= uint32(MaxMessageType-FirstUserMessage) {
		return stage&stageBits < tick.NumStages && stage <= uint32(allFlags|stageBits)
	}
	flags := uint32(0)
	if kind == uint32(MessageRefusal) {
		flags = uint32(FlagCall)
	}
	return kind-1 < uint32(FirstUserMessage)-1 && stage&stageBits < tick.NumStages && stage&^stageBits == flags
}

// ParseMessageHeader parses the header at the start of b. Type, stage and flags are valid and the payload is within b;
// otherwise the error is ErrMalformed or ErrTruncated. The caller checks that the type is registered, and that the
// fields of the flags exist.
func ParseMessageHeader(b []byte) (MessageHeader, error) {
	if len(b) < MessageHeaderSize {
		return MessageHeader{}, ErrTruncated
	}
	v := binary.LittleEndian.Uint32(b)
	h, ok := UnpackMessageHeader(v)
	if !ok {
		return MessageHeader{}, ErrMalformed
	}
	if int(h.Size) > len(b)-MessageHeaderSize {
		return MessageHeader{}, ErrTruncated
	}
	return h, nil
}

// UnpackMessageHeader is ParseMessageHeader for loops: v is the header as a little-endian number, and the payload size
// is not checked. ok is false for an illegal header.
func UnpackMessageHeader(v uint32) (h MessageHeader, ok bool) {
	return MessageHeader{Type: MessageType(v), Stage: tick.Stage(v>>8) & stageBits, Flags: MessageFlags(v>>8) &^ stageBits,
		Size: uint16(v >> 16)}, legalHeader(v)
}

// Delivery is a mode of delivery: the guarantees for a message.
type Delivery uint8

// The modes of delivery.
const (
	Unreliable          Delivery = 0 // at most once, in any order
	UnreliableSequenced Delivery = 1 // at most once, never after a later one of its channel
	Reliable            Delivery = 2 // exactly once while the connection lasts, in any order
	ReliableOrdered     Delivery = 3 // exactly once, in the order of the channel
)

// Valid reports whether d is one of the four modes.
func (d Delivery) Valid() bool { return d <= ReliableOrdered }

// Reliable reports whether lost messages are sent again.
func (d Delivery) Reliable() bool { return d >= Reliable }

// String returns the mode's name.
func (d Delivery) String() string {
	switch d {
	case Unreliable:
		return "Unreliable"
	case UnreliableSequenced:
		return "UnreliableSequenced"
	case Reliable:
		return "Reliable"
	case ReliableOrdered:
		return "ReliableOrdered"
	}
	return "Delivery(" + strconv.Itoa(int(d)) + ")"
}

// MaxChannels is the number of channels of each mode of delivery.
const MaxChannels = 64

// Channel is a line of messages of one mode of delivery. Order and loss affect one channel only. It is one byte on the
// wire: the mode in the two high bits, the number below. The zero value is channel 0 of Unreliable.
type Channel uint8

// NewChannel returns a channel of a mode. d is taken modulo 4, number modulo MaxChannels.
func NewChannel(d Delivery, number int) Channel {
	return Channel(d)<<6 | Channel(number)&(MaxChannels-1)
}

// Delivery returns the channel's mode.
func (c Channel) Delivery() Delivery { return Delivery(c >> 6) }

// Number returns the channel's number within its mode, 0 to MaxChannels-1.
func (c Channel) Number() int { return int(c & (MaxChannels - 1)) }

// String returns mode and number, such as "Reliable 3".
func (c Channel) String() string { return c.Delivery().String() + " " + strconv.Itoa(c.Number()) }

// Sequence is a packet's number on the wire: the low 16 bits of a 64-bit number.
type Sequence uint16

// Before reports whether s precedes other, in wrap-around order. Of two numbers at a distance of exactly half the
// range, neither precedes the other.
func (s Sequence) Before(other Sequence) bool { return int16(s-other) < 0 && s-other != 1<<15 }
