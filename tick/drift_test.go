package tick

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestLineModel compares the extreme of a line with sorted newest points.
func TestLineModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(recentPoints, 40).Draw(t, "size") // Mostly not powers of two.
		outliers := rapid.IntRange(0, outliersKept).Draw(t, "outliers")
		sign := rapid.SampledFrom([]Span{1, -1}).Draw(t, "sign")
		pace := pace{rate: 100, skew: Span(rapid.Int64Range(int64(-maxSkew), int64(maxSkew)).Draw(t, "skew"))}
		start := rapid.SampledFrom([]Tick{1000, 1<<31 - 100, 1<<32 - 100}).Draw(t, "start")
		l := newLine(size)
		now := time.Duration(0)
		var points []point
		for range rapid.IntRange(1, 100).Draw(t, "points") {
			now += time.Duration(rapid.Int64Range(0, int64(20*time.Millisecond)).Draw(t, "passed"))
			off := Span(rapid.Int64Range(-4*int64(OneTick), 4*int64(OneTick)).Draw(t, "off"))
			p := point{now, start.Begin().Add(SpanOf(now, 100) + off)}
			l.add(p)
			points = append(points, p)
			points = points[max(len(points)-size, 0):]
			values := make([]Span, 0, size)
			for _, p := range points {
				values = append(values, sign*p.when(now, pace).Sub(start.Begin()))
			}
			slices.Sort(values)
			slices.Reverse(values)
			want := start.Begin().Add(sign * values[min(outliers, len(values)-1)])
			switch rapid.IntRange(0, 11).Draw(t, "event") {
			case 0, 1, 2, 3:
				continue // Several points are added before the next extreme.
			case 4:
				pace.skew = Span(rapid.Int64Range(int64(-maxSkew), int64(maxSkew)).Draw(t, "new skew"))
				continue
			}
			got := l.extreme(now, pace, sign, outliers, 1<<60)
			require.Equal(t, now, got.at)
			require.LessOrEqual(t, magnitude(int64(got.time.Sub(want))), uint64(16), "points that lie as close as the rounding of 2^-32 ticks count as equal")
		}
	})
}

// If all recent points contradict the older ones, the older ones are dropped. One point fewer is not enough.
func TestLineForgets(t *testing.T) {
	pace := pace{rate: 100}
	for _, sign := range []Span{1, -1} {
		l := newLine(40)
		at := func(off Span) Time { return Tick(1000).Begin().Add(sign * off) }
		for range 40 {
			l.add(point{0, at(0)})
		}
		for range recentPoints - 1 {
			l.add(point{0, at(-10 * OneTick)})
			require.Equal(t, at(0), l.extreme(0, pace, sign, 1, 9*OneTick).time)
		}
		l.add(point{0, at(-10 * OneTick)})
		require.Equal(t, at(0), l.extreme(0, pace, sign, 1, 10*OneTick).time, "not by more than the threshold")
		require.Equal(t, at(-10*OneTick), l.extreme(0, pace, sign, 1, 9*OneTick).time)
		require.Equal(t, at(-10*OneTick), l.extreme(0, pace, sign, 1, 20*OneTick).time, "forgotten for good")
		require.Equal(t, recentPoints, l.filled)
	}
}

// The drift is measured to a third of a percent under jitter of a tick. Steps of the remote clock do not count as drift.
func TestDrift(t *testing.T) {
	const rate = 30
	for _, skew := range []float64{0, 0.0005, 0.01, -0.01, 0.05, -0.05, 0.2} {
		for seed := range uint64(5) {
			random := rand.New(rand.NewPCG(seed, 3))
			var d drift
			pace, worst := pace{rate: rate}, 0.0
			for i := range 20 * rate {
				remote := time.Duration(i) * time.Second / rate
				now := time.Duration(float64(remote)/(1+skew)) + time.Duration(random.Int64N(int64(30*time.Millisecond)))
				p := point{now, Tick(1 + i).Begin()}
				if i > 10*rate && i < 15*rate {
					p.time = p.time.Add(-OneTick / 2) // The delay grows by half a tick for a while.
				}
				pace, _ = d.add(p, pace)
				if i > 6*rate {
					worst = max(worst, max(pace.skew.Float()-skew, skew-pace.skew.Float()))
				}
			}
			if skew > 0.1 {
				require.LessOrEqual(t, pace.skew, maxSkew, "no clock is that wrong")
				continue
			}
			require.LessOrEqual(t, worst, 0.0035, "seed %d, skew %v", seed, skew)
		}
	}
}

// Steps of the remote clock do not change the drift.
func TestDriftIgnoresSteps(t *testing.T) {
	var d drift
	pace := pace{rate: 30}
	for i := range 600 {
		n := Tick(1000 + i)
		if i > 300 {
			n -= 90
		}
		pace, _ = d.add(point{time.Duration(i) * time.Second / 30, n.Begin()}, pace)
		require.InDelta(t, 0, pace.skew.Float(), 0.002, "after %d samples", i)
	}
}

func TestSaturation(t *testing.T) {
	const lowest, highest = -1 << 63, 1<<63 - 1
	for _, c := range []struct{ a, b, sum, difference int64 }{
		{1, 2, 3, 1},
		{-1, 2, 1, 3},
		{highest, 1, highest, lowest + 2},
		{lowest, -1, lowest, highest},
		{lowest, highest, -1, highest},
		{highest, lowest, -1, lowest},
		{0, lowest, lowest, lowest},
		{lowest, 0, lowest, highest},
		{lowest, lowest, lowest, 0},
	} {
		require.Equal(t, Span(c.sum), add(Span(c.a), Span(c.b)), "%d + %d", c.a, c.b)
		require.Equal(t, time.Duration(c.difference), since(time.Duration(c.a), time.Duration(c.b)), "from %d to %d", c.a, c.b)
	}
}
