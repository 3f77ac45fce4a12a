package peer

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
	"time"
)

const (
	limiterSets = 1024 // of the table; a prefix belongs to one of them
	limiterWays = 4    // prefixes that one set holds
)

// Work is a kind of handshake work, each of which has a budget of its own.
type Work uint8

// The kinds of work.
const (
	// WorkUnproven is an answer to an address that has not proved to be its own: a Challenge. A sender that forges addresses
	// can use up this budget of others.
	WorkUnproven Work = iota
	// WorkProven is an answer to a valid cookie. Only a host that receives at an address of the prefix can use it up.
	WorkProven

	numWorks
)

// Limiter bounds how much handshake work a second each address prefix gets. Its memory is a table of a fixed size: if too
// many prefixes ask at a time, the one that used least is forgotten and has its whole budget again. So no prefix is refused for
// the work of others.
//
// The zero value is not usable. Not for concurrent use.
type Limiter struct {
	key   [2]uint64
	table []limitedPrefix
}

// limitedPrefix is the state of one prefix. Its budgets are token buckets of one second; each is stored as
// the time at which it is full again (the generic cell rate algorithm of ATM).
type limitedPrefix struct {
	id   uint64 // 0: none
	full [numWorks]time.Duration
}

// oddBits and evenBits are two of the constants of wyhash: numbers with as many bits set as not, for secrets that are too simple.
const (
	oddBits  = 0xa0761d6478bd642f
	evenBits = 0xe7037ed1a0b428db
)

// NewLimiter returns a limiter under a secret, so that nobody can find prefixes which share a place.
func NewLimiter(secret [16]byte) *Limiter {
	return &Limiter{
		key:   [2]uint64{binary.LittleEndian.Uint64(secret[:]) ^ oddBits, binary.LittleEndian.Uint64(secret[8:]) ^ evenBits},
		table: make([]limitedPrefix, limiterSets*limiterWays),
	}
}

// Take takes one piece of work out of the budget of a prefix, rate of them a second, and reports whether there was one. now
// never runs backwards.
func (l *Limiter) Take(prefix netip.Prefix, work Work, rate int, now time.Duration) bool {
	p := l.find(l.hash(prefix), now)
	full := max(p.full[work], now)
	if full-now > time.Second-time.Second/time.Duration(rate) {
		return false
	}
	p.full[work] = full + time.Second/time.Duration(rate)
	return true
}

// find returns the place of a prefix, and makes one if there is none.
func (l *Limiter) find(id uint64, now time.Duration) *limitedPrefix {
	at := int(id%limiterSets) * limiterWays
	set := l.table[at : at+limiterWays]
	idlest := &set[0]
	for i := range set {
		if set[i].id == id {
			return &set[i]
		}
		if set[i].busy() < idlest.busy() {
			idlest = &set[i]
		}
	}
	*idlest = limitedPrefix{id: id, full: [numWorks]time.Duration{now, now}}
	return idlest
}

// busy returns the time by which a prefix is ahead with its budgets.
func (p *limitedPrefix) busy() time.Duration {
	if p.id == 0 {
		return -1 << 63
	}
	return max(p.full[WorkUnproven], p.full[WorkProven])
}

// hash is a keyed hash of a prefix, never 0: each half of the address goes through one round of the folded multiplication of
// wyhash.
func (l *Limiter) hash(prefix netip.Prefix) uint64 {
	ip := prefix.Addr().As16()
	h := fold(binary.LittleEndian.Uint64(ip[:])^l.key[0], binary.LittleEndian.Uint64(ip[8:])^l.key[1])
	return max(fold(h^l.key[1], uint64(prefix.Bits())^l.key[0]), 1)
}

func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}
