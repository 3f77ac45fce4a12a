package congestion

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Jitter and loss at random are no queue: a sender has its bound on a line that takes far more, also where it had little to send for
// some time before. The lines of the second case are not for tuning.
func TestJitterIsNoQueueOfAWideLine(t *testing.T) {
	for _, c := range []struct {
		name    string
		seed    uint64
		bounds  []int // KiB/s
		rtt     time.Duration
		jitters []time.Duration
	}{
		{"tuned", 40, []int{64, 256}, 80 * ms, []time.Duration{15 * ms, 16 * ms}},
		{"held out", 700, []int{48, 160}, 80 * ms, []time.Duration{14 * ms, 18 * ms}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sum, least, n := 0.0, 1.0, 0.0
			step := uint64(7) // Has no factor in common with the numbers of the cases.
			if *heavy {
				step = 1
			}
			for i := uint64(0); i < 144; i += step {
				s := scene{hz: 60, rates: []int64{4096}, each: 60 * time.Second, flows: 1, delay: c.rtt, loss: []float64{0, .2, .4}[i/2%3],
					jitter: c.jitters[i/6%2], inOrder: i/12%2 == 0, slow: i/72 == 1, demand: []int64{0, 20 << 10, 6 << 10}[i/48], demandUntil: 12 * time.Second, warm: 12 * time.Second}
				bound := c.bounds[i/24%2] << 10
				o := s.play(c.seed+i%8, func(interval time.Duration) control { c := New(bound, interval); return &c })
				got := o.goodput * 4096 * 1024 / float64(bound) / (1 - s.loss)
				sum, least, n = sum+got, min(least, got), n+1
			}
			t.Logf("mean %.3f, least %.3f of the bound", sum/n, least)
			require.Greater(t, sum/n, .93)
			require.Greater(t, least, .6)
		})
	}
}
