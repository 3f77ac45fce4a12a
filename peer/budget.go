package peer

import "time"

// Budget is a token bucket in bytes: it fills with time and each packet takes its size out. A packet that has to be larger
// than what is left borrows the rest. Half of what comes in pays that back, so the other half is never used up by it.
// Whole numbers only: the unit is a byte times a nanosecond, exact for any rate up to 1 GB/s.
type Budget struct {
	rate   int64 // Bytes a second; below 0: unlimited.
	level  int64 // Below 0 after an acknowledgement or a sign of life, which do not wait.
	debt   int64 // Borrowed and not paid back.
	latest time.Duration
}

const (
	byteNanoseconds = int64(time.Second)
	maxBudgetRate   = 1 << 30
	// burst is the time whose budget may be saved up.
	burst = 250 * time.Millisecond
	// minBurst lets a low rate still send a packet of full size.
	minBurst = 2 * 1200
)

// NewBudget returns a budget of so many bytes a second, at most 1 GiB/s, that is full. Below 0 it is unlimited.
func NewBudget(rate int, now time.Duration) Budget {
	b := Budget{rate: min(int64(rate), maxBudgetRate), latest: now}
	b.level = b.full()
	return b
}

// full is the level at which saving stops.
func (b *Budget) full() int64 {
	return max(b.rate*int64(burst), minBurst*byteNanoseconds)
}

// Refill adds what the time since the last call is worth, and pays back a loan with at most half of it.
func (b *Budget) Refill(now time.Duration) {
	passed := min(max(now-b.latest, 0), time.Second)
	b.latest = now
	income := b.rate * int64(passed)
	if b.debt > 0 {
		paid := min(b.debt, income/2)
		b.debt -= paid
		income -= paid
	}
	b.level = min(b.level+income, b.full())
}

// MayBorrow reports whether there is a limit and the last loan is paid back.
func (b *Budget) MayBorrow() bool { return b.rate >= 0 && b.debt == 0 }

// Borrow adds n bytes to what is left. It is for a packet that is about to be taken, after MayBorrow.
func (b *Budget) Borrow(n int) {
	if b.rate >= 0 {
		b.level += int64(n) * byteNanoseconds
		b.debt += int64(n) * byteNanoseconds
	}
}

// Spent tells if nothing is left.
func (b *Budget) Spent() bool { return b.rate >= 0 && b.level <= 0 }

// Left returns the number of bytes that may be sent now, -1 when there is no limit.
func (b *Budget) Left() int {
	if b.rate < 0 {
		return -1
	}
	return int(max(b.level, 0) / byteNanoseconds)
}

// Take pays for n bytes.
func (b *Budget) Take(n int) {
	if b.rate >= 0 {
		b.level -= int64(n) * byteNanoseconds
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
	MaxFragments    = 32
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
	packet   uint64 // that carried the newest credit message; 0 for none
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

// offer returns what a credit message would say, and whether it is worth one.
func (g *creditGrant) offer() (low uint32, due bool) {
	g.offered = g.freed
	return uint32(InitialCredit + g.offered), g.again || g.offered-g.told >= creditStep
}

// sent notes that a packet carries what offer returned last.
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

// unsent notes that a packet was not sent, and that another will have its number.
func (g *creditGrant) unsent(packet uint64) {
	if g.packet == packet {
		g.packet, g.awaited, g.again = 0, false, true
	}
}
