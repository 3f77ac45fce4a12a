package peer

import (
	"encoding/binary"
	"time"
)

// PacketOverhead is the size of the IPv4 and UDP headers of each packet, in bytes. The link transmits them too.
const PacketOverhead = 28

// tokenBucket is a token bucket in bytes. It fills with time, and each packet takes out its size. A packet larger than
// the level borrows the rest. At most half of the income pays the loan back, so the other half is always available. The
// unit is a byte times a nanosecond: integers are exact for any rate up to 1 GB/s.
type tokenBucket struct {
	rate  int64 // bytes per second; below 0: unlimited
	level int64 // may be below 0: acknowledgements and signs of life do not wait
	debt  int64 // borrowed and not paid back; 0 while unlimited
	full  int64 // highest level
}

// refill adds the income of a time. At most half of it pays a loan back. full is the highest level.
func (b *tokenBucket) refill(passed time.Duration, full int64) {
	income := b.rate * int64(passed)
	if b.debt > 0 {
		paid := min(b.debt, income/2)
		b.debt -= paid
		income -= paid
	}
	b.level, b.full = min(b.level+income, full), full
}

// move takes out taken bytes, and adds lent bytes to the level and the debt.
func (b *tokenBucket) move(taken, lent int64) {
	if b.rate >= 0 {
		b.level += (lent - taken) * byteNanoseconds
		b.debt += lent * byteNanoseconds
	}
}

// Budget limits the bytes to one peer by two token buckets. bound has the limit that the game set. pace has the rate of
// congestion control, if that is on. pace counts PacketOverhead for each packet. Its highest level is small, since a
// burst would fill the queue of a slow link.
type Budget struct {
	bound  tokenBucket
	pace   tokenBucket
	acks   int64 // part of pace that is reserved for acknowledgements
	latest time.Duration
}

const (
	byteNanoseconds = int64(time.Second)
	maxBudgetRate   = 1 << 30
	// burst is the time whose income may be saved.
	burst = 250 * time.Millisecond
	// minBurst is the least highest level of bound, so that a low bound allows a packet of full size.
	minBurst = 2 * 1200
	// minPace is the least highest level of pace: a small packet.
	minPace = 256
)

// NewBudget returns a full budget of rate bytes per second, at most 1 GiB/s. A rate below 0 is unlimited.
func NewBudget(rate int, now time.Duration) Budget {
	b := Budget{pace: tokenBucket{rate: -1}, latest: now}
	b.SetBound(rate)
	b.bound.level = b.bound.full
	return b
}

// SetBound changes the bytes per second; below 0 means unlimited. It keeps the saved bytes, at most those of a quarter of a second.
func (b *Budget) SetBound(rate int) {
	b.bound.rate = min(int64(rate), maxBudgetRate)
	b.bound.full = max(b.bound.rate*int64(burst), minBurst*byteNanoseconds)
	b.bound.level = min(b.bound.level, b.bound.full)
	if rate < 0 {
		b.bound.debt = 0
	}
}

// Pace starts a second limit by a rate, with PacketOverhead for each packet. A rate below 0 is unlimited.
func (b *Budget) Pace(rate int) {
	b.pace = tokenBucket{rate: min(int64(rate), maxBudgetRate), level: minPace * byteNanoseconds}
}

// Refill adds the income of the time since the last call. rate is the new rate of congestion control, if Pace set one.
// The income of that rate during saved may be saved up.
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

// Paced reports whether the rate of congestion control allows less than the bound.
func (b *Budget) Paced() bool {
	return b.pace.rate >= 0 && (b.bound.rate < 0 || b.pace.level-PacketOverhead*byteNanoseconds < b.bound.level)
}

// MayBorrow reports whether there is a limit and the last loan is paid back.
func (b *Budget) MayBorrow() bool {
	return (b.bound.rate >= 0 || b.pace.rate >= 0) && b.bound.debt == 0 && b.pace.debt == 0
}

// Borrow adds n bytes to both levels. It is for a packet that is then taken, after MayBorrow.
func (b *Budget) Borrow(n int) {
	b.bound.move(0, int64(n))
	b.pace.move(0, int64(n))
}

// Spent reports whether nothing is left.
func (b *Budget) Spent() bool {
	return b.bound.rate >= 0 && b.bound.level <= 0 || b.pace.rate >= 0 && b.pace.level <= PacketOverhead*byteNanoseconds
}

// Left returns the number of bytes that one packet may have now, -1 without a limit.
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

// Take takes out a packet of n bytes.
func (b *Budget) Take(n int) {
	b.bound.move(int64(n), 0)
	b.pace.move(int64(n)+PacketOverhead, 0)
}

// TakeAck takes out a packet of n bytes that only acknowledges. Such packets do not wait, and RFC 9002, section 7, does
// not control them. They take at most half of the income of pace, since more of them would block all other packets.
func (b *Budget) TakeAck(n int) {
	b.bound.move(int64(n), 0)
	if b.pace.rate >= 0 {
		cost := min((int64(n)+PacketOverhead)*byteNanoseconds, b.acks)
		b.pace.level -= cost
		b.acks -= cost
	}
}

const (
	// InitialCredit is the credit of both ends at the start, in cost of reliable messages: the cost that one end may
	// send before the other has handled anything.
	InitialCredit = 128 << 10
	// creditStep is the largest cost of handled messages that a receiver may leave ungranted.
	creditStep = InitialCredit / 4
	// messageOverhead is the cost of a reliable message in addition to its payload.
	messageOverhead = 32
	// maxMessageCost is the largest cost of one message with all its pieces. A sender has at least that much credit
	// when its receiver has handled everything.
	maxMessageCost = InitialCredit - creditStep

	// ReliableWindow is the largest number of messages in flight on a reliable channel: message n is not sent before
	// message n-1024 is acknowledged.
	ReliableWindow = 1024

	// MaxFragments is the largest number of pieces of a message. maxFragmentSets is the largest number of messages in
	// pieces at the same time in one direction.
	MaxFragments    = 80
	maxFragmentSets = 4
	// fragmentHeader is the size of the header of a piece, after its number: type and stage of the whole message,
	// index, count.
	fragmentHeader = 4

	// CreditSize is the size of a credit message's payload.
	CreditSize = 4
)

// messageCost returns the cost of a reliable message with a payload of so many bytes.
func messageCost(payload int) int { return payload + messageOverhead }

// creditGrant is the credit at the receiver. All amounts are costs since the start of the connection.
type creditGrant struct {
	received uint64 // cost of received messages
	freed    uint64 // cost of handled messages
	granted  uint64 // granted beyond InitialCredit by the newest credit message
	offered  uint64 // what the next credit message grants beyond InitialCredit
	packet   uint64 // packet of the newest credit message; 0: none
	awaited  bool   // the outcome of packet is not known
	again    bool   // packet was lost
}

// judge returns ErrOverCredit if a message of this cost exceeds the granted credit.
func (g *creditGrant) judge(cost int) error {
	if g.received+uint64(cost) > InitialCredit+g.granted {
		return ErrOverCredit
	}
	return nil
}

// sent notes that a packet has the credit that Arrivals.CreditDue returned last.
func (g *creditGrant) sent(packet uint64) {
	g.granted, g.packet, g.awaited, g.again = g.offered, packet, true, false
}

// settle notes the outcome of a packet.
func (g *creditGrant) settle(packet uint64, lost bool) {
	if g.awaited && g.packet == packet {
		g.awaited = false
		g.again = lost
	} else if !lost && g.packet == packet {
		g.again = false // the packet was only late
	}
}

// AppendCredit appends the payload of a credit message: the low 32 bits of the credit granted since the start,
// little-endian.
func AppendCredit(b []byte, low uint32) []byte { return binary.LittleEndian.AppendUint32(b, low) }

// ParseCredit reads the payload of a credit message. The error is ErrMalformed.
func ParseCredit(payload []byte) (low uint32, err error) {
	if len(payload) != CreditSize {
		return 0, ErrMalformed
	}
	return binary.LittleEndian.Uint32(payload), nil
}
