package wire

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"time"
)

// Dump prints packets as text: headers, messages, fields and their values. The zero value knows only the names of
// netcode's own message types. It reads both the packed and the debug encoding, describes errors in untrusted bytes,
// and never panics.
type Dump struct {
	// Name returns the name of a registered message type, "" for others.
	Name func(t MessageType) string
	// Payload appends a payload in lines; it returns false if it does not know the type. Packages above this one print
	// snapshots with it.
	Payload func(dst []byte, h MessageHeader, payload []byte) ([]byte, bool)
	// Check is the state for verifying the packet's checksum; nil: it is not verified.
	Check *Checksum
}

// Append appends the contents of a datagram, in lines:
//
//	packet of 33 bytes, sequence 12, ack 7, before it 6 5 3
//	 batch of 22 bytes
//	  message 16 Chat, stage Update, 4 bytes
//	   Number=7
//	 checksum 9f0c11e2, right
func (d *Dump) Append(dst, packet []byte) []byte {
	if len(packet) > 0 && packet[0]&HandshakeFlag != 0 {
		dst = fmt.Appendf(dst, "handshake datagram of kind %d, %s, %d bytes\n", packet[0]&^HandshakeFlag, handshakeName(packet[0]&^HandshakeFlag), len(packet))
		return AppendHex(dst, packet, 1)
	}
	dst = fmt.Appendf(dst, "packet of %d bytes", len(packet))
	h, n, err := ParsePacketHeader(packet)
	if err != nil || len(packet)-n < ChecksumSize {
		dst = append(dst, ", which is no packet\n"...)
		return AppendHex(dst, packet, 1)
	}
	dst = appendPacketHeader(dst, h)
	body := packet[n : len(packet)-ChecksumSize]
	dst = d.batches(dst, body)
	sum := binary.LittleEndian.Uint32(packet[len(packet)-ChecksumSize:])
	dst = fmt.Appendf(dst, " checksum %08x", sum)
	switch {
	case d.Check == nil:
	case d.Check.Sum(packet[:len(packet)-ChecksumSize]) == sum:
		dst = append(dst, ", right"...)
	default:
		dst = append(dst, ", WRONG"...)
	}
	return append(dst, '\n')
}

func appendPacketHeader(dst []byte, h PacketHeader) []byte {
	dst = fmt.Appendf(dst, ", sequence %d", h.Sequence)
	switch {
	case !h.HasAck:
		return append(dst, ", nothing acknowledged\n"...)
	case h.AckBits == math.MaxUint32:
		return appendDelay(fmt.Appendf(dst, ", ack %d and all 32 before it", h.Ack), h)
	}
	dst = fmt.Appendf(dst, ", ack %d, before it", h.Ack)
	if h.AckBits == 0 {
		dst = append(dst, " none"...)
	}
	for i := range Sequence(32) {
		if h.AckBits>>i&1 == 1 {
			dst = fmt.Appendf(dst, " %d", h.Ack-1-i)
		}
	}
	return appendDelay(dst, h)
}

// appendDelay appends the ack delay of a header, and ends its line.
func appendDelay(dst []byte, h PacketHeader) []byte {
	if h.HasDelay {
		dst = fmt.Appendf(dst, ", ack delay %v", time.Duration(h.Delay)*AckDelayUnit)
	}
	return append(dst, '\n')
}

// batches appends the batches in b.
func (d *Dump) batches(dst, b []byte) []byte {
	for from := BatchHeaderSize; ; from = BatchHeaderSize + 1 {
		h, err := ParseBatchHeader(b)
		if err != nil || int(h.Size) < from {
			dst = fmt.Appendf(dst, " no batch, in %d bytes\n", len(b))
			return AppendHex(dst, b, 2)
		}
		ch := Channel(0)
		dst = fmt.Appendf(dst, " batch of %d bytes", h.Size)
		if from > BatchHeaderSize {
			ch = Channel(b[BatchHeaderSize])
			dst = fmt.Appendf(dst, ", channel %s", ch)
		}
		dst = append(dst, '\n')
		dst = d.messages(dst, b[from:h.Size], ch)
		if b = b[h.Size:]; len(b) == 0 {
			return dst
		}
	}
}

// messages appends the messages of a batch.
func (d *Dump) messages(dst, b []byte, ch Channel) []byte {
	for len(b) > 0 {
		h, err := ParseMessageHeader(b)
		if err != nil {
			dst = fmt.Appendf(dst, "  no message, %v\n", err)
			return AppendHex(dst, b, 3)
		}
		end := MessageHeaderSize + int(h.Size)
		dst = d.message(dst, h, b[MessageHeaderSize:end], ch)
		b = b[end:]
	}
	return dst
}

// message appends one message of a channel.
func (d *Dump) message(dst []byte, h MessageHeader, payload []byte, ch Channel) []byte {
	name := ""
	if d.Name != nil {
		name = d.Name(h.Type)
	}
	if name == "" {
		name = messageName(h.Type)
	}
	dst = fmt.Appendf(dst, "  message %d %s, stage %s, %d bytes", h.Type, name, h.Stage, len(payload))
	r := NewReader(payload)
	dst = appendPrefix(dst, h, &r, ch)
	dst = append(dst, '\n')
	if r.Err() != nil {
		dst = append(dst, "   not legal\n"...)
		return AppendHex(dst, payload, 3)
	}
	payload = payload[r.Position():]
	if d.Payload != nil {
		if out, known := d.Payload(dst, h, payload); known {
			return out
		}
	}
	return AppendHex(dst, payload, 3)
}

// appendPrefix reads and appends the fields that precede a message's body.
func appendPrefix(dst []byte, h MessageHeader, r *Reader, ch Channel) []byte {
	if ch.Delivery().Reliable() {
		dst = fmt.Appendf(dst, ", number %d", r.Uint16())
	}
	if h.Type == MessageFragment {
		kind, stage, index, count := r.Uint8(), r.Uint8(), r.Uint8(), r.Uint8()
		return fmt.Appendf(dst, ", piece %d of %d of a message %d, stage byte %#x", index, count, kind, stage)
	}
	if h.Flags&FlagTick != 0 {
		dst = fmt.Appendf(dst, ", not before the tick that ends in %d", r.Uint16())
	}
	if h.Flags&FlagEntity != 0 {
		index, generation := r.Varint(), r.Varint()
		dst = fmt.Appendf(dst, ", about %dv%d", index, generation)
	}
	if h.Flags&FlagCall != 0 {
		dst = fmt.Appendf(dst, ", call %d", r.Uint16())
	}
	if h.Flags&FlagState != 0 {
		dst = fmt.Appendf(dst, ", after its state of the tick that ends in %d", r.Uint16())
	}
	return dst
}

// handshakeName returns PROTOCOL.md's name of a kind of handshake datagram.
func handshakeName(kind byte) string {
	names := [...]string{"unknown", "Hello", "Challenge", "Accept", "Refuse", "Join", "Welcome", "Resume", "Reset"}
	if int(kind) < len(names) {
		return names[kind]
	}
	return names[0]
}

// messageName returns the name of one of netcode's own message types.
func messageName(t MessageType) string {
	switch t {
	case MessageSnapshot:
		return "snapshot"
	case MessageKeepAlive:
		return "keep-alive"
	case MessageClose:
		return "close"
	case MessageResync:
		return "resync"
	case MessageCredit:
		return "credit"
	case MessageFragment:
		return "fragment"
	case MessageRefusal:
		return "refusal"
	case MessageFeedback:
		return "feedback"
	case MessageInput:
		return "input"
	}
	if t < FirstUserMessage {
		return "packet section" // of a feature: Protocol.Description names it
	}
	return "unknown"
}

// AppendHex appends bytes as lines of sixteen, each with its offset and indented by indent spaces.
func AppendHex(dst, b []byte, indent int) []byte {
	for at := 0; at < len(b); at += 16 {
		for range indent {
			dst = append(dst, ' ')
		}
		dst = fmt.Appendf(dst, "%04x", at)
		for _, one := range b[at:min(at+16, len(b))] {
			dst = hex.AppendEncode(append(dst, ' '), []byte{one})
		}
		dst = append(dst, '\n')
	}
	return dst
}
