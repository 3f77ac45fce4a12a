package tick_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
)

// After slips, clocks know as much as clocks whose server always had the ticks of after the last slip.
func TestClocksAfterSlips(t *testing.T) {
	for _, n := range []tick.Tick{4, 9, 20, 60} {
		t.Run(fmt.Sprint(n, " ticks"), func(t *testing.T) {
			random := rand.New(rand.NewPCG(37, uint64(n)))
			const begin, count = tick.Tick(2900), tick.Tick(4)
			shown, twinShown := tick.NewPresentation(tick.PresentationConfig{Rate: 60}), tick.NewPresentation(tick.PresentationConfig{Rate: 60})
			clock, twin := tick.NewSync(60, 0), tick.NewSync(60, 0)
			clock.RTT(50*ms, 5*ms)
			twin.RTT(50*ms, 5*ms)
			slipped, now := tick.Tick(0), time.Duration(0)
			for k := begin - 900; k < begin+1200; k++ { // k is the server's tick if it never slips, and the time in ticks.
				next := begin + 180*slipped/n // When the server goes on after the next slip.
				if slipped < count*n && k >= next-n && k < next {
					continue
				}
				now = max(now+1, time.Duration(k)*time.Second/60+time.Duration(random.ExpFloat64()*float64(8*ms)))
				slips := slipped < count*n && k == next
				if slips {
					slipped += n
				}
				shown.Arrive(k-slipped, now)
				twinShown.Arrive(k-count*n, now)
				clock.Sample(k-slipped, now)
				twin.Sample(k-count*n, now)
				if slips {
					shown.Slip(k-slipped, tick.Ticks(n))
					clock.Slip(k-slipped, tick.Ticks(n))
				}
				shown.At(now)
				twinShown.At(now)
				clock.Advance(now)
				twin.Advance(now)
				if slipped < count*n {
					continue
				}
				after := k - begin - 180*(count-1)
				require.InDelta(t, twin.Drift().Float(), clock.Drift().Float(), .0001, "the drift, %d ticks after", after)
				require.InDelta(t, 0, clock.Server(now).Sub(twin.Server(now)).Float(), .01, "the server's time, %d ticks after", after)
				if after > n+5 { // What is shown stood.
					require.Greater(t, shown.Delay().Float(), twinShown.Delay().Float()-.2, "the delay, %d ticks after", after)
				}
				if after > n+150 {
					require.InDelta(t, twinShown.Delay().Float(), shown.Delay().Float(), .2, "the delay, %d ticks after", after)
				}
			}
		})
	}
}
