package peer

import (
	"fmt"
	"io"
	"math"
	"math/bits"
	"math/rand/v2"
	"time"

	"github.com/arche-netcode/netcode/tick"
)

// sentState is the state of a sent packet.
type sentState uint8

const (
	sentSilent  sentState = iota // not eliciting: its outcome does not matter
	sentPending                  // eliciting, neither acknowledged nor lost
	sentAcked
	sentLost
	sentSkipped // a sequence that no packet has
)

// record is one sent packet.
type record struct {
	at    time.Duration
	tick  tick.Tick
	step  uint64 // number of different ticks that sent packets, up to this packet
	end   uint32 // position of the packet's end, see congestion.Controller.Sent
	size  uint16 // bytes, at most 65535
	state sentState
}

// sent is the ring of the newest sent packets, by sequence.
//
// Steps and times rise with the sequence. So the packets that count as lost are always the oldest pending ones.
// nextLost walks from oldest and stops at the first packet that is not lost: it passes each record once.
//
// The ring is small at first. It grows while a packet that is awaited, or that an acknowledgement can still name, would be overwritten.
type sent struct {
	ring   []record // the length is a power of two
	most   int      // the length that it grows to
	since  uint64   // sequence of the oldest record in the ring
	first  uint64   // sequence of the first packet
	next   uint64   // sequence of the next packet
	oldest uint64   // no packet before this one is pending
	held   uint64   // no packet before this one is awaited
	newest uint64   // highest acknowledged sequence; 0: none
	now    time.Duration
	step   uint64
	tick   tick.Tick
	// ackedSteps are the three highest steps of acknowledged packets, falling. n packets of later ticks overtook a
	// packet exactly if its step is below ackedSteps[n-1].
	ackedSteps [3]uint64
	// overtakers is the number of packets of later ticks that must be acknowledged before a packet counts as lost.
	// inOrder counts the acknowledged packets since the last change of overtakers or the last overtaken packet.
	overtakers, inOrder int
}

// When the ring is full of awaited packets, only signs of life are sent: packets that only acknowledge or show that
// this end is alive. Without them neither end would learn the outcome of packets in flight, nor that the link works
// again.
const (
	// signsShare is the part of the ring that is reserved for signs of life: 1/signsShare of its records.
	signsShare = 4
	// awaitedFor is the time after which a lost packet is no longer awaited. An RTT sample is at most as long.
	awaitedFor = maxSample
)

// settling is the number of packets that must arrive in order, one after the other, before overtakers falls by one.
const settling = 32

// firstRecords is the first length of the ring.
const firstRecords = 64

// ackableFor is the number of packets before the newest acknowledged one that acknowledgements can still name: those of AckReach, and
// half as many more for acknowledgements that were overtaken.
const ackableFor = AckReach + AckReach/2

// sentRoom returns the number of records for so many packets: a power of two.
func sentRoom(packets int) int { return 1 << bits.Len(uint(packets-1)) }

func newSent(first uint64, packets int) sent {
	most := sentRoom(packets)
	return sent{ring: make([]record, min(firstRecords, most)), most: most, since: first, first: first, next: first, oldest: first, held: first, overtakers: len(sent{}.ackedSteps)}
}

func (s *sent) at(sequence uint64) *record {
	return &s.ring[sequence&uint64(len(s.ring)-1)]
}

// awaited reports whether the acknowledgement of a packet may still matter. That is the case for a pending packet, and
// for a packet that is lost only by its timeout. The timeout may be wrong before the first RTT sample and after the
// link became slower. If the records of such packets were overwritten, there would be no sample to correct it.
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

// signs returns the number of records that are reserved for signs of life.
func (s *sent) signs() int { return s.most / signsShare }

// reserve makes room for the next record. It grows the ring rather than overwrite a packet whose outcome may still be told.
func (s *sent) reserve() {
	n := uint64(len(s.ring))
	if s.next-s.since < n {
		return
	}
	if len(s.ring) < s.most {
		if s.used(); s.held == s.since || s.newest < s.since+ackableFor {
			old := s.ring
			s.ring = make([]record, 2*n)
			for i := s.since; i < s.next; i++ {
				*s.at(i) = old[i&(n-1)]
			}
			return
		}
	}
	s.since++
	s.oldest, s.held = max(s.oldest, s.since), max(s.held, s.since)
}

// push adds the next packet. The ring must not be full.
func (s *sent) push(t tick.Tick, now time.Duration, state sentState, size int, end uint32) {
	if t != s.tick || s.step == 0 {
		s.tick = t
		s.step++
	}
	s.now = now
	s.reserve()
	*s.at(s.next) = record{at: now, tick: t, step: s.step, state: state, end: end, size: uint16(min(size, math.MaxUint16))}
	s.next++
}

// reached reports whether the record of the packet with an age is in the ring.
func (s *sent) reached(age uint64) bool { return age < s.next-s.since }

// ackable reports whether a packet may be acknowledged, and whether its acknowledgement is news. age is its distance from
// the newest sent packet. It may be if it was sent, or if it is older than the ring.
func (s *sent) ackable(age uint64) (legal, news bool) {
	if !s.reached(age) {
		return age < s.next-s.first || age >= uint64(s.most), false
	}
	state := s.at(s.next - 1 - age).state
	return state != sentSkipped, state != sentAcked
}

// acked notes the acknowledgement of the packet with an age, and returns its record and its state before. The state is
// sentAcked if the acknowledgement is not new or the packet is older than the ring.
func (s *sent) acked(age uint64) (*record, sentState) {
	if !s.reached(age) {
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

// noteOrder learns how far packets overtake each other. On most links they never do: a packet is then lost as soon as a
// later one arrived. acknowledge calls it in rising order of sequence. So a higher step belongs to an earlier
// acknowledgement.
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

// cause is the reason why a packet counts as lost (docs/design.md, rule 8).
type cause uint8

const (
	notLost   cause = iota
	overtaken       // enough packets of later ticks were acknowledged: see sent.overtakers
	overdue         // the timeout passed
)

// nextLost marks the oldest pending packet as lost if it counts as lost. It returns its sequence and the cause, or
// notLost.
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

// lossRate estimates the share of eliciting packets that are lost, over about the last lossMemory of them. At that
// number both counts are halved. So the weight of old outcomes falls without a list of them.
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

// withdraw takes one loss back: the packet was acknowledged late.
func (l *lossRate) withdraw() {
	l.lost = max(l.lost-1, 0)
}

// rate returns a value from 0 to 1, and 0 if there is no outcome.
func (l *lossRate) rate() float64 {
	if l.settled == 0 {
		return 0
	}
	return float64(l.lost) / float64(l.settled)
}

const (
	// firstTimeout replaces 1.25 × RTT + jitter until there is a sample.
	firstTimeout = 250 * time.Millisecond
	// maxSample limits a sample. So a remote end that delays its acknowledgements cannot make this end keep old state
	// forever.
	maxSample = 5 * time.Second
)

// roundTrip estimates the time until an acknowledgement arrives, including the remote end's wait for its next tick. It
// follows RFC 6298, section 2, with another factor for the variation.
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

// timeout returns the time after which an unacknowledged packet counts as lost (docs/design.md, rule 8). interval is
// the time of one tick. It is added because samples are spread over one tick, and on a fast link that is the whole
// variation.
func (r *roundTrip) timeout(interval time.Duration) time.Duration {
	if !r.sampled {
		return firstTimeout + interval
	}
	return r.smoothed + r.smoothed/4 + r.jitter + interval
}

const (
	// leastBroken is the shortest silence that can count as a pause. A shorter silence changes the estimate by an
	// eighth of itself at most.
	leastBroken = time.Second
	// brokenBy is the factor over the usual silence above which a silence counts as a pause.
	brokenBy = 4
)

// silence estimates the usual silence: the smoothed time between two moments at which packets were accepted.
//
// After a much longer silence, one of the ends or the network was paused, and packets waited in a socket. Packets that
// were sent before its end give no RTT sample: an end that sends rarely would use such a sample for long. Samples
// cannot stop for good. A repeated silence soon becomes the usual one, or falls into the time in which no further one
// counts.
type silence struct {
	usual time.Duration
	until time.Duration // until then no further silence counts as a pause
}

// After every minSkip to maxSkip packets one sequence is skipped. An end that acknowledges it claims a packet that it
// cannot have received.
const (
	minSkip = 64
	maxSkip = 191
)

// SkipSeed is the secret of one connection that determines which sequences it skips.
type SkipSeed [32]byte

// NewSkipSeed reads a random seed.
func NewSkipSeed(random io.Reader) (seed SkipSeed, err error) {
	if _, err := io.ReadFull(random, seed[:]); err != nil {
		return seed, fmt.Errorf("netcode: Config.Random: %w", err)
	}
	return seed, nil
}

// Skipper decides after which packets a sequence is skipped.
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

// Due reports whether to skip a sequence now. Call it after each packet.
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
