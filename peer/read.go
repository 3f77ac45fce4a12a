package peer

import (
	"math/bits"
	"time"

	"github.com/arche-netcode/netcode/wire"
)

// Incoming is a packet that passed every check of Read and waits to be decoded.
type Incoming struct {
	Sequence uint64 // of the packet, in full
	// Batches holds all batches of the packet, whose sizes and channels are legal.
	// It is a part of the packet that was read, not a copy. Messages goes through it.
	Batches []byte
	// Eliciting reports whether there is a message in it.
	Eliciting bool
}

// Read checks a packet and applies the acknowledgements in it, telling out
// about those that are news. out may be nil.
//
// After ErrChecksum, ErrDuplicate and ErrOld nothing has changed but a counter,
// and the packet is to be dropped. ErrMalformed and ErrAckOfUnsent are reasons
// to close; they too leave every outcome and estimate as it was.
func (c *Conn) Read(packet []byte, now time.Duration, out Outcome) (Incoming, error) {
	body, ok := unseal(c.config.CheckIncoming, packet)
	if !ok {
		c.stats.BadChecksum++
		return Incoming{}, ErrChecksum
	}
	header, n, err := wire.ParsePacketHeader(body)
	if err != nil {
		c.stats.Malformed++
		return Incoming{}, ErrMalformed
	}
	batches := body[n:]
	if !legalBatches(batches) {
		c.stats.Malformed++
		return Incoming{}, ErrMalformed
	}
	sequence, err := c.received.judge(header.Sequence)
	switch err {
	case nil:
	case ErrDuplicate:
		c.stats.Duplicates++
		return Incoming{}, err
	default:
		c.stats.Old++
		return Incoming{}, err
	}
	if header.HasAck && !c.acknowledge(header.Ack, header.AckBits, now, out) {
		c.stats.AcksOfUnsent++
		return Incoming{}, ErrAckOfUnsent
	}
	c.stats.Received++
	c.stats.BytesReceived += uint64(len(packet))
	return Incoming{Sequence: sequence, Batches: batches, Eliciting: len(batches) > wire.BatchHeaderSize}, nil
}

// Accept records that a packet was decoded whole. It will be acknowledged, and
// what is sent with its number again is a duplicate.
func (c *Conn) Accept(in Incoming, now time.Duration) {
	first := !c.received.any
	if !c.received.accept(in.Sequence, in.Eliciting) {
		return
	}
	c.stats.Accepted++
	if gap := now - c.heard; gap > 0 && !first {
		if c.stood(now) {
			c.silence.until = now + min(8*gap, 8*time.Second)
			c.sampled = c.sent.next
		}
		c.silence.add(gap)
	}
	c.heard = now
}

// stood reports whether a silence ends now in which one of the ends stood still.
func (c *Conn) stood(now time.Duration) bool {
	return c.received.any && now >= c.silence.until && c.silence.broken(now-c.heard)
}

// acknowledge applies an ack and its bits, all or nothing: it reports false,
// with nothing changed, if they name a number that was never sent.
//
// Numbers are counted back from the newest one sent (their age), so that none
// of the arithmetic leaves the 64 bits, however early in the connection. An ack
// half the wire's numbers or more ahead cannot be told from an old one, and old
// ones are not judged.
func (c *Conn) acknowledge(ack wire.Sequence, ackBits uint32, now time.Duration, out Outcome) bool {
	age := uint64(uint16(wire.Sequence(c.sent.next-1) - ack))
	if age > 1<<15 {
		return false
	}
	if age >= uint64(len(c.sent.ring)) {
		return true // and so are all its bits
	}
	from := c.sent.next - 1 - age
	all := uint64(ackBits)<<1 | 1 // bit n names the number from-n
	news := all &^ c.acked.known(from)
	for rest := news; rest != 0; rest &= rest - 1 {
		if !c.sent.legal(age + uint64(bits.TrailingZeros64(rest))) {
			return false
		}
	}
	c.acked.add(from, all)
	var newest *record
	var newestSequence uint64
	for news != 0 {
		n := uint64(bits.Len64(news) - 1) // rising order of sequence
		news &^= 1 << n
		if r := c.applyAck(age+n, out); r != nil {
			newest, newestSequence = r, from-n
		}
	}
	if newest != nil && newestSequence >= c.sampled && !c.stood(now) {
		c.sampled = newestSequence + 1
		c.rtt.sample(now - newest.at)
	}
	return true
}

// applyAck applies one acknowledgement and returns its record if it is news
// about an eliciting packet.
func (c *Conn) applyAck(age uint64, out Outcome) *record {
	r, before := c.sent.acked(age)
	switch before {
	case sentPending:
		c.loss.add(false)
	case sentLost:
		c.loss.withdraw()
		c.stats.LateAcks++
	default:
		return nil
	}
	c.stats.Acked++
	if out != nil {
		out.Acked(c.sent.next-1-age, r.tick)
	}
	return r
}
