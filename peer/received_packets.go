package peer

import (
	"math/bits"
	"time"

	"github.com/arche-netcode/netcode/wire"
)

const (
	// ReplayWindow is the number of sequences that are still read: the newest
	// accepted one and the 255 before it.
	ReplayWindow = 256
	// AckReach is the number of sequences before the newest one that the ack bits cover.
	AckReach = 32
	// ackEvery is the number of eliciting packets after which an
	// acknowledgement does not wait for the next tick (PROTOCOL.md).
	ackEvery = 16
	// ackAgain is for how many ticks after the newest accepted packet an
	// acknowledgement is said again, and minLacking how many of the newest numbers
	// must be missing for that: one may have been left out on purpose.
	ackAgain   = 3
	minLacking = 2
	// lackingPerCopy is for how many missing ones of the newest numbers it is said
	// once more in each tick, and mostCopies how often at most.
	lackingPerCopy = 4
	mostCopies     = 3
)

// received knows which of the remote end's packets were accepted.
//
//	window bit k (word k/64, bit k%64) <=> sequence newest-k was accepted
//	ack bit  n                         <=> sequence newest-1-n, so window bit n+1
type received struct {
	first  uint64 // sequence of the remote end's first packet
	newest uint64 // newest accepted; first-1 before there is one
	any    bool
	window [ReplayWindow / 64]uint64
	due    int // eliciting packets accepted since the last packet went out
}

func newReceived(first uint64) received {
	return received{first: first, newest: first - 1}
}

// judge gives a wire sequence its 64-bit number, nearest to the newest accepted
// one, or says why the packet must not be read. It changes nothing: the window
// moves only for packets that were decoded whole.
func (r *received) judge(sequence wire.Sequence) (uint64, error) {
	behind := uint16(wire.Sequence(r.newest) - sequence)
	if behind >= 1<<15 {
		return r.newest + uint64(-behind), nil
	}
	back := uint64(behind)
	if back >= ReplayWindow || !r.any || back > r.newest-r.first {
		return 0, ErrOld
	}
	if r.has(back) {
		return 0, ErrDuplicate
	}
	return r.newest - back, nil
}

// has reports whether the sequence back before the newest was accepted.
func (r *received) has(back uint64) bool {
	return r.window[back/64]>>(back%64)&1 != 0
}

// accept records a sequence. One that the window has left behind, or has
// already, changes nothing; accept reports whether it was news.
func (r *received) accept(sequence uint64, eliciting bool) bool {
	if sequence > r.newest {
		r.shift(sequence - r.newest)
		r.newest = sequence
		r.any = true
	}
	back := r.newest - sequence
	if back >= ReplayWindow || r.has(back) {
		return false
	}
	r.window[back/64] |= 1 << (back % 64)
	if eliciting {
		r.due++
	}
	return true
}

// lacks returns the number of missing packets that the ack bits cover.
func (r *received) lacks() int {
	if !r.any {
		return 0
	}
	reach := min(r.newest-r.first, AckReach)
	return bits.OnesCount64(^(r.window[0] >> 1) & (1<<reach - 1))
}

// shift moves the window n sequences on. Each shift below is by its type's full
// width at times, which Go defines as zero; that is what is wanted here.
func (r *received) shift(n uint64) {
	words, rest := n/64, n%64
	for i := uint64(len(r.window)); i > 0; {
		i--
		var word uint64
		if i >= words {
			word = r.window[i-words] << rest
		}
		if i > words {
			word |= r.window[i-words-1] >> (64 - rest)
		}
		r.window[i] = word
	}
}

// window knows which numbers of a reliable channel are through: everything below base, and of the ReliableWindow numbers
// from there on those whose bit is set.
//
//	bit n%64 of word n/64 of the circle <=> number n, for base <= n < base+ReliableWindow
type window struct {
	base uint64 // the oldest number that is not through
	bits [ReliableWindow / 64]uint64
}

// has reports whether number n, below base+ReliableWindow, is through.
func (w *window) has(n uint64) bool {
	return n < w.base || w.bits[n/64%(ReliableWindow/64)]>>(n%64)&1 != 0
}

// set notes that number n, from base on and below base+ReliableWindow, is through, and moves base over all that are.
func (w *window) set(n uint64) {
	w.bits[n/64%(ReliableWindow/64)] |= 1 << (n % 64)
	for {
		word, at := &w.bits[w.base/64%(ReliableWindow/64)], w.base%64
		run := uint64(bits.TrailingZeros64(^(*word >> at))) // 64-at at most: zeros are shifted in
		if run == 0 {
			return
		}
		*word &^= (1<<run - 1) << at
		w.base += run
		if at+run < 64 {
			return
		}
	}
}

// recentAcks remembers which of the newest packets were acknowledged, so that
// an acknowledgement, which mostly repeats the one before, costs no more than
// its news.
//
//	bit k <=> the number newest-k was in an acknowledgement
//
// Forgotten numbers are looked up in the ring of sent packets again.
type recentAcks struct {
	newest uint64
	bits   uint64
}

// known returns what is remembered, counted back from another number. Shifts of
// 64 and more give zero in Go: nothing is known there.
func (a *recentAcks) known(from uint64) uint64 {
	if from >= a.newest {
		return a.bits << (from - a.newest)
	}
	return a.bits >> (a.newest - from)
}

// add remembers that the numbers from-k were acknowledged, for each bit k.
func (a *recentAcks) add(from, bits uint64) {
	if from >= a.newest {
		a.bits = a.known(from) | bits
		a.newest = from
		return
	}
	a.bits |= bits << (a.newest - from)
}

// AckSize is the most that a packet takes that only acknowledges.
const AckSize = packetOverhead

// lastAck is the newest packet that only acknowledged, and what it acknowledged.
type lastAck struct {
	packet [AckSize]byte
	size   int // 0: there was none
	newest uint64
	bits   uint64
}

// RepeatAck reports whether what was acknowledged last is worth saying again when
// nothing else is to be said: packets of the remote end are lost here, so its
// acknowledgements are likely to be lost there, and it waits for them in vain.
// Where nothing comes any more, that ends after a few ticks.
func (c *Conn) RepeatAck(now time.Duration) bool {
	return c.received.lacks() >= minLacking && now-c.heard <= ackAgain*c.config.TickInterval
}

// AckRepeats returns the number of extra packets of a tick that repeat the last
// acknowledgement. Where much is lost few arrive, and the remote end then codes
// its state against older packets.
func (c *Conn) AckRepeats(now time.Duration) int {
	if !c.RepeatAck(now) {
		return 0
	}
	return min(c.received.lacks()/lackingPerCopy, mostCopies)
}

// Again writes the newest packet that only acknowledged into dst, to be sent once
// more as it is, and returns its length: 0, and nothing counts as sent, where there
// is something to add to it or dst is shorter than AckSize. With a number of its own
// the same would tell the remote end of one more packet that may be lost, which
// that one has to tell back.
func (c *Conn) Again(dst []byte) int {
	s := &c.said
	if len(dst) < AckSize || s.size == 0 || s.newest != c.received.newest || s.bits != c.received.window[0] {
		return 0
	}
	c.stats.Repeated++
	c.stats.BytesSent += uint64(s.size)
	return copy(dst, s.packet[:s.size])
}

// says keeps a packet that only acknowledges.
func (c *Conn) says(packet []byte) {
	c.said.size = copy(c.said.packet[:], packet)
	c.said.newest, c.said.bits = c.received.newest, c.received.window[0]
}
