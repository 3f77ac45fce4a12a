package tick_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
)

func TestFrameLeavesStallsOut(t *testing.T) {
	const second = time.Second
	for name, row := range map[string]struct {
		given  []time.Duration // Of each frame.
		now    time.Duration   // In the last frame.
		stalls []time.Duration
	}{
		"the first frame is no stall":      {[]time.Duration{90 * second}, 90 * second, []time.Duration{0}},
		"a second is none either":          {[]time.Duration{second, 2 * second}, 2 * second, []time.Duration{0, 0}},
		"what is beyond a second is one":   {[]time.Duration{second, 5 * second}, 5 * second, []time.Duration{0, 3 * second}},
		"a clock that is set back is none": {[]time.Duration{9 * second, second, 2 * second}, 10 * second, []time.Duration{0, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			f := tick.Frame{Clock: tick.NewClock(30, 4)}
			for i, given := range row.given {
				require.Equal(t, row.stalls[i], f.Begin(given), "frame %d", i)
			}
			require.Equal(t, row.now, f.Now)
		})
	}
}

func TestFrameCountsItsTicks(t *testing.T) {
	f := tick.Frame{Clock: tick.NewClock(10, 4)}
	var steps []int
	for _, ms := range []time.Duration{0, 50, 100, 350, 360, 2000} {
		f.Begin(ms * time.Millisecond)
		require.Equal(t, f.Steps > 0, f.Due)
		steps = append(steps, f.Steps)
	}
	require.Equal(t, []int{1, 0, 1, 2, 0, 4}, steps, "after the stall no more than CatchUp")
}

func TestFrameAfterNeverOverflows(t *testing.T) {
	f := tick.Frame{Now: time.Hour}
	require.Equal(t, 2*time.Hour, f.After(time.Hour))
	require.Equal(t, time.Duration(math.MaxInt64), f.After(math.MaxInt64))
	require.Equal(t, time.Duration(0), f.After(-time.Hour))
}
