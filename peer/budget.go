package peer

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
	"time"
)

// PacketOverhead is the size of the IPv4 and UDP headers of each packet, in bytes. A line has to take them too.
const PacketOverhead = 28

// tokenBucket is a token bucket in bytes: it fills with time and each packet takes its size out. A packet that has to be larger
// than what is left borrows the rest. Half of what comes in pays that back, so the other half is never used up by it.
// Whole numbers only: the unit is a byte times a nanosecond, exact for any rate up to 1 GB/s.
type tokenBucket struct {
	rate  int64 // Bytes a second; below 0: unlimited.
	level int64 // Below 0 after an acknowledgement or a sign of life, which do not wait.
	debt  int64 // Borrowed and not paid back; 0 while unlimited.
	full  int64 // Level at which saving stops.
}

// refill adds the income of a time, and pays back a loan with at most half of it.
func (b *tokenBucket) refill(passed time.Duration, full int64) {
	income := b.rate * int64(passed)
	if b.debt > 0 {
		paid := min(b.debt, income/2)
		b.debt -= paid
		income -= paid
	}
	b.level, b.full = min(b.level+income, full), full
}

// move takes n bytes out, and adds to the debt what was lent.
func (b *tokenBucket) move(taken, lent int64) {
	if b.rate >= 0 {
		b.level += (lent - taken) * byteNanoseconds
		b.debt += lent * byteNanoseconds
	}
}

// Budget limits the bytes to one peer by two token buckets: one has the bound, which a game chooses, the other the rate of
// congestion control, if that is on. The rate counts PacketOverhead for each packet, and saves little: a burst would fill the queue of a slow line.
type Budget struct {
	bound  tokenBucket
	pace   tokenBucket
	acks   int64 // Of pace, saved up for acknowledgements.
	latest time.Duration
}

const (
	byteNanoseconds = int64(time.Second)
	maxBudgetRate   = 1 << 30
	// burst is the time whose budget may be saved up.
	burst = 250 * time.Millisecond
	// minBurst lets a low bound still send a packet of full size.
	minBurst = 2 * 1200
	// minPace bounds what a low rate saves up from below: a small packet.
	minPace = 256
)

// NewBudget returns a budget of so many bytes a second, at most 1 GiB/s, that is full. Below 0 it is unlimited.
func NewBudget(rate int, now time.Duration) Budget {
	b := Budget{pace: tokenBucket{rate: -1}, latest: now}
	b.SetBound(rate)
	b.bound.level = b.bound.full
	return b
}

// SetBound changes the bytes a second, below 0 to unlimited. It keeps what is saved up, at most the bytes of a quarter of a second.
func (b *Budget) SetBound(rate int) {
	b.bound.rate = min(int64(rate), maxBudgetRate)
	b.bound.full = max(b.bound.rate*int64(burst), minBurst*byteNanoseconds)
	b.bound.level = min(b.bound.level, b.bound.full)
	if rate < 0 {
		b.bound.debt = 0
	}
}

// Pace begins to limit by a rate too, PacketOverhead included. One that is below 0 is none.
func (b *Budget) Pace(rate int) {
	b.pace = tokenBucket{rate: min(int64(rate), maxBudgetRate), level: minPace * byteNanoseconds}
}

// Refill adds what the time since the last call is worth, at a rate if Pace set one. Of the rate, what a time is worth may be saved up.
func (b *Budget) Refill(now time.Duration, rate int, saved time.Duration) {
	passed := min(max(now-b.latest, 0), time.Second)
	b.latest = now
	if b.bound.rate >= 0 {
		b.bound.refill(passed, b.bound.full)
	}
	if b.pace.rate >= 0 {
		b.pace.rate = min(int64(max(rate, 0)), maxBudgetRate)
		saved = max(saved, min(passed, burst))
		b.pace.refill(passed, max(b.pace.rate*int64(saved), minPace*byteNanoseconds))
		b.acks = min(b.acks+b.pace.rate*int64(passed)/2, b.pace.full/2)
	}
}

// Paced reports whether the rate leaves less than the bound does.
func (b *Budget) Paced() bool {
	return b.pace.rate >= 0 && (b.bound.rate < 0 || b.pace.level-PacketOverhead*byteNanoseconds < b.bound.level)
}

// MayBorrow reports whether there is a limit and the last loan is paid back.
func (b *Budget) MayBorrow() bool {
	return (b.bound.rate >= 0 || b.pace.rate >= 0) && b.bound.debt == 0 && b.pace.debt == 0
}

// Borrow adds n bytes to what is left. It is for a packet that is about to be taken, after MayBorrow.
func (b *Budget) Borrow(n int) {
	b.bound.move(0, int64(n))
	b.pace.move(0, int64(n))
}

// Spent tells if nothing is left.
func (b *Budget) Spent() bool {
	return b.bound.rate >= 0 && b.bound.level <= 0 || b.pace.rate >= 0 && b.pace.level <= PacketOverhead*byteNanoseconds
}

// Left returns the number of bytes that may be sent now in one packet, -1 when there is no limit.
func (b *Budget) Left() int {
	left := -1
	if b.bound.rate >= 0 {
		left = int(max(b.bound.level, 0) / byteNanoseconds)
	}
	if b.pace.rate >= 0 {
		if paced := int(max(b.pace.level, 0)/byteNanoseconds) - PacketOverhead; left < 0 || paced < left {
			left = max(paced, 0)
		}
	}
	return left
}

// Take pays for a packet of n bytes.
func (b *Budget) Take(n int) {
	b.bound.move(int64(n), 0)
	b.pace.move(int64(n)+PacketOverhead, 0)
}

// TakeAck pays for a packet of n bytes that only acknowledges. Such packets do not wait, and RFC 9002 §7 does not control them. So they take at
// most half of what comes in by the rate: more of them would keep all else waiting.
func (b *Budget) TakeAck(n int) {
	b.bound.move(int64(n), 0)
	if b.pace.rate >= 0 {
		cost := min((int64(n)+PacketOverhead)*byteNanoseconds, b.acks)
		b.pace.level -= cost
		b.acks -= cost
	}
}

const (
	// InitialCredit is the credit with which both ends begin, in cost of reliable messages: what one end may have sent that
	// the other has not handled.
	InitialCredit = 128 << 10
	// creditStep is the largest amount that a receiver may leave ungranted.
	creditStep = InitialCredit / 4
	// messageOverhead is the cost of a reliable message beside its payload.
	messageOverhead = 32
	// maxMessageCost is the largest cost of one message with all its pieces. A sender whose receiver has handled everything
	// has that much credit.
	maxMessageCost = InitialCredit - creditStep

	// ReliableWindow is the largest number of messages in flight on a reliable channel: number n is not sent before n-1024
	// is acknowledged.
	ReliableWindow = 1024

	// MaxFragments is the largest number of pieces of a message, and maxFragmentSets that of messages in pieces at once
	// in one direction.
	MaxFragments    = 80
	maxFragmentSets = 4
	// fragmentHeader is the header of a piece, after its number: type and stage of the whole, index, count.
	fragmentHeader = 4

	// CreditSize is the size of a credit message's payload.
	CreditSize = 4
)

// messageCost returns the cost of a reliable message with so much payload.
func messageCost(payload int) int { return payload + messageOverhead }

// creditGrant is the receiver's side of the credit. Everything counts from the start of the connection, in cost.
type creditGrant struct {
	received uint64 // of messages that came
	freed    uint64 // of those that were handled
	told     uint64 // what was granted beyond InitialCredit, by the newest credit message
	offered  uint64 // what the next one will grant
	packet   uint64 // that had the newest credit message; 0 for none
	awaited  bool   // its outcome is not known
	again    bool   // it was lost
}

// judge reports whether a message of this cost is within what was granted.
func (g *creditGrant) judge(cost int) error {
	if g.received+uint64(cost) > InitialCredit+g.told {
		return ErrOverCredit
	}
	return nil
}

// sent notes that a packet has what Arrivals.CreditDue returned last.
func (g *creditGrant) sent(packet uint64) {
	g.told, g.packet, g.awaited, g.again = g.offered, packet, true, false
}

// settle notes what became of a packet.
func (g *creditGrant) settle(packet uint64, lost bool) {
	if g.awaited && g.packet == packet {
		g.awaited = false
		g.again = lost
	} else if !lost && g.packet == packet {
		g.again = false // it was only late
	}
}

// AppendCredit appends the payload of a credit message: the low 32 bits of what is granted since the start, little-endian.
func AppendCredit(b []byte, low uint32) []byte { return binary.LittleEndian.AppendUint32(b, low) }

// ParseCredit reads the payload of a credit message. The error is ErrMalformed.
func ParseCredit(payload []byte) (low uint32, err error) {
	if len(payload) != CreditSize {
		return 0, ErrMalformed
	}
	return binary.LittleEndian.Uint32(payload), nil
}

const (
	limiterSets = 1024 // of the table; a prefix belongs to one of them
	limiterWays = 4    // prefixes that one set holds
)

// Work is a kind of handshake work. Each kind has a budget of its own.
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
