package peer

import "time"

// BasePacketSize is the size of packets that fit every path, in bytes. With the headers, and with the 25 bytes of
// package secure, they fit IP packets of 576 bytes.
const BasePacketSize = HelloSize

const (
	// probeTries is the number of probes of one size that must be lost in a row before that size counts as too large.
	probeTries = 6
	// probeStep is the difference at which the search ends, between the largest size that arrived and the smallest that
	// did not.
	probeStep = 32
	// probeAgain is the time after which a path that takes less than the wanted size is searched again.
	probeAgain = 10 * time.Second
	// blackHole is the number of packets above the base size that must be lost in a row, while smaller ones arrive. The
	// path then counts as one that no longer takes them.
	blackHole = 6
)

// mtuSearch finds the largest packet size that reaches the other end. It sends probes: padded packets that must be
// acknowledged (RFC 8899, DPLPMTUD). The size begins at the base, and grows only after packets of about that size were
// sent: an end that sends little sends no probes. The zero value is not usable.
type mtuSearch struct {
	base int // size that always arrives
	most int // wanted size
	size int // largest size that arrived: packets may have it
	high int // smallest size that is too large; most+1: none is known

	wanted bool   // packets of about size were sent
	probe  int    // size of the probe in flight; 0: none
	number uint64 // sequence of the probe in flight
	tries  int    // lost probes of the present size, in a row
	again  time.Duration

	since     uint64 // packets before this one do not count
	lostLarge int    // packets above the base lost since the last one arrived
	smaller   bool   // smaller packets arrived meanwhile
}

// newMTUSearch returns a search before any probe. base is the size that always arrives, most the wanted size, and since the
// sequence of the first packet on the path.
func newMTUSearch(base, most int, since uint64) mtuSearch {
	return mtuSearch{base: base, most: most, size: min(base, most), high: most + 1, since: since}
}

// settled reports whether the path is known to take less than the wanted size.
func (p *mtuSearch) settled() bool { return p.high <= p.most && p.high-p.size <= probeStep }

// next returns the size to try: the wanted size at first, then the middle between size and high.
func (p *mtuSearch) next() int {
	if p.high > p.most {
		return p.most
	}
	return p.size + (p.high-p.size)/2
}

// due returns the size of the probe to send now, or 0.
func (p *mtuSearch) due(now time.Duration) int {
	switch {
	case p.lostLarge >= blackHole && p.probe == 0: // either no packet arrives, or no large one
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

// sent notes a sent packet of n bytes. Congestion control allowed it most bytes: a packet that it cut
// wants to be larger, too. A larger one has a single record or message.
func (p *mtuSearch) sent(number uint64, n, most int, probe bool) {
	if probe {
		p.probe, p.number = n, number
	} else if n > p.size-probeStep || n > p.base/2 && n > most-probeStep && n <= most {
		p.wanted = true
	}
}

// acked notes that a packet of n bytes arrived.
func (p *mtuSearch) acked(number uint64, n int) {
	if number < p.since {
		return
	}
	if p.isProbe(number) {
		p.probe = 0
	}
	if n > p.base {
		p.lostLarge, p.smaller = 0, false
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

// lost notes that a packet of n bytes is presumed lost.
func (p *mtuSearch) lost(number uint64, n int, now time.Duration) {
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
		if p.lostLarge == 0 {
			p.smaller = false
		}
		p.lostLarge++
		p.shrink()
	}
}

// shrink starts again from the base if large packets no longer arrive and smaller ones do.
func (p *mtuSearch) shrink() {
	if p.lostLarge >= blackHole && p.smaller {
		*p = newMTUSearch(p.base, p.most, p.since)
		p.wanted = true
	}
}

// isProbe reports whether a packet is the probe in flight.
func (p *mtuSearch) isProbe(number uint64) bool { return p.probe != 0 && p.number == number }
