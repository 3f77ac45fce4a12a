package peer

import (
	"cmp"
	"math"
	"math/bits"
	"time"

	"github.com/arche-netcode/netcode/congestion"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

const (
	// DefaultPacketSize is the default limit of a whole packet in bytes.
	DefaultPacketSize = 1200
	// MinPacketSize is the smallest limit of a packet, in bytes. It has space for a small message.
	MinPacketSize = 64
	// MaxPacketSize is the largest limit of a packet, in bytes: the largest UDP payload.
	MaxPacketSize = 65507
	// DefaultSentPackets is the default number of sent-packet records.
	DefaultSentPackets = 1024

	minSentPackets = 64      // more than the ack bits cover
	maxSentPackets = 1 << 14 // well below half of the 16-bit sequences
)

// ConnConfig has the agreed values of a connection, and its limits. The zero value of each field but Check is a
// default.
type ConnConfig struct {
	// SentPackets is the number of sent packets that are stored. It should cover four round trips, otherwise sending
	// stops at times to wait for acknowledgements. A quarter is reserved for signs of life. It is raised to a power of
	// two in 64..16384. Default 1024.
	SentPackets int
	// Check is the checksum's start: the session's epoch and the protocol hash.
	Check wire.Checksum
	// CheckIncoming is the checksum's start for incoming packets. If it differs from Check, a packet that the network
	// reflects to its sender fails the check. Zero means the same as Check.
	CheckIncoming wire.Checksum
	// PacketSize is the largest packet to send, in bytes. Default 1200.
	PacketSize int
	// BaseSize is the size of packets that certainly arrive, in bytes. Larger sizes are tried by probes (RFC 8899).
	// Default: PacketSize, without probes.
	BaseSize int
	// TickInterval is the time of one network tick. The remote end acknowledges within it. Default 1/30 s.
	TickInterval time.Duration
	// Bound is the upper limit of the rate of congestion control, in bytes per second with PacketOverhead for each
	// packet. 0 turns congestion control off.
	Bound int
	// FirstSequence is the sequence of the first packet in both directions. Default 1. Both ends must use the same.
	// Other values are for tests.
	FirstSequence uint64
	// Types maps the message types of an end with another protocol. Nil: the types are the same at both ends.
	Types *Types
}

func (c ConnConfig) withDefaults() ConnConfig {
	if c.CheckIncoming == 0 {
		c.CheckIncoming = c.Check
	}
	if c.SentPackets <= 0 {
		c.SentPackets = DefaultSentPackets
	}
	c.SentPackets = min(max(c.SentPackets, minSentPackets), maxSentPackets)
	if c.PacketSize <= 0 {
		c.PacketSize = DefaultPacketSize
	}
	c.PacketSize = min(max(c.PacketSize, MinPacketSize), MaxPacketSize)
	if c.TickInterval <= 0 {
		c.TickInterval = time.Second / 30
	}
	if c.FirstSequence == 0 {
		c.FirstSequence = 1
	}
	return c
}

// Outcome receives the outcome of each eliciting packet. For one sequence the calls are: none yet; Acked; Lost; or Lost
// and later Acked, if the acknowledgement was only late. No call follows Acked.
//
// The calls come from [Conn.Read] and [Conn.DetectLost], within one call of these in rising order of sequence.
type Outcome interface {
	// Acked reports that the packet arrived and was decoded whole. sentAt is the tick that was passed to Finish.
	Acked(seq uint64, sentAt tick.Tick)
	// Lost reports that the packet is presumed lost (docs/design.md, rule 8).
	Lost(seq uint64)
}

// Conn is the packet layer of a connection to one remote end. It knows which packets arrived at this end, the outcome
// of the packets it sent, and estimates of the link.
//
// Reading has two steps, since a packet that cannot be decoded whole must not be acknowledged (docs/design.md, rule 5).
// Read checks a packet and applies its acknowledgements. Accept is called when every message in it was decoded: from
// then on the packet is acknowledged.
//
// A Conn allocates in NewConn, and when packets on their way need more records than before, up to SentPackets.
type Conn struct {
	// Control is the congestion control of sent packets. Conn reports sent, acknowledged and lost packets to it. The
	// owner calls its Tick.
	Control congestion.Controller

	config   ConnConfig
	received received
	sent     sent
	rtt      roundTrip
	loss     lossRate
	lastAck  lastAck
	sampled  uint64 // packets before this one give no RTT sample
	heard    time.Duration
	silence  silence
	ping     ping
	// controlled is the first packet that Control counted. Acknowledgements of earlier packets do not concern it.
	controlled uint64
	mtu        mtuSearch
	stats      Stats
	renumbered []byte // batches of the last received packet with this end's message types, if Types is set
}

// NewConn returns the packet layer of a new connection.
func NewConn(cfg ConnConfig) *Conn {
	cfg = cfg.withDefaults()
	c := &Conn{
		config:   cfg,
		received: newReceived(cfg.FirstSequence),
		sent:     newSent(cfg.FirstSequence, cfg.SentPackets),
		sampled:  cfg.FirstSequence,
	}
	c.mtu = c.newMTUSearch()
	if cfg.Bound > 0 {
		c.startControl()
	}
	return c
}

// startControl begins congestion control with the next packet.
func (c *Conn) startControl() {
	c.Control, c.controlled = congestion.New(c.config.Bound, c.config.TickInterval), c.sent.next
}

// SetBound changes the upper limit of congestion control, in bytes per second as in ConnConfig. It starts or ends
// congestion control if needed: 0 ends it.
func (c *Conn) SetBound(bound int) {
	c.config.Bound = bound
	switch {
	case bound <= 0:
		c.Control = congestion.Controller{}
	case c.Control.Rate() < 0:
		c.startControl()
	default:
		c.Control.SetBound(bound)
	}
}

// Next returns the sequence of the next packet.
func (c *Conn) Next() uint64 { return c.sent.next }

// CanSend reports whether one more packet with any content can be stored. If not, only signs of life may be sent (see
// CanSign), until acknowledgements arrive or stored packets are too old to be acknowledged.
func (c *Conn) CanSend() bool { return c.sent.used() < c.sent.most-c.sent.signs() }

// CanSign reports whether a sign of life may be sent: a packet that only acknowledges or shows that this end is alive.
// Some records are reserved for signs of life. They must last as long as other packets are awaited. So signs of life
// must be some time apart, except acknowledgements of many packets, which may take half of the reserve.
func (c *Conn) CanSign(now time.Duration) bool {
	left := c.sent.most - c.sent.used()
	signs := c.sent.signs()
	switch {
	case left > signs:
		return true
	case left > signs/2 && c.AckNow():
		return true
	}
	return left > 0 && now-c.sent.at(c.sent.next-1).at >= awaitedFor/time.Duration(signs/2)
}

// HasRoom reports whether any packet may be sent: the next one must not overwrite the record of an awaited packet.
func (c *Conn) HasRoom() bool { return c.sent.used() < c.sent.most }

// Skip skips one sequence: no packet has it. A remote end that acknowledges it claims a packet that it cannot have
// received. Skip does nothing if CanSend is false.
func (c *Conn) Skip() {
	if c.CanSend() {
		c.sent.push(c.sent.tick, c.sent.now, sentSkipped, 0, 0)
	}
}

// AckDue reports whether an eliciting packet was accepted since the last packet was sent. This tick must then send a
// packet, even an empty one.
func (c *Conn) AckDue() bool { return c.received.due > 0 }

// AckNow reports whether so many eliciting packets were accepted since the last sent packet that an acknowledgement
// must not wait for the next tick.
func (c *Conn) AckNow() bool { return c.received.due >= ackEvery }

// DetectLost reports every packet that now counts as lost to out. Call it once per network tick, after the tick's
// packets were read.
func (c *Conn) DetectLost(now time.Duration, out Outcome) {
	timeout := c.rtt.timeout(c.config.TickInterval)
	for {
		seq, why := c.sent.nextLost(now, timeout)
		if why == notLost {
			break
		}
		if c.mtu.isProbe(seq) {
			c.stats.ProbesLost++
		} else {
			c.stats.Lost++
			c.loss.add(true)
			if seq >= max(c.mtu.since, c.controlled) {
				c.Control.Lost(c.sent.at(seq).end)
			}
		}
		c.mtu.lost(seq, int(c.sent.at(seq).size), now)
		if out != nil {
			out.Lost(seq)
		}
	}
	if !c.CanSend() {
		c.stats.RingFull++
	}
}

// RTT returns the smoothed round-trip time and its smoothed mean deviation. It includes the remote end's wait for its
// next tick. Both are 0 before the first acknowledgement.
func (c *Conn) RTT() (smoothed, jitter time.Duration) { return c.rtt.smoothed, c.rtt.jitter }

// Ping returns the round-trip time without the time that packets wait for frames at the two ends. It is measured about
// once per second, and 0 before the first measurement. The other end reports its wait, and may report a wrong one.
func (c *Conn) Ping() time.Duration { return c.ping.took }

// NewPath resets the round trip, the loss, the rate and the packet size, since the address of an end changed. Packets
// sent before give no samples.
func (c *Conn) NewPath() {
	c.rtt, c.loss, c.ping.took = roundTrip{}, lossRate{}, 0
	c.sampled = c.sent.next
	c.mtu = c.newMTUSearch()
	if c.config.Bound > 0 {
		c.startControl()
	}
}

// UsualGap returns the smoothed time between two moments at which packets were accepted.
func (c *Conn) UsualGap() time.Duration { return c.silence.usual }

// Loss returns the share of recent eliciting packets that were lost, from 0 to 1.
func (c *Conn) Loss() float64 { return c.loss.rate() }

// Stats returns the counters of this connection.
func (c *Conn) Stats() Stats { return c.stats }

// Incoming is a packet that passed every check of Read and is to be decoded.
type Incoming struct {
	Sequence uint64 // all 64 bits of the packet's sequence
	// Batches contains all batches of the packet. Their sizes and channels are legal. It is part of the packet that was
	// read, not a copy. Messages iterates over it.
	Batches []byte
	// Eliciting reports whether the packet has a message.
	Eliciting bool
	// Arrived is the time at which the packet arrived, on the clock of now. Read sets it to now. A caller that knows
	// the exact time sets it before Accept.
	Arrived time.Duration

	delayed bool // delay is valid: the ack delay of the packet ack
	ack     wire.Sequence
	delay   uint16
}

// Read checks a packet and applies its acknowledgements. It reports new ones to out, which may be nil.
//
// After ErrChecksum, ErrDuplicate and ErrOld only a counter has changed: drop the packet. ErrMalformed and
// ErrAckOfUnsent are reasons to close. They leave every outcome and estimate as it was, too.
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
	if of := c.config.Types; of != nil {
		c.renumbered = append(c.renumbered[:0], batches...)
		batches = c.renumbered
		renumber(batches, &of.In)
	}
	return Incoming{
		Sequence: sequence, Batches: batches, Eliciting: len(batches) > wire.BatchHeaderSize, Arrived: now,
		delayed: header.HasDelay, ack: header.Ack, delay: header.Delay,
	}, nil
}

// Accept notes that a packet was decoded whole. It is acknowledged from then on, and a second packet with its sequence
// is a duplicate.
func (c *Conn) Accept(in Incoming, now time.Duration) {
	first := !c.received.any
	if !c.received.accept(in.Sequence, in.Eliciting) {
		return
	}
	c.stats.Accepted++
	if in.Sequence == c.received.newest {
		c.ping.newestAt = in.Arrived
	}
	if in.delayed {
		c.samplePing(&in)
	}
	if gap := now - c.heard; gap > 0 && !first {
		if c.endsPause(now) {
			c.silence.until = now + min(8*gap, 8*time.Second)
			c.sampled = c.sent.next
		}
		c.silence.usual += (gap - c.silence.usual) / 8
	}
	c.heard = now
}

// endsPause reports whether a packet at time now ends a silence in which one of the ends was paused: see silence.
func (c *Conn) endsPause(now time.Duration) bool {
	return c.received.any && now >= c.silence.until && now-c.heard > max(leastBroken, brokenBy*c.silence.usual)
}

// acknowledge applies an ack and its ack bits, all or nothing. It returns false and changes nothing if they contain a
// sequence that was never sent.
//
// Sequences are counted back from the newest sent one (their age), so that the arithmetic stays within 64 bits from the
// first packet on. An ack that is 2^15 or more ahead cannot be distinguished from an old one. Acks older than the ring
// are ignored.
func (c *Conn) acknowledge(ack wire.Sequence, ackBits uint32, now time.Duration, out Outcome) bool {
	age := uint64(uint16(wire.Sequence(c.sent.next-1) - ack))
	if age > 1<<15 {
		return false
	}
	if age >= uint64(c.sent.most) {
		return true // its ack bits are older still
	}
	from := c.sent.next - 1 - age
	all := uint64(ackBits)<<1 | 1 // bit n is sequence from-n
	for rest := all; rest != 0; rest &= rest - 1 {
		n := bits.TrailingZeros64(rest)
		legal, news := c.sent.ackable(age + uint64(n))
		if !legal {
			return false
		}
		if !news {
			all &^= 1 << n
		}
	}
	var newest *record
	var newestSequence uint64
	for all != 0 {
		n := uint64(bits.Len64(all) - 1) // rising order of sequence
		all &^= 1 << n
		if r := c.applyAck(age+n, now, out); r != nil {
			newest, newestSequence = r, from-n
		}
	}
	if newest != nil && newestSequence >= c.sampled && !c.endsPause(now) {
		c.sampled = newestSequence + 1
		c.rtt.sample(now - newest.at)
	}
	return true
}

// applyAck applies one acknowledgement. It returns the record if the packet is eliciting and was not acknowledged
// before.
func (c *Conn) applyAck(age uint64, now time.Duration, out Outcome) *record {
	r, before := c.sent.acked(age)
	if before != sentAcked && c.sent.next-1-age >= max(c.mtu.since, c.controlled) {
		c.Control.Acked(now, r.end, int(r.size)+PacketOverhead, before != sentSilent)
	}
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
	c.mtu.acked(c.sent.next-1-age, int(r.size))
	if out != nil {
		out.Acked(c.sent.next-1-age, r.tick)
	}
	return r
}

// SetPacketSize changes the limit of packets that are begun from now on, in bytes.
func (c *Conn) SetPacketSize(n int) {
	c.config.PacketSize = min(max(n, MinPacketSize), MaxPacketSize)
	c.mtu = c.newMTUSearch()
}

// newMTUSearch returns a search before any probe.
func (c *Conn) newMTUSearch() mtuSearch {
	return newMTUSearch(cmp.Or(c.config.BaseSize, c.config.PacketSize), c.config.PacketSize, c.sent.next)
}

// PathSize returns the size of the largest packet that is known to reach the other end, in bytes: BaseSize at first.
// Larger packets may be sent, up to SettledSize.
func (c *Conn) PathSize() int { return c.mtu.size }

// SettledSize returns the size of the largest packet that may reach the other end, in bytes: PathSize, if all larger
// sizes were tried without success, otherwise the packet size.
func (c *Conn) SettledSize() int {
	if c.mtu.settled() {
		return c.mtu.size
	}
	return c.config.PacketSize
}

// ProbeDue returns the size of the probe to send now, or 0. Begin it with BeginProbe.
func (c *Conn) ProbeDue(now time.Duration) int { return c.mtu.due(now) }

// AckSize is the largest size of a packet that only acknowledges.
const AckSize = packetOverhead

// lastAck is the newest packet that only acknowledged, and the sequences that it acknowledged.
type lastAck struct {
	packet [AckSize]byte
	size   int // 0: none
	newest uint64
	bits   uint64
}

// RepeatAck reports whether to repeat the last acknowledgement if there is nothing else to send. Packets of the remote
// end are lost, so acknowledgements to it are likely to be lost, too. It ends a few ticks after the last received
// packet.
func (c *Conn) RepeatAck(now time.Duration) bool {
	return c.received.lacks() >= minLacking && now-c.heard <= ackAgain*c.config.TickInterval
}

// AckRepeats returns the number of further packets of a tick that repeat the last acknowledgement. Under high loss few
// of them arrive, and the remote end then codes its state against older packets.
func (c *Conn) AckRepeats(now time.Duration) int {
	if !c.RepeatAck(now) {
		return 0
	}
	return min(c.received.lacks()/lackingPerCopy, mostCopies)
}

// Again writes the newest packet that only acknowledged into dst, to send it again unchanged, and returns its length.
// It returns 0 and counts nothing as sent if there is more to acknowledge or dst is shorter than AckSize. The copy
// keeps its sequence: a new sequence would be one more packet that may be lost, and that the remote end would
// acknowledge.
func (c *Conn) Again(dst []byte) int {
	s := &c.lastAck
	if len(dst) < AckSize || s.size == 0 || s.newest != c.received.newest || s.bits != c.received.window[0] {
		return 0
	}
	c.stats.Repeated++
	c.stats.BytesSent += uint64(s.size)
	return copy(dst, s.packet[:s.size])
}

// storeAck stores a packet that only acknowledges.
func (c *Conn) storeAck(packet []byte) {
	c.lastAck.size = copy(c.lastAck.packet[:], packet)
	c.lastAck.newest, c.lastAck.bits = c.received.newest, c.received.window[0]
}

// delayEvery is the time between two packets with an ack delay.
const delayEvery = time.Second

// ping measures the round trip without the time that packets wait for a frame at the two ends. As in RFC 9000, section
// 13.2.5, an end sends how long the newest acknowledged packet waited there. It does so in one packet per second, if
// the packet has space.
type ping struct {
	took     time.Duration
	newestAt time.Duration // arrival time of the newest packet of the other end
	toldAt   time.Duration
	told     bool
}

// tellDelay adds an ack delay to a packet with messages, if the packet has space and the delay fits its field.
func (c *Conn) tellDelay(b *Builder, now time.Duration) {
	p := &c.ping
	delay := max(now-p.newestAt, 0) / wire.AckDelayUnit
	if !c.received.any || delay > math.MaxUint16 || len(b.buf)+wire.AckDelaySize > b.limit {
		return
	}
	p.told, p.toldAt = true, now
	b.buf = wire.InsertAckDelay(b.buf, 0, b.first, uint16(delay))
}

// samplePing uses the ack delay of an accepted packet.
func (c *Conn) samplePing(in *Incoming) {
	age := uint64(uint16(wire.Sequence(c.sent.next-1) - in.ack))
	if !c.sent.reached(age) || c.sent.next-1-age < c.mtu.since {
		return
	}
	took := in.Arrived - c.sent.at(c.sent.next-1-age).at - time.Duration(in.delay)*wire.AckDelayUnit
	c.ping.took = min(max(took, 0), maxSample)
}

// Stats counts what happened on one connection. See [wire.PacketStats].
type Stats = wire.PacketStats
