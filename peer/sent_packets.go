package peer

import (
	"fmt"
	"io"
	"math"
	"math/bits"
	"math/rand/v2"
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// sentState is the state of a sent packet.
type sentState uint8

const (
	sentSilent  sentState = iota // elicits nothing: nobody asks what becomes of it
	sentPending                  // eliciting, neither acknowledged nor lost yet
	sentAcked
	sentLost
	sentSkipped // a number that no packet had
)

// record is one packet that went out.
type record struct {
	at    time.Duration
	tick  tick.Tick
	step  uint64 // how many different ticks sent packets before this one
	end   uint32 // position of its end, see congestion.Controller.Sent
	size  uint16 // bytes; of a larger one the most that there are
	state sentState
}

// sent is the ring of the newest packets that went out, by sequence.
//
// Both steps and times only rise with the sequence. So the packets that count
// as lost are always the oldest pending ones, and finding them is a walk from
// oldest that stops at the first packet still awaited: each record is passed
// once in its life.
type sent struct {
	ring   []record // a power of two long
	first  uint64   // sequence of the first packet
	next   uint64   // sequence of the next packet; [first, next) were used
	oldest uint64   // no packet before it is pending
	held   uint64   // no packet before it is awaited; at most len(ring) before next
	newest uint64   // highest sequence that was acknowledged, 0 before there is one
	now    time.Duration
	step   uint64
	tick   tick.Tick
	// ackedSteps are the steps of the three acknowledged packets with the
	// highest ones, falling. A packet was overtaken by so many packets of later
	// ticks exactly when its step is below the last of as many.
	ackedSteps [3]uint64
	// overtakers is the number of packets of later ticks that must be acknowledged
	// before one counts as lost; inOrder counts the new acknowledgements since it
	// changed, none of them of a packet that had been overtaken.
	overtakers, inOrder int
}

// A ring that is filled with what is awaited stops sending, but for signs of life:
// without them neither end would learn what became of the packets that are under
// way, nor that the link is back.
const (
	// signsShare is the part of the ring, one of so many records, that is kept for
	// packets which only acknowledge or show that this end is here.
	signsShare = 4
	// awaitedFor is the time after which a packet is lost without the acknowledgement of
	// a later one. A later acknowledgement is no sample either.
	awaitedFor = maxSample
)

// settling is the number of packets in a row that must arrive in order before
// overtakers falls by one.
const settling = 32

func newSent(first uint64, size int) sent {
	size = 1 << bits.Len(uint(size-1)) // up to a power of two
	return sent{ring: make([]record, size), first: first, next: first, oldest: first, held: first, overtakers: len(sent{}.ackedSteps)}
}

func (s *sent) at(sequence uint64) *record {
	return &s.ring[sequence&uint64(len(s.ring)-1)]
}

// awaited reports whether an acknowledgement of a packet may still come that is to
// be understood: of one that is pending, and of one that only its timeout calls
// lost. The timeout may be wrong, before there is a sample and after the link
// became slower; if all that might show it were overwritten, it would stay so.
func (s *sent) awaited(sequence uint64) bool {
	switch r := s.at(sequence); r.state {
	case sentPending:
		return true
	case sentLost:
		return sequence > s.newest && s.now-r.at < awaitedFor
	}
	return false
}

// used returns the number of records from the oldest awaited packet on.
func (s *sent) used() int {
	for s.held < s.next && !s.awaited(s.held) {
		s.held++
	}
	return int(s.next - s.held)
}

// signs returns the number of records that only signs of life may take.
func (s *sent) signs() int { return len(s.ring) / signsShare }

// push records the next packet. The ring must not be full.
func (s *sent) push(t tick.Tick, now time.Duration, state sentState, size int, end uint32) {
	if t != s.tick || s.step == 0 {
		s.tick = t
		s.step++
	}
	s.now = now
	*s.at(s.next) = record{at: now, tick: t, step: s.step, state: state, end: end, size: uint16(min(size, math.MaxUint16))}
	s.next++
	if s.next-s.oldest > uint64(len(s.ring)) {
		s.oldest = s.next - uint64(len(s.ring))
	}
}

// legal reports whether the number age before the newest sent one may be
// acknowledged: it was sent, or is so old that nobody remembers.
func (s *sent) legal(age uint64) bool {
	if age >= uint64(len(s.ring)) {
		return true
	}
	return age < s.next-s.first && s.at(s.next-1-age).state != sentSkipped
}

// acked records an acknowledgement of the number age before the newest sent
// one. It returns the state before, which is sentAcked for anything that is no
// news: acknowledged before, or out of the ring's reach.
func (s *sent) acked(age uint64) (*record, sentState) {
	if age >= uint64(len(s.ring)) || age >= s.next-s.first {
		return nil, sentAcked
	}
	r := s.at(s.next - 1 - age)
	before := r.state
	if before == sentAcked {
		return r, before
	}
	r.state = sentAcked
	s.newest = max(s.newest, s.next-1-age)
	s.noteOrder(r.step)
	return r, before
}

// noteOrder learns how far packets overtake each other: on most links they never
// do, and what was sent before one that arrived is lost. Within one
// acknowledgement news come in rising order, so a higher step was in an earlier one.
func (s *sent) noteOrder(step uint64) {
	by := 0
	for by < len(s.ackedSteps) && s.ackedSteps[by] > step {
		by++
	}
	if s.inOrder++; by > 0 {
		s.inOrder, s.overtakers = 0, max(s.overtakers, min(by+1, len(s.ackedSteps)))
	} else if s.inOrder == settling {
		s.inOrder, s.overtakers = 0, max(s.overtakers-1, 1)
	}
	top := &s.ackedSteps
	switch {
	case step > top[0]:
		top[0], top[1], top[2] = step, top[0], top[1]
	case step > top[1]:
		top[1], top[2] = step, top[1]
	case step > top[2]:
		top[2] = step
	}
}

// cause tells why a packet counts as lost (docs/design.md, rule 8).
type cause uint8

const (
	notLost   cause = iota
	overtaken       // up to three packets of later ticks were acknowledged
	overdue         // the timeout went by
)

// nextLost marks the oldest pending packet as lost, if it is, and returns its
// sequence and the cause.
func (s *sent) nextLost(now, timeout time.Duration) (uint64, cause) {
	s.now = now
	for ; s.oldest < s.next; s.oldest++ {
		r := s.at(s.oldest)
		if r.state != sentPending {
			continue
		}
		var why cause
		switch {
		case r.step < s.ackedSteps[s.overtakers-1]:
			why = overtaken
		case now-r.at >= timeout:
			why = overdue
		default:
			return 0, notLost
		}
		r.state = sentLost
		s.oldest++
		return s.oldest - 1, why
	}
	return 0, notLost
}

// lossMemory is the largest number of outcomes in the loss estimate.
const lossMemory = 256

// lossRate estimates which share of the eliciting packets is lost, over about
// the last lossMemory of them. At that number both counts are halved: old
// outcomes fade, and nothing has to be remembered about each.
type lossRate struct {
	settled int
	lost    int
}

func (l *lossRate) add(lost bool) {
	if l.settled >= lossMemory {
		l.settled /= 2
		l.lost /= 2
	}
	l.settled++
	if lost {
		l.lost++
	}
}

// withdraw takes one loss back: its packet was acknowledged after all.
func (l *lossRate) withdraw() {
	l.lost = max(l.lost-1, 0)
}

// rate is between 0 and 1; 0 while nothing is known.
func (l *lossRate) rate() float64 {
	if l.settled == 0 {
		return 0
	}
	return float64(l.lost) / float64(l.settled)
}

const (
	// firstTimeout stands for 1.25 × RTT + jitter until there is a sample.
	firstTimeout = 250 * time.Millisecond
	// maxSample bounds one sample, so that a remote end which holds its
	// acknowledgements back cannot make this end keep its past for ever.
	maxSample = 5 * time.Second
)

// roundTrip estimates how long it takes until an acknowledgement is back, the
// remote end's wait for its next tick included (RFC 6298 §2, without its
// multiple of the variation).
type roundTrip struct {
	smoothed time.Duration
	jitter   time.Duration // smoothed mean deviation from smoothed
	sampled  bool
}

func (r *roundTrip) sample(took time.Duration) {
	took = min(max(took, 0), maxSample)
	if !r.sampled {
		r.sampled = true
		r.smoothed, r.jitter = took, took/2
		return
	}
	off := took - r.smoothed
	if off < 0 {
		off = -off
	}
	r.jitter += (off - r.jitter) / 4
	r.smoothed += (took - r.smoothed) / 8
}

// timeout returns the time that an acknowledgement may take before its packet counts as
// lost (docs/design.md, rule 8). The interval of a tick comes on top: samples are
// spread over one, and on a fast link that is all there is.
func (r *roundTrip) timeout(interval time.Duration) time.Duration {
	if !r.sampled {
		return firstTimeout + interval
	}
	return r.smoothed + r.smoothed/4 + r.jitter + interval
}

// delayEvery is the time between two packets that tell an ack delay.
const delayEvery = time.Second

// ping measures the way of packets without the waits of the two ends for their frames. As in RFC 9000, section 13.2.5, an end
// tells how long the newest packet that it acknowledges waited there; but in one packet a second, which has room for it.
type ping struct {
	took     time.Duration
	newestAt time.Duration // arrival of the newest packet of the other end
	toldAt   time.Duration
	told     bool
}

// tellDelay puts an ack delay into a packet with messages, if the packet has room and the wait is short enough to be told.
func (c *Conn) tellDelay(b *Builder, now time.Duration) {
	p := &c.ping
	delay := max(now-p.newestAt, 0) / wire.AckDelayUnit
	if !c.received.any || delay > math.MaxUint16 || len(b.buf)+wire.AckDelaySize > b.limit {
		return
	}
	p.told, p.toldAt = true, now
	b.buf = wire.InsertAckDelay(b.buf, 0, b.first, uint16(delay))
}

// samplePing takes an ack delay from a packet that was accepted.
func (c *Conn) samplePing(in *Incoming) {
	age := uint64(uint16(wire.Sequence(c.sent.next-1) - in.ack))
	if age >= uint64(len(c.sent.ring)) || age >= c.sent.next-c.sent.first || c.sent.next-1-age < c.path.since {
		return
	}
	took := in.Arrived - c.sent.at(c.sent.next-1-age).at - time.Duration(in.delay)*wire.AckDelayUnit
	c.ping.took = min(max(took, 0), maxSample)
}

const (
	// leastBroken is the shortest silence in which an end can have stood still: what
	// is shorter moves the estimate by an eighth of it at most.
	leastBroken = time.Second
	// brokenBy is the factor over the usual silence from which one counts.
	brokenBy = 4
)

// silence estimates the usual silence: the smoothed time from one moment
// at which packets were accepted to the next.
//
// In a much longer one an end stood still, or the network did, and packets lay in
// a socket. Those that were sent before it ended give no sample of the round trip,
// which an end that sends little would use for long. Silence that comes again
// and again is soon the usual one, or comes while a last one is still counted: the
// samples never end.
type silence struct {
	usual time.Duration
	until time.Duration // until then no other one is counted
}

// Every minSkip to maxSkip packets one sequence number is skipped, so that an end that acknowledges packets which it cannot have
// received is detected.
const (
	minSkip = 64
	maxSkip = 191
)

// SkipSeed is the secret of one connection that decides which numbers it skips.
type SkipSeed [32]byte

// NewSkipSeed draws a seed.
func NewSkipSeed(random io.Reader) (seed SkipSeed, err error) {
	if _, err := io.ReadFull(random, seed[:]); err != nil {
		return seed, fmt.Errorf("netcode: Config.Random: %w", err)
	}
	return seed, nil
}

// Skipper decides after which packets a sequence number is skipped.
type Skipper struct {
	random *rand.ChaCha8
	left   int
}

// NewSkipper returns the Skipper of a seed.
func NewSkipper(seed SkipSeed) Skipper {
	s := Skipper{random: rand.NewChaCha8(seed)}
	s.draw()
	return s
}

// Due reports whether a number is skipped now. Call it after each packet.
func (s *Skipper) Due() bool {
	if s.left--; s.left > 0 {
		return false
	}
	s.draw()
	return true
}

// draw draws the number of packets until the next skip. 2^64 is a multiple of 128, so all counts are equally likely.
func (s *Skipper) draw() {
	s.left = minSkip + int(s.random.Uint64()%(maxSkip-minSkip+1))
}
