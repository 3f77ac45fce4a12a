package peer

import (
	"math/bits"
	"sort"
	"time"

	"github.com/arche-netcode/netcode/congestion"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

const (
	// DefaultPacketSize is the default limit of a whole packet in bytes.
	DefaultPacketSize = 1200
	// MinPacketSize is the least that a packet's limit may be, in bytes: it leaves
	// room for a small message.
	MinPacketSize = 64
	// MaxPacketSize is the most that a packet's limit may be, in bytes: the largest
	// UDP payload.
	MaxPacketSize = 65507
	// DefaultSentPackets is the default number of sent-packet records.
	DefaultSentPackets = 1024

	minSentPackets = 64      // more than the ack bits reach
	maxSentPackets = 1 << 14 // well below half the wire's sequence numbers
)

// ConnConfig has the agreed values of a connection, and its limits. The
// zero value of each field but Check is a default.
type ConnConfig struct {
	// SentPackets is the number of sent packets that are remembered: those of four round
	// trips, or sending stops at times and waits for acknowledgements; a quarter is
	// kept for signs of life. It is raised to a power of two in 64..16384. Default 1024.
	SentPackets int
	// Check is the checksum's start: the session's epoch and the protocol hash.
	Check wire.Checksum
	// CheckIncoming is the checksum's start for packets that come in, where the
	// two directions have different ones so that a packet which the network sends
	// back to its sender fails. Zero means the same as Check.
	CheckIncoming wire.Checksum
	// PacketSize is the largest packet to send, in bytes. Default 1200.
	PacketSize int
	// BaseSize is the size of packets that surely arrive, in bytes; larger ones are tried by probes (RFC 8899). Default: PacketSize,
	// without probes.
	BaseSize int
	// TickInterval is the time of one network tick, after which the remote end
	// acknowledges at the latest. Default 1/30 s.
	TickInterval time.Duration
	// Bound is the upper bound of the rate that congestion control finds, in bytes a second with PacketOverhead for each
	// packet. Without one there is no congestion control.
	Bound int
	// FirstSequence is the number of the first packet in both directions.
	// Default 1. Both ends must have the same; other values are for tests.
	FirstSequence uint64
	// Types renumbers the types of messages for an other end with another protocol. Nil: they are the same at both.
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

// Outcome is told what became of each eliciting packet that was sent. For one
// sequence the calls are: nothing yet; Acked; Lost; or Lost and later Acked,
// when the acknowledgement was only late. Nothing follows Acked.
//
// The calls come from inside [Conn.Read] and [Conn.DetectLost], in rising order
// of sequence within one call of those.
type Outcome interface {
	// Acked notes that the packet arrived and was decoded whole. sentAt is the
	// tick that was given to Finish.
	Acked(seq uint64, sentAt tick.Tick)
	// Lost notes that the packet is presumed lost (docs/design.md, rule 8).
	Lost(seq uint64)
}

// Conn is the packet layer to one remote end: which packets arrived here, what
// became of those that went there, and what that says about the link.
//
// Reading is in two steps, because a packet that cannot be decoded whole must
// not be acknowledged (docs/design.md, rule 5): Read checks a packet and applies
// the acknowledgements in it; Accept, called when every message in it was
// decoded, makes it one to be acknowledged.
//
// A Conn allocates only in NewConn.
type Conn struct {
	// Control is the congestion control of what this end sends. Conn tells it what was sent, arrived and got lost; the owner calls Tick.
	Control congestion.Controller

	config   ConnConfig
	received received
	sent     sent
	acked    recentAcks
	rtt      roundTrip
	loss     lossRate
	said     lastAck
	sampled  uint64 // no RTT sample is taken from packets before this one
	heard    time.Duration
	silence  silence
	ping     ping
	// controlled is the first packet that Control counted: acknowledgements of earlier ones say nothing to it.
	controlled uint64
	path       path
	stats      Stats
	renumbered []byte // the batches of the packet that came last, with this end's types, where these are others
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
	c.path = c.newPath()
	if cfg.Bound > 0 {
		c.startControl()
	}
	return c
}

// startControl begins congestion control with the next packet.
func (c *Conn) startControl() {
	c.Control, c.controlled = congestion.New(c.config.Bound, c.config.TickInterval), c.sent.next
}

// SetBound changes the upper bound of congestion control, in bytes a second as in ConnConfig, and begins or ends it: 0 ends it.
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

// Next returns the sequence that the next packet will have.
func (c *Conn) Next() uint64 { return c.sent.next }

// CanSend reports whether there is room to remember one more packet with anything
// in it. When there is none, only signs of life may be sent (see CanSign) until
// acknowledgements come in, or until so much time went by that none are awaited.
func (c *Conn) CanSend() bool { return c.sent.used() < len(c.sent.ring)-c.sent.signs() }

// CanSign reports whether a packet may be sent that only acknowledges or shows that
// this end is here. Where CanSend is false there is a little room left for these,
// which has to last for as long as the others are awaited: they have to be some time
// apart, but for acknowledgements of much, which may take half of it.
func (c *Conn) CanSign(now time.Duration) bool {
	left := len(c.sent.ring) - c.sent.used()
	signs := c.sent.signs()
	switch {
	case left > signs:
		return true
	case left > signs/2 && c.AckNow():
		return true
	}
	return left > 0 && now-c.sent.at(c.sent.next-1).at >= awaitedFor/time.Duration(signs/2)
}

// HasRoom reports whether any packet may be sent at all: the next one does not overwrite the record of one that is still awaited.
func (c *Conn) HasRoom() bool { return c.sent.used() < len(c.sent.ring) }

// Skip leaves one number out: no packet will have it, and a remote end that
// acknowledges it is caught claiming what it cannot have received. It does
// nothing when CanSend is false.
func (c *Conn) Skip() {
	if c.CanSend() {
		c.sent.push(c.sent.tick, c.sent.now, sentSkipped, 0, 0)
	}
}

// AckDue reports whether an eliciting packet was accepted since the last packet
// went out, so that this tick must send one even if it has nothing to say.
func (c *Conn) AckDue() bool { return c.received.due > 0 }

// AckNow reports whether so many eliciting packets were accepted since the last
// packet went out that an acknowledgement must not wait for the next tick.
func (c *Conn) AckNow() bool { return c.received.due >= ackEvery }

// DetectLost tells out about every packet that counts as lost by now. It is to
// be called once a network tick, after the tick's packets were read.
func (c *Conn) DetectLost(now time.Duration, out Outcome) {
	timeout := c.rtt.timeout(c.config.TickInterval)
	for {
		seq, why := c.sent.nextLost(now, timeout)
		if why == notLost {
			break
		}
		if c.path.isProbe(seq) {
			c.stats.ProbesLost++
		} else {
			c.stats.Lost++
			c.loss.add(true)
			if seq >= max(c.path.since, c.controlled) {
				c.Control.Lost(c.sent.at(seq).end)
			}
		}
		c.path.missed(seq, int(c.sent.at(seq).size), now)
		if out != nil {
			out.Lost(seq)
		}
	}
	if !c.CanSend() {
		c.stats.RingFull++
	}
}

// Heard returns when a packet was accepted last, for the silence timeout. any is
// false while none was.
func (c *Conn) Heard() (at time.Duration, any bool) { return c.heard, c.received.any }

// RTT returns the smoothed round-trip time, which includes the remote end's
// wait for its next tick, and its smoothed mean deviation. Both are 0 before
// the first acknowledgement.
func (c *Conn) RTT() (smoothed, jitter time.Duration) { return c.rtt.smoothed, c.rtt.jitter }

// Ping returns the time that a packet and its acknowledgement are on their way, without the waits of both ends for their frames, as of the
// newest packet that told it: one a second. It is 0 before the first. The waits are those that the other end tells, which may lie.
func (c *Conn) Ping() time.Duration { return c.ping.took }

// NewPath forgets the round trip, the loss, the rate and the size of packets of the path so far: the address of an end has changed. Packets
// that were sent before give no samples.
func (c *Conn) NewPath() {
	c.rtt, c.loss, c.ping.took = roundTrip{}, lossRate{}, 0
	c.sampled = c.sent.next
	c.path = c.newPath()
	if c.config.Bound > 0 {
		c.startControl()
	}
}

// UsualGap returns the smoothed time from one moment at which packets were accepted to the next.
func (c *Conn) UsualGap() time.Duration { return c.silence.usual }

// Loss returns the share of eliciting packets that were lost lately, 0 to 1.
func (c *Conn) Loss() float64 { return c.loss.rate() }

// Stats returns the counters of this connection.
func (c *Conn) Stats() Stats { return c.stats }

// Incoming is a packet that passed every check of Read and waits to be decoded.
type Incoming struct {
	Sequence uint64 // of the packet, in full
	// Batches holds all batches of the packet, whose sizes and channels are legal.
	// It is a part of the packet that was read, not a copy. Messages goes through it.
	Batches []byte
	// Eliciting reports whether there is a message in it.
	Eliciting bool
	// Arrived is when it came to this end, on the clock of now. Read sets it to now; a caller that knows better sets it before Accept.
	Arrived time.Duration

	delayed bool // It has an ack delay: of the packet ack.
	ack     wire.Sequence
	delay   uint16
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

// Accept records that a packet was decoded whole. It will be acknowledged, and
// what is sent with its number again is a duplicate.
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
		if c.stood(now) {
			c.silence.until = now + min(8*gap, 8*time.Second)
			c.sampled = c.sent.next
		}
		c.silence.usual += (gap - c.silence.usual) / 8
	}
	c.heard = now
}

// stood reports whether a silence ends now in which one of the ends stood still.
func (c *Conn) stood(now time.Duration) bool {
	return c.received.any && now >= c.silence.until && now-c.heard > max(leastBroken, brokenBy*c.silence.usual)
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
		if r := c.applyAck(age+n, now, out); r != nil {
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
func (c *Conn) applyAck(age uint64, now time.Duration, out Outcome) *record {
	r, before := c.sent.acked(age)
	if before != sentAcked && c.sent.next-1-age >= max(c.path.since, c.controlled) {
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
	c.path.acked(c.sent.next-1-age, int(r.size))
	if out != nil {
		out.Acked(c.sent.next-1-age, r.tick)
	}
	return r
}

// Stats counts what happened on one connection since it was opened.
type Stats struct {
	Sent      uint64 // packets finished
	Repeated  uint64 // packets that only acknowledged, sent once more as they were
	BytesSent uint64 // of both

	Received      uint64 // packets that passed every check of Read
	BytesReceived uint64 // bytes of those packets
	Accepted      uint64 // packets accepted, so acknowledged
	Duplicates    uint64 // packets dropped: accepted before
	Old           uint64 // packets dropped: older than the replay window
	BadChecksum   uint64 // datagrams dropped: damaged or of another session
	Malformed     uint64 // packets with a right checksum and an illegal form
	AcksOfUnsent  uint64 // packets that acknowledged what was never sent

	ProbesLost uint64 // packets presumed lost that tried a size; Lost does not count them

	Acked    uint64 // eliciting packets acknowledged, LateAcks included
	Lost     uint64 // eliciting packets presumed lost, LateAcks included
	LateAcks uint64 // packets acknowledged after they were presumed lost
	RingFull uint64 // ticks in which nothing but signs of life could be sent, since too many packets are awaited
}

// Add adds the counters of one connection to a s.
func (s *Stats) Add(one Stats) {
	s.Sent += one.Sent
	s.Repeated += one.Repeated
	s.BytesSent += one.BytesSent
	s.Received += one.Received
	s.BytesReceived += one.BytesReceived
	s.Accepted += one.Accepted
	s.Duplicates += one.Duplicates
	s.Old += one.Old
	s.BadChecksum += one.BadChecksum
	s.Malformed += one.Malformed
	s.AcksOfUnsent += one.AcksOfUnsent
	s.ProbesLost += one.ProbesLost
	s.Acked += one.Acked
	s.Lost += one.Lost
	s.LateAcks += one.LateAcks
	s.RingFull += one.RingFull
}

// MaxBody returns the longest body, in bytes, that Reserve takes for such a message while nothing else waits; 0 also when
// none does.
func (o *Outgoing) MaxBody(p *Post) int {
	var prefix [maxPrefix]byte
	front := len(p.appendPrefix(prefix[:0]))
	if !p.Channel.Delivery().Reliable() {
		return max(min(o.batches.most(p.Channel)-wire.MessageHeaderSize-front, o.config.PacketSize), 0)
	}
	return max(sort.Search(maxMessageCost+1, func(bound int) bool { return !o.reliable.takes(front + bound) })-1, 0)
}

// takes reports whether a message with n bytes of prefixes and body can be sent at all.
func (r *reliable) takes(n int) bool {
	pieces := r.cut(n)
	return pieces <= MaxFragments && r.cost(n, pieces) <= maxMessageCost && r.size(n, pieces)+pieces*itemOverhead <= r.limit
}

// MaxCloseDetail is the longest detail of a close message, in bytes.
const MaxCloseDetail = 200

// AppendClose appends the payload of a close message: a byte of reason and the
// detail. The detail is cut to MaxCloseDetail bytes, and what is not printable
// in it becomes question marks.
func AppendClose(b []byte, e Error) []byte {
	b = append(b, byte(e.Reason))
	return append(b, cleanDetail(e.Detail, MaxCloseDetail)...)
}

// ParseClose reads the payload of a close message. A reason that is not known
// here is no error. The error is ErrMalformed.
func ParseClose(payload []byte) (Error, error) {
	if len(payload) < 1 || len(payload) > 1+MaxCloseDetail {
		return Error{}, ErrMalformed
	}
	e := Error{Reason: Reason(payload[0])}
	if e.Reason == ReasonNone || !legalDetail(payload[1:]) {
		return Error{}, ErrMalformed
	}
	e.Detail = string(payload[1:])
	return e, nil
}

// BasePacketSize is the size of packets that every path takes, in bytes: IP packets of 576 bytes have room for it, also within
// the 25 bytes of package secure.
const BasePacketSize = HelloSize

const (
	// probeTries is the number of probes of a size that must be lost in a row until that size counts as too large.
	probeTries = 6
	// probeStep ends the search: between the largest size that arrived and the smallest that did not.
	probeStep = 32
	// probeAgain is the time after which a path that took less than all is searched again.
	probeAgain = 10 * time.Second
	// blackHole is the number of packets above the base that must be lost in a row, smaller ones arriving, until the path
	// counts as one that does not take them any more.
	blackHole = 6
)

// path learns how large the packets may be that reach the other end, by probes: packets of a size that are padded and that
// must be acknowledged (RFC 8899, DPLPMTUD). It begins at the base and grows only when packets have come near it: who sends
// little probes nothing. The zero value is not usable.
type path struct {
	base int // always arrives
	most int // is all that is asked for
	size int // arrived: packets may be as large
	high int // is too large: most + 1 as long as nothing is known to be

	wanted bool   // packets were as large as size
	probe  int    // size of the probe that is under way; 0: none
	number uint64 // its sequence
	tries  int    // probes lost in a row, of the size that is tried
	again  time.Duration

	since   uint64 // packets before this one say nothing
	lost    int    // packets above the base that were lost since one arrived
	smaller bool   // others arrived meanwhile
}

// newPath returns a path about which nothing is known. base is what always arrives, most is all that is asked for, and since the
// sequence of the first packet that crosses it.
func newPath(base, most int, since uint64) path {
	return path{base: base, most: most, size: min(base, most), high: most + 1, since: since}
}

// settled reports whether the path is known to take less than all that is asked for.
func (p *path) settled() bool { return p.high <= p.most && p.high-p.size <= probeStep }

// next returns the size to try: the most at first, and then halfway to what is too large.
func (p *path) next() int {
	if p.high > p.most {
		return p.most
	}
	return p.size + (p.high-p.size)/2
}

// due returns the size of the probe that is to be sent now, 0 for none.
func (p *path) due(now time.Duration) int {
	switch {
	case p.lost >= blackHole && p.probe == 0: // Either nothing arrives, or nothing that is large.
		return p.base
	case !p.wanted || p.probe != 0 || p.size == p.most:
		return 0
	case !p.settled():
		return p.next()
	case now >= p.again:
		return p.most
	}
	return 0
}

// sent notes a packet of n bytes.
func (p *path) sent(number uint64, n int, probe bool) {
	if probe {
		p.probe, p.number = n, number
	} else if n > p.size-probeStep {
		p.wanted = true
	}
}

// acked notes that a packet of n bytes arrived.
func (p *path) acked(number uint64, n int) {
	if number < p.since {
		return
	}
	if p.isProbe(number) {
		p.probe = 0
	}
	if n > p.base {
		p.lost, p.smaller = 0, false
	} else {
		p.smaller = true
		p.shrink()
	}
	if n > p.size && n <= p.most {
		p.size, p.tries = n, 0
		if p.high <= n {
			p.high = p.most + 1
		}
	}
}

// missed notes that a packet of n bytes is presumed lost.
func (p *path) missed(number uint64, n int, now time.Duration) {
	switch {
	case p.isProbe(number):
		p.probe = 0
		if n <= p.base {
			return
		}
		if p.tries++; n >= p.high || p.tries >= probeTries {
			p.high, p.tries, p.again = min(p.high, n), 0, now+probeAgain
		}
	case number >= p.since && n > p.base && p.size > p.base:
		if p.lost == 0 {
			p.smaller = false
		}
		p.lost++
		p.shrink()
	}
}

// shrink begins anew if large packets do not arrive any more, and smaller ones do.
func (p *path) shrink() {
	if p.lost >= blackHole && p.smaller {
		*p = newPath(p.base, p.most, p.since)
		p.wanted = true
	}
}

// isProbe reports whether a packet is the probe that is under way.
func (p *path) isProbe(number uint64) bool { return p.probe != 0 && p.number == number }
