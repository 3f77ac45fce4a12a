package hosts

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
	"time"
)

const (
	limiterSets = 1024 // Sets of the table; a prefix belongs to one set.
	limiterWays = 8    // Prefixes per set.

	// A host may have spent a part of the budget of Share while all of the budget is left: the sixteenth, and at least 64 pieces.
	shareOfAll = 16
	leastShare = 64
	leftUnit   = 1 << 20 // Parts of what is left.
	freshPart  = 8       // One of so many parts is for hosts that spent nothing.
	// spentUnit is the unit of what a prefix has spent: parts of one piece of work. spentHalf is the time after which half of it is
	// forgotten.
	spentUnit = 256
	spentHalf = time.Second
)

// Work is a kind of handshake work. Each kind has its own budget.
type Work uint8

// The kinds of work.
const (
	// Unproven is an answer to an address that is not proven. A sender with forged addresses can use up this budget of other hosts.
	Unproven Work = iota
	// Proven is an answer to a valid cookie. Only a host that receives packets for an address of the prefix can use it up.
	Proven

	numWorks
)

// Limiter limits the handshake work per second of each prefix. Its table has a fixed size. If a set of the table is full, the
// prefix that used least is dropped and gets a full budget later. So no prefix is refused because of the work of others.
//
// The zero value is not usable. A Limiter must be used by one goroutine at a time.
type Limiter struct {
	key   [2]uint64
	table []limitedPrefix
	full  time.Duration // When the budget of Share is full again.
}

// limitedPrefix is the state of one prefix. Its budgets are token buckets of one second. Each is stored as the time at which it is
// full again (the generic cell rate algorithm of ATM).
type limitedPrefix struct {
	id    uint64 // 0: none.
	full  [numWorks]time.Duration
	spent [numWorks]uint64        // Work taken out of shared budgets, in spentUnit, at the time since.
	since [numWorks]time.Duration // In whole spentHalf.
}

// oddBits and evenBits are two constants of wyhash: numbers with as many bits set as clear. They change secrets that have few bits
// set.
const (
	oddBits  = 0xa0761d6478bd642f
	evenBits = 0xe7037ed1a0b428db
)

// NewLimiter returns a limiter with a secret, so that nobody can find prefixes of the same set.
func NewLimiter(secret [16]byte) *Limiter {
	return &Limiter{
		key:   [2]uint64{binary.LittleEndian.Uint64(secret[:]) ^ oddBits, binary.LittleEndian.Uint64(secret[8:]) ^ evenBits},
		table: make([]limitedPrefix, limiterSets*limiterWays),
	}
}

// Take takes one piece of work out of the budget of a prefix, which is rate pieces per second. It reports whether there was one
// left. now must not go back.
func (l *Limiter) Take(prefix netip.Prefix, work Work, rate int, now time.Duration) bool {
	return takeFrom(&l.find(l.hash(prefix), now).full[work], rate, now)
}

// TakeIn takes one piece of work for a host out of its budget, and out of those of the networks around it: network pieces per second,
// twice as many for the wider one. The less a network has left, the less its host may have spent recently to get more, so that one host
// locks out no neighbours. The last eighth is for hosts that spent nothing. A rate below 1 is no limit. TakeIn reports what had no piece left.
func (l *Limiter) TakeIn(h Host, work Work, host, network int, now time.Duration) (hostFull, networkFull bool) {
	if host > 0 && !l.Take(h.Prefix, work, host, now) {
		return true, false
	}
	if network <= 0 || !h.Around[0].IsValid() {
		return false, false
	}
	left := uint64(leftUnit)
	for i, p := range h.Around {
		if p.IsValid() {
			budget := time.Second - max(l.find(l.hash(p), now).full[work]-now, 0)
			if budget < time.Second/time.Duration(network<<i) {
				return false, true
			}
			left = min(left, uint64(budget*leftUnit/time.Second))
		}
	}
	most, spent := max(host, network/2)*2, l.find(l.hash(h.Prefix), now).spentAt(work, now) // A host that spends its rate has spent that much.
	if spent > 0 {
		left -= min(left, (leftUnit-left)/(freshPart-1))
	}
	if spent > uint64(most)*spentUnit*left/leftUnit {
		return false, true
	}
	for i, p := range h.Around {
		if p.IsValid() {
			l.Take(p, work, network<<i, now)
		}
	}
	l.find(l.hash(h.Prefix), now).spend(work, now)
	return false, false
}

// Share takes one piece of proven work out of a budget of all pieces a second that every host shares. The less of it is left, the
// less a network may have spent recently to get more, and the same holds for a host within its network. The last eighth, of all and of
// each network, is for hosts that spent nothing: they are refused only if nothing is left. So a host that asks without end gets as much
// as each other one, and takes nothing from a host that seldom asks. limited is the result of Of: a host without limits is refused by
// the budget alone.
func (l *Limiter) Share(h Host, limited bool, all int, now time.Duration) bool {
	if all <= 0 {
		return true
	}
	budget := time.Second - max(l.full-now, 0)
	if budget < time.Second/time.Duration(all) {
		return false
	}
	left := uint64(budget * leftUnit / time.Second)
	fresh := limited && l.find(l.hash(h.Prefix), now).spentAt(Proven, now) == 0
	for i := len(h.Around); limited && i >= 0; i-- { // The widest network first.
		p := h.Prefix
		if i > 0 {
			p = h.Around[i-1]
		}
		if !p.IsValid() {
			continue
		}
		spent := l.find(l.hash(p), now).spentAt(Proven, now)
		if !fresh {
			left -= min(left, (leftUnit-left)/(freshPart-1))
		}
		most := uint64(max(all/shareOfAll, leastShare)) << i * spentUnit * left / leftUnit
		if spent > most {
			return false
		}
		left = (most - spent) * leftUnit / max(most, 1)
	}
	takeFrom(&l.full, all, now)
	if limited {
		h.levels(func(p netip.Prefix, _ int) { l.find(l.hash(p), now).spend(Proven, now) })
	}
	return true
}

// takeFrom takes one piece of work out of a bucket of rate pieces, which is full at a time.
func takeFrom(fullAt *time.Duration, rate int, now time.Duration) bool {
	full := max(*fullAt, now)
	if full-now > time.Second-time.Second/time.Duration(rate) {
		return false
	}
	*fullAt = full + time.Second/time.Duration(rate)
	return true
}

// find returns the entry of a prefix. It replaces the least busy entry of the set if there is none.
func (l *Limiter) find(id uint64, now time.Duration) *limitedPrefix {
	at := int(id%limiterSets) * limiterWays
	set := l.table[at : at+limiterWays]
	idlest := &set[0]
	for i := range set {
		if set[i].id == id {
			return &set[i]
		}
		if set[i].isIdler(idlest, now) {
			idlest = &set[i]
		}
	}
	*idlest = limitedPrefix{id: id, full: [numWorks]time.Duration{now, now}}
	return idlest
}

// isIdler reports whether a prefix used less than another: first of what is shared, then of its own budgets.
func (p *limitedPrefix) isIdler(other *limitedPrefix, now time.Duration) bool {
	if p.id == 0 || other.id == 0 {
		return other.id != 0
	}
	one := p.spentAt(Unproven, now) + p.spentAt(Proven, now)
	two := other.spentAt(Unproven, now) + other.spentAt(Proven, now)
	if one != two {
		return one < two
	}
	return max(p.full[Unproven], p.full[Proven]) < max(other.full[Unproven], other.full[Proven])
}

// spentAt returns what a prefix has spent and not forgotten yet.
func (p *limitedPrefix) spentAt(work Work, now time.Duration) uint64 {
	return p.spent[work] >> uint((now-p.since[work])/spentHalf)
}

// spend notes that a prefix took one piece of work out of a shared budget.
func (p *limitedPrefix) spend(work Work, now time.Duration) {
	p.spent[work], p.since[work] = p.spentAt(work, now)+spentUnit, now-now%spentHalf
}

// hash returns a keyed hash of a prefix, never 0. Each half of the address is mixed by one round of wyhash's folded multiplication.
func (l *Limiter) hash(prefix netip.Prefix) uint64 {
	ip := prefix.Addr().As16()
	h := fold(binary.LittleEndian.Uint64(ip[:])^l.key[0], binary.LittleEndian.Uint64(ip[8:])^l.key[1])
	return max(fold(h^l.key[1], uint64(prefix.Bits())^l.key[0]), 1)
}

func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}
