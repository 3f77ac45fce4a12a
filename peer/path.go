package peer

import "time"

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

// newPath returns a path of which nothing is known. base is what always arrives, most is all that is asked for, and since the
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
