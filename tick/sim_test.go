package tick_test

import (
	"slices"
	"testing"
	"time"
)

func TestExplore(t *testing.T) {
	for _, l := range []link{{delay: 50 * ms, jitter: 30 * ms, loss: .05}, {delay: 20 * ms, jitter: 60 * ms, loss: .05}} {
		for _, rate := range []int{20, 30, 60} {
			for _, d := range []float64{0, 0.05} {
				worst, sum, over, n, starved := 1.0, 0.0, 0.0, 0.0, 0.0
				for seed := range uint64(12) {
					sc := both(seed, l)
					sc.rate = rate
					sc.drift = d
					w := newWorld(t, sc).run(70 * time.Second)
					f := w.inputs(10*time.Second, 69*time.Second)
					slices.Sort(w.delays)
					worst = min(worst, f.inTime)
					sum += f.inTime
					over += f.lead - f.need
					n++
					starved += float64(w.starved) / float64(w.frames)
				}
				t.Logf("%v %v %d d=%v worst %.4f mean %.4f over %.2f starved %.4f", l.jitter, l.loss, rate, d, worst, sum/n, over/n, starved/n)
			}
		}
	}
}
