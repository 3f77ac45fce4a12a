package peer

import (
	"math/bits"

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
