package load

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Seconds above the bound end a run when there are three in a row; seconds without figures do not count; the answer is the most bots in a
// second before.
func TestTheBoundOfTheTicks(t *testing.T) {
	for _, work := range []bool{false, true} {
		r, over := Report{Bound: 5, ByWork: work}, 0
		for i, took := range []time.Duration{1, 9, 1, 9, 9, 0, 9} {
			s := Sample{Connected: 10 * (i + 1), Ticks: TickTimes{P50: 1, P99: took, Processor: 99}}
			if work {
				s.Ticks.P99, s.Ticks.Processor = 99, took
			}
			if took == 0 {
				s.Ticks = TickTimes{}
			}
			if r.add(&s) && over == 0 {
				over = i + 1
			}
		}
		require.Equal(t, 7, over)
		require.True(t, r.Full)
		require.Equal(t, 30, r.Holds, "by work: %v", work)
	}
}
