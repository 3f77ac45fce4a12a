package transport

import (
	"math/bits"
	"time"
)

const (
	// overhead is the size of the IPv4 and UDP headers of each datagram, in bytes.
	overhead = 28
	// rateQueue is the longest wait of a datagram for a link with a rate; then it is dropped at the tail.
	rateQueue = 250 * time.Millisecond
)

// Each decision about a datagram has a draw of its own. So the luck of one datagram does not depend on the link's other
// settings, nor on the traffic of other senders, and a failing run can be narrowed down without turning into another one.
const (
	drawLoss uint64 = iota
	drawBurst
	drawJitter
	drawReorder
	drawHold
	drawDuplicate
	drawDuplicateDelay
	drawCorrupt
	drawCorruptKind
	drawCorruptAt // the last one: it counts on from here
)

// source is the state of a Conditioner about one sender: state that is shared by all would make a burst on a server's
// link strike its clients in turn, one datagram each.
type source struct {
	link   *Link         // set by SetLinkFrom; nil means the link of the Conditioner
	seed   uint64        // stirred from the Conditioner's seed and the sender's number
	serial uint64        // datagrams seen from this sender
	burst  bool          // in the bad state of the burst loss
	last   time.Duration // when the newest datagram in order is due
	free   time.Duration // when a link with a rate has sent all it has
}

// forget drops what binds later datagrams to earlier ones, so that a link that has changed behaves so at once.
func (s *source) forget() {
	s.burst, s.last, s.free = false, 0, 0
}

// draw returns 64 random bits that depend on the seed, the sender, the datagram and the purpose alone.
func (s *source) draw(purpose uint64) uint64 {
	return mix(s.seed + mix(s.serial<<8|purpose))
}

// chance is true with probability p.
func (s *source) chance(purpose uint64, p float64) bool {
	return p > 0 && float64(s.draw(purpose)>>11)*0x1p-53 < p
}

// below returns an even number from 0 to n-1; n is at least 1. Integers, so that every platform draws alike.
func (s *source) below(purpose uint64, n uint64) uint64 {
	high, _ := bits.Mul64(s.draw(purpose), n)
	return high
}

// lose steps the loss models and reports whether this datagram is lost.
func (s *source) lose(l *Link) bool {
	if s.burst {
		s.burst = !s.chance(drawBurst, 1/l.BurstLoss.Length)
	} else {
		s.burst = s.chance(drawBurst, l.BurstLoss.Enter)
	}
	return s.burst || s.chance(drawLoss, l.Loss)
}

// depart returns when a datagram of this size has left its sender, and whether the queue there had room for it.
func (s *source) depart(l *Link, size int, now time.Duration) (time.Duration, bool) {
	if l.Rate <= 0 {
		return now, true
	}
	start := max(now, s.free)
	if start-now > rateQueue {
		return 0, false
	}
	s.free = start + time.Duration(int64(size+overhead)*int64(time.Second)/int64(l.Rate))
	return s.free, true
}

// arrive returns when a datagram that left at this time is due, and whether it was held back to be overtaken.
func (s *source) arrive(l *Link, left time.Duration) (due time.Duration, held bool) {
	spread := time.Duration(s.below(drawJitter, uint64(2*l.Jitter)+1)) - l.Jitter
	due = max(left+max(l.Delay+spread, 0), s.last)
	if s.chance(drawReorder, l.Reorder) {
		half := l.ReorderDelay / 2
		return due + l.ReorderDelay - time.Duration(s.below(drawHold, uint64(half)+1)), true
	}
	s.last = due
	return due, false
}

// damage changes the datagram for certain and returns what is left of it: at least one byte.
func (s *source) damage(datagram []byte) []byte {
	size := uint64(len(datagram))
	if size > 1 && s.below(drawCorruptKind, 8) == 0 {
		return datagram[:1+s.below(drawCorruptAt, size-1)]
	}
	first := s.below(drawCorruptAt, size)
	datagram[first] ^= byte(1 + s.below(drawCorruptAt+1, 255))
	for i := range s.below(drawCorruptAt+2, 4) {
		// Another place than the first, so that the changes cannot cancel each other.
		if at := s.below(drawCorruptAt+3+2*i, size); at != first {
			datagram[at] ^= byte(s.draw(drawCorruptAt + 4 + 2*i))
		}
	}
	return datagram
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
