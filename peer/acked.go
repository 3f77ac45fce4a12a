package peer

// ackedBefore remembers which of the newest packets were acknowledged, so that
// an acknowledgement, which mostly repeats the one before, costs no more than
// its news.
//
//	bit k <=> the number newest-k was in an acknowledgement
//
// Forgotten numbers are looked up in the ring of sent packets again.
type ackedBefore struct {
	newest uint64
	bits   uint64
}

// known returns what is remembered, counted back from another number. Shifts of
// 64 and more give zero in Go: nothing is known there.
func (a *ackedBefore) known(from uint64) uint64 {
	if from >= a.newest {
		return a.bits << (from - a.newest)
	}
	return a.bits >> (a.newest - from)
}

// add remembers that the numbers from-k were acknowledged, for each bit k.
func (a *ackedBefore) add(from, bits uint64) {
	if from >= a.newest {
		a.bits = a.known(from) | bits
		a.newest = from
		return
	}
	a.bits |= bits << (a.newest - from)
}
