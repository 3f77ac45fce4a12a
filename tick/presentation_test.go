package tick_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/tick"
)

func TestPresentationBeforeAnythingArrived(t *testing.T) {
	p := tick.NewPresentation(tick.PresentationConfig{})
	require.Equal(t, tick.Time{}, p.At(time.Second))
	require.Zero(t, p.Delay())
	require.Equal(t, tick.None, p.Newest())
	p.Arrive(0, time.Second)
	p.Arrive(-5, time.Second)
	require.Equal(t, tick.Time{}, p.At(time.Second), "no tick, no arrival")
	p.Arrive(1, time.Second)
	require.Equal(t, tick.Time{}, p.At(time.Second), "what is shown starts two ticks behind, but not before the beginning")
	require.Equal(t, tick.OneTick, p.Delay())
}

// On a link without jitter the delay is the interval between arrivals.
func TestPresentationDelayIsTheSendInterval(t *testing.T) {
	for _, interval := range []int{1, 2, 3, 6} {
		p := tick.NewPresentation(tick.PresentationConfig{Rate: 60})
		worst := tick.Span(0)
		for frame := range 3000 {
			now := time.Duration(frame) * time.Second / 240
			if frame%(4*interval) == 0 {
				p.Arrive(tick.Tick(100+frame/4), now)
			}
			at := p.At(now)
			if frame > 1500 {
				worst = max(worst, at.Sub(p.Newest().Begin()))
				require.InDelta(t, float64(interval), p.Delay().Float(), 0.5)
			}
		}
		require.LessOrEqual(t, worst, tick.OneTick/8, "never far past the newest tick")
	}
}

// Without arrivals the shown moment runs on for Ahead and stands still. With the next arrivals it continues from there.
func TestPresentationStandsStill(t *testing.T) {
	p := tick.NewPresentation(tick.PresentationConfig{Rate: 10, Ahead: 300 * ms})
	now := time.Duration(0)
	for n := range tick.Tick(50) {
		now += 100 * ms
		p.Arrive(1000+n, now)
		p.At(now)
	}
	var at tick.Time
	for range 100 {
		now += 30 * ms
		at = p.At(now)
	}
	require.Equal(t, tick.Tick(1049).Begin().Add(3*tick.OneTick), at)
	p.Arrive(1050, now) // The server has slept too.
	for range 20 {
		now += 10 * ms
		require.Equal(t, at, p.At(now))
	}
	for n := range tick.Tick(50) {
		now += 100 * ms
		p.Arrive(1051+n, now)
		p.At(now)
	}
	require.InDelta(t, 1, p.Delay().Float(), 1.1)
}

// The shown moment jumps to a server far ahead. It catches up with one a little ahead, at 5 % at most.
func TestPresentationCatchesUp(t *testing.T) {
	for _, ahead := range []tick.Tick{4, 100, 1 << 33} {
		p := tick.NewPresentation(tick.PresentationConfig{Rate: 10})
		now := time.Duration(0)
		for n := range tick.Tick(30) {
			now += 100 * ms
			p.Arrive(1000+n, now)
			p.At(now)
		}
		for n := range tick.Tick(200) {
			now += 100 * ms
			before := p.At(now - 1)
			p.Arrive(1030+ahead+n, now)
			speed := p.At(now + 99*ms).Sub(before).Float()
			if ahead == 4 && n > 20 {
				require.LessOrEqual(t, speed, 1.08)
			}
		}
		require.InDelta(t, 1, p.Delay().Float(), 1.1, "%d ahead", ahead)
	}
}

// TestPresentationNeverGoesBack simulates any behaviour of a network and a clock. The shown moment never goes back, nor
// beyond Ahead of the newest tick. Later honest arrivals are shown soon.
func TestPresentationNeverGoesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.OneOf(rapid.Just(-1), rapid.IntRange(5, 60)).Draw(t, "rate")
		p := tick.NewPresentation(tick.PresentationConfig{Rate: rate})
		if rate < 1 {
			rate = 30
		}
		anyTime := rapid.OneOf(rapid.Int64Range(0, int64(time.Minute)), rapid.Int64())
		now, at, newest := time.Duration(0), tick.Time{}, tick.Tick(0)
		show := func() {
			shown := p.At(now)
			require.False(t, shown.Before(at), "from %v to %v", at, shown)
			limit := newest.Begin().Add(tick.SpanOf(250*ms, rate))
			require.False(t, shown.After(limit) && shown.After(at), "%v is beyond %v", shown, limit)
			at = shown
		}
		for range rapid.IntRange(0, 150).Draw(t, "operations") {
			now += time.Duration(rapid.Int64Range(0, int64(100*ms)).Draw(t, "passed"))
			switch rapid.IntRange(0, 6).Draw(t, "operation") {
			case 0:
				now = time.Duration(anyTime.Draw(t, "now"))
			case 1:
				newest = max(newest, newest+tick.Tick(rapid.Int64Range(-100, 10000).Draw(t, "far")))
				p.Arrive(newest, now)
			case 2:
				p.Arrive(newest-tick.Tick(rapid.Int64Range(0, 100).Draw(t, "old")), now)
			case 3, 4:
				newest++
				p.Arrive(newest, now)
			default:
				show()
			}
		}
		now = time.Hour
		newest += 2 * tick.Tick(rate)
		for range 20 * rate {
			newest++
			now += time.Second / time.Duration(rate)
			p.Arrive(newest, now)
			show()
		}
		require.InDelta(t, 1, newest.Begin().Sub(at).Float(), 1.5)
	})
}

func TestPresentationAllocatesNothing(t *testing.T) {
	p, now, server := tick.NewPresentation(tick.PresentationConfig{}), time.Duration(0), tick.Tick(0)
	alloctest.Zero(t, 2000, func() {
		now += time.Second / 30
		server++
		p.Arrive(server, now)
		p.At(now)
		p.Delay()
	})
	require.Positive(t, p.At(now).Tick)
}

// The shown moment is between two received versions, and advances evenly.
func ExamplePresentation() {
	show := tick.NewPresentation(tick.PresentationConfig{Rate: 20})
	versions := map[tick.Tick]float64{} // A value as of each received tick.
	for frame := range 400 {
		now := time.Duration(frame) * 10 * time.Millisecond
		if frame%5 == 0 {
			arrived := tick.Tick(100 + frame/5)
			versions[arrived] = float64(arrived) * 2
			show.Arrive(arrived, now)
		}
		at := show.At(now)
		if frame < 396 {
			continue
		}
		weight := at.Along(at.Tick, at.Tick+1).Float()
		value := versions[at.Tick]*(1-weight) + versions[at.Tick+1]*weight
		fmt.Printf("newest %d, shown %d + %.1f: %.1f\n", show.Newest(), at.Tick, weight, value)
	}
	// Output:
	// newest 179, shown 178 + 0.3: 356.7
	// newest 179, shown 178 + 0.5: 357.1
	// newest 179, shown 178 + 0.8: 357.5
	// newest 179, shown 178 + 1.0: 357.9
}
