package peer

import (
	"time"
)

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
