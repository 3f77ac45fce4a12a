package tick_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/tick"
)

func TestSyncBeforeAnythingIsKnown(t *testing.T) {
	s := tick.NewSync(50, 0)
	require.Zero(t, s.Advance(time.Second))
	require.Equal(t, tick.None, s.Tick())
	require.Equal(t, tick.Time{}, s.Server(time.Second))
	require.Zero(t, s.Lead())
	num, den := s.Factor()
	require.Equal(t, num, den)
	s.Feedback(5, 0) // For an input that was never sent.
	s.Sample(0, time.Second)
	s.Sample(-7, time.Second)
	require.Equal(t, tick.Time{}, s.Server(time.Second), "no tick, no sample")
	s.Sample(100, time.Second)
	require.Zero(t, s.Advance(time.Second), "no round trip yet")
	s.RTT(40*ms, 0)
	require.Equal(t, 1, s.Advance(time.Second))
	require.Equal(t, tick.Tick(103), s.Tick(), "two ticks of round trip, one ahead, half of one as slack")
	require.Equal(t, tick.Tick(101), s.Server(time.Second).Tick, "half of the round trip")
	require.Equal(t, s.Input().Sub(tick.Tick(100).Begin()), s.Lead())
}

// The least delayed sample counts: late and reordered samples change nothing.
func TestSyncTrustsTheLeastDelayedSample(t *testing.T) {
	s := tick.NewSync(100, 0)
	s.RTT(0, 0)
	s.Sample(100, time.Second)
	s.Sample(101, time.Second+60*ms) // 50 ms late.
	s.Sample(99, time.Second+70*ms)  // An old tick.
	require.Equal(t, tick.Tick(107), s.Server(time.Second+70*ms).Tick)
	s.Sample(110, time.Second+80*ms) // 20 ms less delayed than the first.
	require.Equal(t, tick.Tick(110), s.Server(time.Second+80*ms).Tick)
}

// One late report is an outlier among many; two are not.
func TestSyncFollowsFeedback(t *testing.T) {
	s := tick.NewSync(100, 0)
	now := time.Duration(0)
	s.RTT(50*ms, 0)
	step := func(early tick.Span) {
		now += 10 * ms
		s.Sample(1000+tick.Tick(now/(10*ms)), now)
		s.Advance(now)
		s.Feedback(s.Tick(), early)
	}
	for range 300 {
		step(tick.OneTick)
	}
	lead := s.Lead()
	require.InDelta(t, 6, lead.Float(), 0.1, "half a tick too early: the lead, which was 6.5, shrinks by that")
	need := lead - tick.OneTick
	for range 300 {
		step(s.Lead() - need)
	}
	lead = s.Lead()
	step(lead - need - 10*tick.OneTick)
	for range 20 {
		step(s.Lead() - need)
	}
	require.InDelta(t, lead.Float(), s.Lead().Float(), 0.2, "one is late: an outlier")
	step(lead - need - 10*tick.OneTick)
	for range 250 {
		step(s.Lead() - need)
	}
	require.InDelta(t, lead.Float()+10, s.Lead().Float(), 1.5, "a second one: that is the network")
}

// A local clock that goes back starts the measurement again. Reports about inputs then count at once.
func TestSyncFollowsFeedbackAfterItsClockGoesBack(t *testing.T) {
	s := tick.NewSync(100, 0)
	s.RTT(0, 0)
	run := func(from time.Duration, server tick.Tick, needed tick.Span) {
		for i := range 1000 {
			now := from + time.Duration(i)*10*ms
			s.Sample(server+tick.Tick(i), now)
			s.Advance(now)
			s.Feedback(s.Tick(), tick.Early(s.Tick(), server+tick.Tick(i))-needed)
		}
	}
	run(time.Minute, 1000, 0)
	before := s.Lead()
	run(time.Second, 2000, 20*tick.OneTick)
	require.InDelta(t, before.Float()+20, s.Lead().Float(), 1)
}

// A loop that scales its time by Factor runs one step in each frame at any drift.
func TestSyncNudgesTheLoop(t *testing.T) {
	for name, nudge := range map[string]func(*world, time.Duration) time.Duration{
		"factor": func(w *world, _ time.Duration) time.Duration {
			num, den := w.sync.Factor()
			return w.nextFrame + time.Duration(int64(time.Second)/int64(w.rate)*den/num)
		},
	} {
		for _, drift := range []float64{0, 0.03, -0.03} {
			t.Run(fmt.Sprintf("%s/%v", name, drift), func(t *testing.T) {
				s := both(11, link{delay: 40 * ms, jitter: 30 * ms, loss: 0.05})
				s.drift, s.nudge = drift, nudge
				one, other := 0, 0
				s.watch = func(now time.Duration, w *world) {
					switch {
					case now < 10*time.Second:
					case w.steps == 1:
						one++
					default:
						other++
					}
				}
				f := newWorld(t, s).run(70*time.Second).sound().inputs(10*time.Second, 69*time.Second)
				t.Logf("%d frames with one step, %d with another number; in time %.4f", one, other, f.inTime)
				require.Greater(t, one, 1700)
				require.LessOrEqual(t, other, one/20)
				require.GreaterOrEqual(t, f.inTime, 0.995)
			})
		}
	}
}

// TestSyncSurvivesAnything passes nonsense of all kinds. Nothing panics, no frame gets too many steps, and later honest
// values bring the clock back.
func TestSyncSurvivesAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.OneOf(rapid.Just(-1), rapid.IntRange(5, 60)).Draw(t, "rate")
		s := tick.NewSync(rate, 3)
		anyTime := rapid.OneOf(rapid.Int64Range(0, int64(time.Minute)), rapid.Int64())
		anyTick := rapid.OneOf(rapid.Int64Range(-10, 5000), rapid.Int64Range(math.MinInt64/4, math.MaxInt64/4))
		now := time.Duration(0)
		for range rapid.IntRange(0, 100).Draw(t, "operations") {
			now += time.Duration(rapid.Int64Range(0, int64(100*ms)).Draw(t, "passed"))
			switch rapid.IntRange(0, 5).Draw(t, "operation") {
			case 0:
				s.Sample(tick.Tick(anyTick.Draw(t, "tick")), now)
			case 1:
				s.RTT(time.Duration(anyTime.Draw(t, "rtt")), time.Duration(anyTime.Draw(t, "jitter")))
			case 2:
				s.Feedback(s.Tick()-tick.Tick(rapid.Int64Range(-2, 5).Draw(t, "back")), tick.Span(rapid.Int64().Draw(t, "early")))
			case 3:
				s.Feedback(tick.Tick(rapid.Int64().Draw(t, "input")), tick.Span(rapid.Int64().Draw(t, "early")))
			case 4:
				now = time.Duration(anyTime.Draw(t, "now"))
			default:
				require.LessOrEqual(t, s.Advance(now), 3)
				s.Server(now)
				num, den := s.Factor()
				require.InDelta(t, 1, float64(num)/float64(den), 0.12)
			}
		}
		now = time.Hour
		honest := max(rate, 1)
		if rate < 1 {
			honest = 30
		}
		for i := range 25 * honest {
			at := now + time.Duration(i)*time.Second/time.Duration(honest)
			s.Sample(tick.Tick(5000+i), at)
			s.RTT(0, 0)
			if s.Advance(at) > 0 {
				s.Feedback(s.Tick(), tick.Early(s.Tick(), tick.Tick(5000+i)))
			}
		}
		last := tick.Tick(5000 + 25*honest - 1)
		require.InDelta(t, 2.5, (s.Tick() - last).Begin().Sub(tick.Time{}).Float(), 2.5+float64(honest)*0.02)
	})
}

func TestSyncAllocatesNothing(t *testing.T) {
	s, now, server := tick.NewSync(0, 0), time.Duration(0), tick.Tick(0)
	alloctest.Zero(t, 2000, func() {
		now += time.Second / 30
		server++
		s.Sample(server, now)
		s.RTT(30*ms, 5*ms)
		s.Advance(now)
		s.Feedback(s.Tick(), tick.OneTick)
		s.Server(now)
	})
	require.Positive(t, s.Tick())
}

// The loop is not netcode's and has a fixed speed: it calls Advance once a frame and steps by hand.
func ExampleSync_Advance() {
	sync := tick.NewSync(20, 0)
	sync.RTT(100*time.Millisecond, 0)
	for frame := range 6 { // 60 frames per second.
		now := time.Duration(frame) * time.Second / 60
		if frame%3 == 0 {
			sync.Sample(tick.Tick(100+frame/3), now)
		}
		steps := sync.Advance(now)
		for step := range steps {
			fmt.Println("frame", frame, "simulates and sends the input of tick", sync.Tick()-tick.Tick(steps-1-step))
		}
	}
	// Output:
	// frame 0 simulates and sends the input of tick 103
	// frame 2 simulates and sends the input of tick 104
	// frame 5 simulates and sends the input of tick 105
}

// The loop has its own frame rate, and runs a little faster or slower.
func ExampleSync_Factor() {
	sync := tick.NewSync(20, 0)
	sync.RTT(100*time.Millisecond, 0)
	sync.Sample(100, 0)
	sync.Advance(0)
	num, den := sync.Factor()
	fmt.Println(time.Second / 60 * time.Duration(den) / time.Duration(num))
	// Output: 16.666666ms
}
