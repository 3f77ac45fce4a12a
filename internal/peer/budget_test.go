package peer

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestBudget(t *testing.T) {
	b := NewBudget(10000, 0)
	require.False(t, b.Spent())
	b.Take(2500) // a quarter of a second's worth is the most that is saved
	require.True(t, b.Spent())
	b.Refill(10*ms, -1, 0)
	require.False(t, b.Spent())
	b.Take(101)
	require.True(t, b.Spent(), "below zero by a packet at most")
	b.Refill(20*ms, -1, 0)
	require.False(t, b.Spent())
	b.Refill(time.Hour, -1, 0)
	b.Take(2499)
	require.False(t, b.Spent())
	b.Take(1)
	require.True(t, b.Spent())

	b = NewBudget(0, 0)
	require.False(t, b.Spent(), "the lowest rate still sends two packets")
	b.Take(2400)
	require.True(t, b.Spent())
	b.Refill(time.Hour, -1, 0)
	require.True(t, b.Spent())

	b = NewBudget(-1, 0)
	b.Take(math.MaxInt)
	require.False(t, b.Spent(), "unlimited")
}

// TestBudgetHoldsTheRate takes as much as is there, at random times, and wants the rate to be met and not passed.
func TestBudgetHoldsTheRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.IntRange(10000, 1<<31-1).Draw(t, "rate")
		effective := min(rate, 1<<30)
		b := NewBudget(rate, 0)
		now, sent := time.Duration(0), 0
		for range rapid.IntRange(10, 200).Draw(t, "steps") {
			now += time.Duration(rapid.Int64Range(0, int64(40*ms)).Draw(t, "step"))
			b.Refill(now, -1, 0)
			for packet := max(1200, effective/2000); !b.Spent(); {
				b.Take(packet)
				sent += packet
			}
		}
		most := float64(effective)*(now.Seconds()+burst.Seconds()) + float64(max(1200, effective/2000))
		require.LessOrEqual(t, float64(sent), most+1)
		require.GreaterOrEqual(t, float64(sent), float64(effective)*now.Seconds()*0.99)
	})
}

// A loan is paid back with half of what comes in, so the other half is there all the while, and the rate holds.
func TestABudgetPaysBackWithHalfOfItsIncome(t *testing.T) {
	b := NewBudget(3000, 0)
	b.Take(2400)
	require.Zero(t, b.Left())
	require.True(t, b.MayBorrow())
	b.Borrow(600)
	require.Equal(t, 600, b.Left())
	require.False(t, b.MayBorrow())
	b.Take(600)
	for i := range 4 {
		require.False(t, b.MayBorrow())
		b.Refill(time.Duration(i+1)*100*ms, -1, 0)
		require.Equal(t, 150, b.Left(), "half of 300")
		b.Take(150)
	}
	require.True(t, b.MayBorrow())
	b.Refill(500*ms, -1, 0)
	require.Equal(t, 300, b.Left())

	b = NewBudget(-1, 0)
	require.False(t, b.MayBorrow(), "nothing to borrow from")
	b.Borrow(5)
	require.Equal(t, -1, b.Left())
}

// Acknowledgements that cost more than the rate leave half of it to what waits.
func TestAcknowledgementsLeaveHalfOfTheRate(t *testing.T) {
	b := NewBudget(-1, 0)
	b.Pace(3000)
	b.Refill(0, 3000, 0)
	b.Take(b.Left())
	sent := 0
	for i := range 1000 {
		b.Refill(time.Duration(i+1)*10*ms, 3000, 0)
		if b.Left() >= 100 {
			sent += b.Left() + PacketOverhead
			b.Take(b.Left())
		}
		b.TakeAck(11)
		b.TakeAck(11)
	}
	require.InDelta(t, 15000, sent, 200, "half of what ten seconds bring")
}

// The cost of acknowledgements does not depend on the rate of frames: those that cost less than half of the rate are paid for whole.
func TestAcknowledgementsArePaidForAtAnyRateOfFrames(t *testing.T) {
	for _, frame := range []time.Duration{time.Millisecond, 7 * time.Millisecond, 33 * time.Millisecond} {
		b := NewBudget(-1, 0)
		b.Pace(3000)
		b.Refill(0, 3000, 0)
		b.Take(b.Left())
		sent, next := 0, time.Duration(0)
		for now := frame; now <= 10*time.Second; now += frame {
			b.Refill(now, 3000, 0)
			if b.Left() >= 100 {
				sent += b.Left() + PacketOverhead
				b.Take(b.Left())
			}
			if now >= next {
				next += 33 * time.Millisecond
				b.TakeAck(11)
				sent += 11 + PacketOverhead
			}
		}
		require.InDelta(t, 30000, sent, 600, "ten seconds, frames of %v", frame)
	}
}

// The limit of a packet can be lowered and raised again, up to what it began with.
func TestTheLimitOfAPacket(t *testing.T) {
	b := NewConn(ConnConfig{}).Begin(make([]byte, 300))
	room := b.Room()
	b.Limit(100)
	require.Equal(t, 200, b.Spare())
	require.Equal(t, room-200, b.Room())
	require.Equal(t, 150, b.Grow(150))
	require.Equal(t, 50, b.Grow(80))
	require.Equal(t, room, b.Room())
	b.Grow(-20)
	require.Equal(t, room-20, b.Room())
	b.Limit(400)
	require.Zero(t, b.Spare())
	b.Limit(0)
	require.Zero(t, b.Room())
}

// The pace counts the headers of IP and UDP, saves what a time is worth and no more, and holds its rate.
func TestThePaceHoldsItsRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.IntRange(3000, 1<<20).Draw(t, "rate")
		saved := rapid.SampledFrom([]time.Duration{33 * ms, 66 * ms}).Draw(t, "saved")
		b := NewBudget(-1, 0)
		b.Pace(rate)
		now, sent := time.Duration(0), 0
		for range rapid.IntRange(10, 200).Draw(t, "steps") {
			now += time.Duration(rapid.Int64Range(0, int64(40*ms)).Draw(t, "step"))
			b.Refill(now, rate, saved)
			for left := b.Left(); left > 0 && !b.Spent(); left = b.Left() {
				n := min(left, rapid.IntRange(1, 1200).Draw(t, "size"))
				b.Take(n)
				sent += n + PacketOverhead
			}
		}
		require.LessOrEqual(t, float64(sent), float64(rate)*now.Seconds()+minPace+1)
	})
}

func TestPace(t *testing.T) {
	b := NewBudget(10_000, 0)
	require.Equal(t, 2500, b.Left())
	require.False(t, b.Paced())
	b.Pace(1000)
	require.Equal(t, minPace-PacketOverhead, b.Left())
	require.True(t, b.Paced())
	require.True(t, b.MayBorrow())
	b.Take(minPace - PacketOverhead)
	require.True(t, b.Spent())
	b.Refill(100*ms, 1000, 0) // 100 bytes; the headers take 28 of them
	require.Equal(t, 72, b.Left())
	b.Refill(time.Hour, 1000, 0)
	require.Equal(t, minPace-PacketOverhead, b.Left(), "a low rate saves up a small packet")
	b.Refill(2*time.Hour, 100_000, 20*ms)
	require.Equal(t, 2500, b.Left(), "after a break the bound is less")
	b.Borrow(100)
	require.False(t, b.MayBorrow(), "both buckets lent")
	b.Pace(-1)
	require.False(t, b.Paced(), "no rate")
	require.Equal(t, 2600, b.Left())
}

// A bound after a time without one begins with what a quarter of a second may save, at most: nothing was taken out meanwhile.
func TestABoundAfterATimeWithoutOne(t *testing.T) {
	for _, unlimited := range []int{-1, -1 << 30} {
		b := NewBudget(unlimited, 0)
		for s := range time.Duration(100) {
			b.Refill(s*time.Second, -1, 0)
		}
		b.SetBound(4800)
		require.Equal(t, 2400, b.Left())
	}
}
