package peer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

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
