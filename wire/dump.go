package wire

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
)

// Dump prints packets for people: headers, messages and, by name, fields and their values. The zero value knows
// no names but those of the types that netcode itself uses. It reads the packed and the debug encoding alike,
// and says of bytes from anywhere what is wrong with them; it never panics.
type Dump struct {
	// Plan returns the fields of a message type, nil where it has none that are known.
	Plan func(t MessageType) *Plan
	// Payload appends, in lines, what a payload that Plan does not know says; false if it does not know either.
	// It is how packages above this one explain snapshots.
	Payload func(dst []byte, h MessageHeader, payload []byte) ([]byte, bool)
	// Check is the state from which the packet's checksum is judged; nil leaves it unjudged.
	Check *Checksum
}

// Append appends what a datagram says, in lines:
//
//	packet of 33 bytes, sequence 12, ack 7, before it 6 5 3
//	 batch of 22 bytes
//	  message 16 Chat, stage Update, 4 bytes
//	   Number=7
//	 checksum 9f0c11e2, right
func (d *Dump) Append(dst, packet []byte) []byte {
	if len(packet) > 0 && packet[0]&HandshakeFlag != 0 {
		dst = fmt.Appendf(dst, "handshake datagram of kind %d, %d bytes\n", packet[0]&^HandshakeFlag, len(packet))
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
		return fmt.Appendf(dst, ", ack %d and all 32 before it\n", h.Ack)
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
	return append(dst, '\n')
}

// batches appends a packet's batches, which are all of b.
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

// messages appends the messages of a batch, which are all of b.
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
	var plan *Plan
	if d.Plan != nil {
		plan = d.Plan(h.Type)
	}
	name := messageName(h.Type)
	if plan != nil {
		name = plan.Name()
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
	if plan != nil {
		return plan.appendPayload(dst, payload)
	}
	if d.Payload != nil {
		if out, known := d.Payload(dst, h, payload); known {
			return out
		}
	}
	return AppendHex(dst, payload, 3)
}

// appendPrefix appends what stands before a message's body, and reads it.
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

// messageName names netcode's own message types.
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
	return "unknown"
}

// appendPayload appends the fields of a message, or why they cannot be read.
func (p *Plan) appendPayload(dst, payload []byte) []byte {
	lanes, r := make([]uint32, p.Lanes()), NewBitReader(payload)
	if !p.ReadRow(&r, lanes) || !r.Done() {
		dst = append(dst, "   not legal\n"...)
		return AppendHex(dst, payload, 3)
	}
	dst = append(dst, "   "...)
	return append(p.AppendValues(dst, lanes), '\n')
}

// AppendValues appends the fields of a row by name, with the values that they have at the receiver, such as
// "Pos.X=1.5 Pos.Y=-3 Rot=(0 0 0 1) Target=12v3 Home=nil".
func (p *Plan) AppendValues(dst []byte, lanes []uint32) []byte {
	for i := range p.ops {
		if i > 0 {
			dst = append(dst, ' ')
		}
		o := &p.ops[i]
		dst = append(append(dst, o.path...), '=')
		dst = o.appendValue(dst, o.value(lanes))
	}
	return dst
}

// appendValue appends a field's value in the shortest text that tells it from all others.
func (o *op) appendValue(dst []byte, c cell) []byte {
	switch o.kind {
	case opBool:
		return strconv.AppendBool(dst, c[0] != 0)
	case opInt8, opInt16, opInt32, opInt64, opRange:
		if o.signed {
			return strconv.AppendInt(dst, int64(o.extended(c[0])), 10)
		}
		return strconv.AppendUint(dst, c[0], 10)
	case opHandle, opID, opTarget:
		if c[0] == 0 {
			return append(dst, "nil"...)
		}
		return append(dst, NetworkID{Index: uint32(c[0]), Generation: uint32(c[0] >> 32)}.String()...)
	case opQuat:
		before := byte('(')
		for _, v := range c.quat() {
			dst = strconv.AppendFloat(append(dst, before), float64(v), 'g', -1, 32)
			before = ' '
		}
		return append(dst, ')')
	}
	if o.size == 4 {
		return strconv.AppendFloat(dst, float64(math.Float32frombits(uint32(c[0]))), 'g', -1, 32)
	}
	return strconv.AppendFloat(dst, math.Float64frombits(c[0]), 'g', -1, 64)
}

// AppendHex appends bytes in lines of sixteen, each with its offset and indented by so many spaces.
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
