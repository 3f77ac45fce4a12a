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
	b.Refill(10 * ms)
	require.False(t, b.Spent())
	b.Take(101)
	require.True(t, b.Spent(), "below zero by a packet at most")
	b.Refill(20 * ms)
	require.False(t, b.Spent())
	b.Refill(time.Hour)
	b.Take(2499)
	require.False(t, b.Spent())
	b.Take(1)
	require.True(t, b.Spent())

	b = NewBudget(0, 0)
	require.False(t, b.Spent(), "the lowest rate still sends two packets")
	b.Take(2400)
	require.True(t, b.Spent())
	b.Refill(time.Hour)
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
			b.Refill(now)
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
