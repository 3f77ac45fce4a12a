package peer

import (
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
	debt  int64 // Borrowed and not paid back.
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

func (b *tokenBucket) mayBorrow() bool { return b.rate < 0 || b.debt == 0 }

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

// SetBound changes the bytes a second. What is saved up beyond those of a quarter of a second is lost.
func (b *Budget) SetBound(rate int) {
	b.bound.rate = min(int64(rate), maxBudgetRate)
	b.bound.full = max(b.bound.rate*int64(burst), minBurst*byteNanoseconds)
	b.bound.level = min(b.bound.level, b.bound.full)
}

// Pace begins to limit by a rate too, PacketOverhead included. One that is below 0 is none.
func (b *Budget) Pace(rate int) {
	b.pace = tokenBucket{rate: min(int64(rate), maxBudgetRate), level: minPace * byteNanoseconds}
}

// Refill adds what the time since the last call is worth, at a rate if Pace set one. Of the rate, what a time is worth may be saved up.
func (b *Budget) Refill(now time.Duration, rate int, saved time.Duration) {
	passed := min(max(now-b.latest, 0), time.Second)
	b.latest = now
	b.bound.refill(passed, b.bound.full)
	if b.pace.rate >= 0 {
		b.pace.rate = min(int64(max(rate, 0)), maxBudgetRate)
		saved = max(saved, min(passed, burst))
		b.pace.refill(passed, max(b.pace.rate*int64(saved), minPace*byteNanoseconds))
	}
}

// Paced reports whether the rate leaves less than the bound does.
func (b *Budget) Paced() bool {
	return b.pace.rate >= 0 && (b.bound.rate < 0 || b.pace.level-PacketOverhead*byteNanoseconds < b.bound.level)
}

// MayBorrow reports whether there is a limit and the last loan is paid back.
func (b *Budget) MayBorrow() bool {
	return (b.bound.rate >= 0 || b.pace.rate >= 0) && b.bound.mayBorrow() && b.pace.mayBorrow()
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
