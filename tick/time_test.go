package tick_test

import (
	"fmt"
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/tick"
)

// fixed returns a moment as a number of 2^-32 ticks.
func fixed(t tick.Time) *big.Int {
	n := new(big.Int).Lsh(big.NewInt(int64(t.Tick)), 32)
	return n.Add(n, big.NewInt(int64(t.Fraction)))
}

// clamped returns n as a Span, saturated.
func clamped(n *big.Int) tick.Span {
	switch {
	case n.IsInt64():
		return tick.Span(n.Int64())
	case n.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// near allows a difference of one unit at the lowest span, which can be negated.
func near(t require.TestingT, want, got tick.Span) {
	if want == math.MinInt64 {
		want++
	}
	if got == math.MinInt64 {
		got++
	}
	require.Equal(t, want, got)
}

func drawTime(t *rapid.T, label string) tick.Time {
	around := rapid.SampledFrom([]int64{0, 1 << 31, 1 << 32, 1 << 40, 1 << 60}).Draw(t, label+" around")
	return tick.Time{
		Tick:     tick.Tick(around + rapid.Int64Range(-200, 200).Draw(t, label)),
		Fraction: rapid.Uint32().Draw(t, label+" fraction"),
	}
}

// TestTimeModel compares all arithmetic with unbounded numbers.
func TestTimeModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawTime(t, "a"), drawTime(t, "b")
		s := tick.Span(rapid.Int64().Draw(t, "span"))
		part := tick.Span(rapid.Int64Range(-1<<34, 1<<34).Draw(t, "part"))

		sum := new(big.Int).Add(fixed(a), big.NewInt(int64(s)))
		require.Zero(t, sum.Cmp(fixed(a.Add(s))), "add")
		difference := new(big.Int).Sub(fixed(a), fixed(b))
		require.Equal(t, clamped(difference), a.Sub(b), "sub")
		require.Equal(t, fixed(a).Cmp(fixed(b)), a.Compare(b))
		require.Equal(t, a.Compare(b) < 0, a.Before(b))
		require.Equal(t, a.Compare(b) > 0, a.After(b))

		scaled := new(big.Int).Mul(big.NewInt(int64(s)), big.NewInt(int64(part)))
		near(t, clamped(scaled.Quo(scaled, big.NewInt(int64(tick.OneTick)))), s.Of(part))

		rate := rapid.IntRange(1, 1000).Draw(t, "rate")
		d := rapid.Int64().Draw(t, "duration")
		span := new(big.Int).Mul(big.NewInt(d), big.NewInt(int64(rate)<<32))
		near(t, clamped(span.Quo(span, big.NewInt(int64(time.Second)))), tick.SpanOf(time.Duration(d), rate))
		back := new(big.Int).Mul(big.NewInt(int64(s)), big.NewInt(int64(time.Second)))
		near(t, clamped(back.Quo(back, big.NewInt(int64(rate)<<32))), tick.Span(s.Duration(rate)))
	})
}

func TestTimeBetweenTwoVersions(t *testing.T) {
	at := func(n tick.Tick, fraction uint32) tick.Time { return tick.Time{Tick: n, Fraction: fraction} }
	const half = 1 << 31
	for _, c := range []struct {
		at       tick.Time
		from, to tick.Tick
		want     tick.Span
	}{
		{at(10, 0), 10, 12, 0},
		{at(11, 0), 10, 12, tick.OneTick / 2},
		{at(11, half), 10, 12, tick.OneTick * 3 / 4},
		{at(12, 0), 10, 12, tick.OneTick},
		{at(13, 0), 10, 12, tick.OneTick * 3 / 2},
		{at(9, 0), 10, 12, -tick.OneTick / 2},
		{at(9, half), 10, 10, 0},
		{at(10, 0), 10, 10, tick.OneTick},
		{at(10, 0), 12, 10, tick.OneTick},
		{at(1<<40, half), 1 << 40, 1<<40 + 1, half},
		{at(1<<40, 0), 1, 1<<40 + 1, tick.OneTick}, // Farther apart than the range of a span.
	} {
		require.Equal(t, c.want, c.at.Along(c.from, c.to), "%v between %d and %d", c.at, c.from, c.to)
	}
	require.InDelta(t, 1.5, (tick.OneTick * 3 / 2).Float(), 0)
	require.Equal(t, tick.Span(math.MaxInt64), tick.Ticks(1<<31))
	require.Equal(t, -3*tick.OneTick, tick.Ticks(-3))
	require.Equal(t, tick.OneTick/2, tick.SpanOf(500*ms, 0), "a rate below 1 is 1")
	require.Equal(t, 500*ms, (tick.OneTick / 2).Duration(-5))
}

// A part of the way is the inverse of Along, to one unit per tick of the way.
func TestAlong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := drawTime(t, "from").Tick
		way := rapid.Int64Range(1, 100).Draw(t, "way")
		to := from + tick.Tick(way)
		at := from.Begin().Add(tick.Span(rapid.Int64Range(-1<<36, 1<<40).Draw(t, "at")))
		off := from.Begin().Add(tick.Ticks(tick.Tick(way)).Of(at.Along(from, to))).Sub(at)
		require.LessOrEqual(t, max(off, -off), tick.Span(way))
	})
}

// Spans and moments are printed as ticks everywhere: alone, in structs and in errors.
func TestSpansAndMomentsReadAsTicks(t *testing.T) {
	for want, s := range map[string]tick.Span{
		"0 ticks": 0, "1 tick": tick.OneTick, "-1 tick": -tick.OneTick, "1.5 ticks": tick.OneTick * 3 / 2, "-0.25 ticks": -tick.OneTick / 4,
		"0.999 ticks": tick.OneTick - 1, "0.062 ticks": tick.OneTick / 16, "-2147483648 ticks": math.MinInt64, "2147483647.999 ticks": math.MaxInt64,
	} {
		require.Equal(t, want, s.String())
		require.Equal(t, want, fmt.Sprint(s))
	}
	require.Equal(t, "0 ticks", tick.Span(-1).String())
	for want, at := range map[string]tick.Time{
		"tick 0": {}, "tick 120.25": {Tick: 120, Fraction: 1 << 30}, "tick 120.999": {Tick: 120, Fraction: math.MaxUint32},
		"tick -1": {Tick: -1}, "tick -0.75": {Tick: -1, Fraction: 1 << 30}, "tick 9223372036854775807": {Tick: math.MaxInt64},
		"tick -9223372036854775808": {Tick: math.MinInt64}, "tick -9223372036854775807.5": {Tick: math.MinInt64, Fraction: 1 << 31},
	} {
		require.Equal(t, want, at.String())
	}
	shown := struct {
		At    tick.Time
		Delay tick.Span
	}{tick.Time{Tick: 7, Fraction: 1 << 31}, 2 * tick.OneTick}
	require.Equal(t, "{At:tick 7.5 Delay:2 ticks}", fmt.Sprintf("%+v", shown))
	require.Equal(t, "late by 2 ticks at tick 7.5", fmt.Errorf("late by %v at %v", shown.Delay, shown.At).Error())
}
