package peer

import (
	"math/bits"

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

// ack returns the acknowledgement of everything accepted so far.
func (r *received) ack() (has bool, newest wire.Sequence, bits uint32) {
	return r.any, wire.Sequence(r.newest), uint32(r.window[0] >> 1)
}
