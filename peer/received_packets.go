package peer

import (
	"math/bits"
	"time"

	"github.com/arche-netcode/netcode/wire"
)

const (
	// ReplayWindow is the number of sequences that are still accepted: the newest accepted one and the 255 before it.
	ReplayWindow = 256
	// AckReach is the number of sequences before the newest one that the ack bits cover.
	AckReach = 32
	// ackEvery is the number of eliciting packets after which an acknowledgement does not wait for the next tick
	// (PROTOCOL.md).
	ackEvery = 16
	// ackAgain is the number of ticks after the newest accepted packet in which an acknowledgement is repeated.
	// minLacking is the number of missing sequences that this needs: one may be skipped on purpose.
	ackAgain   = 3
	minLacking = 2
	// lackingPerCopy is the number of missing sequences for each further copy of an acknowledgement in a tick.
	// mostCopies limits the copies.
	lackingPerCopy = 4
	mostCopies     = 3
)

// received stores which packets of the remote end were accepted.
//
//	window bit k (word k/64, bit k%64) <=> sequence newest-k was accepted
//	ack bit  n                         <=> sequence newest-1-n, so window bit n+1
type received struct {
	first  uint64 // sequence of the remote end's first packet
	newest uint64 // newest accepted sequence; first-1: none
	any    bool
	window [ReplayWindow / 64]uint64
	due    int // eliciting packets accepted since the last packet was sent
}

func newReceived(first uint64) received {
	return received{first: first, newest: first - 1}
}

// judge returns the 64-bit sequence of a wire sequence, the one nearest to the newest accepted one. It returns an error
// if the packet must not be read. It changes nothing: the window moves only for packets that were decoded whole.
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

// has reports whether the sequence newest-back was accepted.
func (r *received) has(back uint64) bool {
	return r.window[back/64]>>(back%64)&1 != 0
}

// accept adds a sequence. It returns false and changes nothing if the sequence is older than the window or was accepted
// before.
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

// lacks returns the number of missing sequences that the ack bits cover.
func (r *received) lacks() int {
	if !r.any {
		return 0
	}
	reach := min(r.newest-r.first, AckReach)
	return bits.OnesCount64(^(r.window[0] >> 1) & (1<<reach - 1))
}

// shift moves the window by n sequences. Some shifts below are by the full width of the type. Go defines their result
// as zero, as intended here.
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

// window stores which numbers of a reliable channel are done: all below base, and those of the next ReliableWindow
// numbers whose bit is set.
//
//	bit n%64 of word n/64 of the ring <=> number n, for base <= n < base+ReliableWindow
type window struct {
	base uint64 // the lowest number that is not done
	bits [ReliableWindow / 64]uint64
}

// has reports whether number n is done. n is below base+ReliableWindow.
func (w *window) has(n uint64) bool {
	return n < w.base || w.bits[n/64%(ReliableWindow/64)]>>(n%64)&1 != 0
}

// set marks number n as done, with base <= n < base+ReliableWindow. It moves base to the lowest number that is not
// done.
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

// recentAcks stores which of the newest packets were acknowledged. An acknowledgement mostly repeats the one before, so
// it costs only as much as its new sequences.
//
//	bit k <=> sequence newest-k was in an acknowledgement
//
// Older sequences are looked up in the ring of sent packets.
type recentAcks struct {
	newest uint64
	bits   uint64
}

// known returns the stored bits relative to the sequence from. Go defines shifts by 64 or more as zero: nothing is
// stored there.
func (a *recentAcks) known(from uint64) uint64 {
	if from >= a.newest {
		return a.bits << (from - a.newest)
	}
	return a.bits >> (a.newest - from)
}

// add stores that the sequence from-k was acknowledged, for each bit k.
func (a *recentAcks) add(from, bits uint64) {
	if from >= a.newest {
		a.bits = a.known(from) | bits
		a.newest = from
		return
	}
	a.bits |= bits << (a.newest - from)
}

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
