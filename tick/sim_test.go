package tick_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/tick"
)

// sound checks the rules that hold in every scene.
func (w *world) sound() *world {
	require.Zero(w.t, w.wentBack, "presentation went back")
	require.LessOrEqual(w.t, w.worstStep, 4, "steps in one frame")
	return w
}

// tail returns the value that one in oneIn values exceeds.
func tail(values []float64, oneIn int) float64 {
	slices.Sort(values)
	return values[len(values)-1-len(values)/oneIn]
}

// Inputs are in time in at least 99.5 % of all ticks. The lead is at most 2 ticks longer than the best constant lead,
// chosen with knowledge of the whole run.
func TestInputsArriveInTime(t *testing.T) {
	for _, c := range []struct {
		name string
		link link
	}{
		{"a perfect link", link{}},
		{"no delay but jitter", link{jitter: 30 * ms}},
		{"5 % loss, 30 ms jitter", link{delay: 40 * ms, jitter: 30 * ms, loss: 0.05}},
		{"5 % loss, ±30 ms jitter", link{delay: 20 * ms, jitter: 60 * ms, loss: 0.05}},
		{"500 ms round trip", link{delay: 250 * ms, jitter: 10 * ms, loss: 0.01}},
	} {
		for _, rate := range []int{20, 30, 60} {
			t.Run(fmt.Sprintf("%s/%d Hz", c.name, rate), func(t *testing.T) {
				worst, inTime, over, most := 1.0, 0.0, 0.0, 0.0
				const seeds = 3
				for seed := range uint64(seeds) {
					s := both(seed, c.link)
					s.rate = rate
					f := newWorld(t, s).run(70*time.Second).sound().inputs(10*time.Second, 69*time.Second)
					worst = min(worst, f.inTime)
					inTime += f.inTime / seeds
					over += (f.lead - f.need) / seeds
					most = max(most, f.lead-f.need)
				}
				t.Logf("in time: %.4f, in the worst run %.4f; lead beyond the need: %.2f ticks, in the worst run %.2f", inTime, worst, over, most)
				require.GreaterOrEqual(t, worst, 0.995)
				require.LessOrEqual(t, most, 2.0)
			})
		}
	}
}

// Frames longer than a tick delay inputs. The lead compensates for that as for the network's delay.
func TestInputsOfSlowFramesArriveInTime(t *testing.T) {
	for _, drift := range []float64{0, 0.02, -0.02} {
		s := both(12, link{delay: 20 * ms, jitter: 10 * ms})
		s.rate, s.frame, s.drift = 60, time.Second/20, drift
		f := newWorld(t, s).run(60*time.Second).sound().inputs(20*time.Second, 59*time.Second)
		t.Logf("in time: %.4f; lead beyond the need: %.2f ticks", f.inTime, f.lead-f.need)
		require.GreaterOrEqual(t, f.inTime, 0.995)
		require.LessOrEqual(t, f.lead-f.need, 3.0+2, "three ticks a frame, and two")
	}
}

// A client with rare hitches sends the inputs of that moment late, and no other inputs earlier.
func TestHitchesDoNotLengthenTheLead(t *testing.T) {
	lead := func(hitch time.Duration) float64 {
		s := both(13, link{delay: 20 * ms, jitter: 10 * ms})
		s.asleep = func(now time.Duration) bool { return now%(2*time.Second) < hitch }
		return newWorld(t, s).run(60*time.Second).sound().inputs(20*time.Second, 59*time.Second).lead
	}
	smooth, stumbling := lead(0), lead(150*ms)
	t.Logf("lead: %.2f ticks, with a hitch of 150 ms every other second %.2f", smooth, stumbling)
	require.LessOrEqual(t, stumbling, smooth+0.2)
}

// The estimate of the server's tick is right to a tick and half of the jitter, which the round trip includes and the
// least delayed sample does not.
func TestServerTimeIsKnown(t *testing.T) {
	for _, l := range []link{{}, {delay: 30 * ms, jitter: 20 * ms, loss: 0.1}, {delay: 250 * ms}} {
		worst := 0.0
		s := both(1, l)
		s.watch = func(now time.Duration, w *world) {
			if now > 5*time.Second {
				began := w.begins[w.clock.Tick()]
				truth := w.clock.Tick().Begin().Add(tick.SpanOf(now-began, w.rate))
				worst = max(worst, math.Abs(w.sync.Server(w.local()).Sub(truth).Float()))
			}
		}
		w := newWorld(t, s).run(20 * time.Second).sound()
		allowed := 1 + (l.jitter/2).Seconds()*float64(w.rate)
		t.Logf("%v+%v: off by at most %.2f ticks", l.delay, l.jitter, worst)
		require.LessOrEqual(t, worst, allowed)
	}
}

// The delay of presentation is the least that the network allows: an interval on a perfect link, plus jitter and loss on
// others. It rarely runs past the newest tick, and then not far.
func TestPresentationDelayFitsTheNetwork(t *testing.T) {
	for _, c := range []struct {
		name string
		link link
		most float64 // The median delay behind the newest tick that could have arrived, in ticks.
	}{
		{"a perfect link", link{}, 1},
		{"30 ms jitter", link{delay: 40 * ms, jitter: 30 * ms}, 2},
		{"60 ms jitter", link{delay: 40 * ms, jitter: 60 * ms}, 3},
		{"10 % loss, 30 ms jitter", link{delay: 40 * ms, jitter: 30 * ms, loss: 0.1}, 3.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, both(3, c.link)).run(60 * time.Second).sound()
			var delays []float64
			for _, d := range w.delays[len(w.delays)/4:] {
				delays = append(delays, d.Float())
			}
			median, past := tail(delays, 2), float64(w.starved)/float64(w.frames)
			t.Logf("delay: median %.2f ticks; past the newest tick in %.2f %% of frames", median, past*100)
			require.LessOrEqual(t, median, c.most)
			require.LessOrEqual(t, past, 0.03)
			if len(w.past) > w.frames/100 {
				require.LessOrEqual(t, tail(w.past, max(100*len(w.past)/w.frames, 2)), 0.5)
			}
		})
	}
}

// Case 54: the client's clock runs 5 % faster or slower than the server's.
func TestCase54Drift(t *testing.T) {
	for _, drift := range []float64{0.05, -0.05, 0.01, -0.01} {
		t.Run(fmt.Sprintf("%+.0f %%", drift*100), func(t *testing.T) {
			s := both(4, link{delay: 40 * ms, jitter: 30 * ms, loss: 0.05})
			s.drift = drift
			w := newWorld(t, s).run(70 * time.Second).sound()
			f := w.inputs(10*time.Second, 69*time.Second)
			t.Logf("in time: %.4f; lead beyond the need: %.2f ticks; drift found: %+.4f", f.inTime, f.lead-f.need, w.sync.Drift().Float())
			require.GreaterOrEqual(t, f.inTime, 0.995)
			require.LessOrEqual(t, f.lead-f.need, 2.0)
			require.InDelta(t, 1/(1+drift)-1, w.sync.Drift().Float(), 0.004)
			require.LessOrEqual(t, w.sync.Jumps(), uint64(2))
		})
	}
}

// recovers runs a scene with a disturbance from 20 s on until a moment. Two seconds later everything is as before.
func recovers(t *testing.T, s scene, over time.Duration) *world {
	t.Helper()
	s.seed = 5
	if s.up.delay == 0 {
		s.up = link{delay: 40 * ms, jitter: 20 * ms, loss: 0.02, down: s.up.down}
		s.down = link{delay: 40 * ms, jitter: 20 * ms, loss: 0.02, down: s.down.down}
	}
	behind := 0.0
	watch := s.watch
	s.watch = func(now time.Duration, w *world) {
		if now > over+2*time.Second {
			behind = max(behind, (w.clock.Tick() - w.shown.Tick).Begin().Sub(tick.Time{}).Float())
		}
		if watch != nil {
			watch(now, w)
		}
	}
	w := newWorld(t, s).run(over + 40*time.Second).sound()
	before := w.inputs(10*time.Second, 19*time.Second)
	after := w.inputs(over+2*time.Second, over+39*time.Second)
	t.Logf("in time: %.4f before, %.4f after; lead: %.2f, %.2f; jumps %d, refused %d; shown at most %.0f ticks behind",
		before.inTime, after.inTime, before.lead, after.lead, w.sync.Jumps(), w.refused, behind)
	require.GreaterOrEqual(t, after.inTime, 0.99)
	require.InDelta(t, before.lead, after.lead, 2)
	require.LessOrEqual(t, behind, 12.0, "what is shown keeps up")
	return w
}

// Case 54: a client is suspended for 30 s, like a hidden tab; its network keeps or drops the packets meanwhile.
func TestCase54SuspendedClient(t *testing.T) {
	asleep := during(20*time.Second, 50*time.Second)
	t.Run("with all that came meanwhile", func(t *testing.T) {
		w := recovers(t, scene{asleep: asleep}, 50*time.Second)
		require.LessOrEqual(t, w.sync.Jumps(), uint64(2))
	})
	t.Run("with what fits into a buffer", func(t *testing.T) {
		recovers(t, scene{asleep: asleep, down: link{down: during(25*time.Second, 50*time.Second)}}, 50*time.Second)
	})
	t.Run("for two seconds", func(t *testing.T) {
		recovers(t, scene{asleep: during(20*time.Second, 22*time.Second)}, 22*time.Second)
	})
}

// Case 54: the client's clock jumps by an hour.
func TestCase54ClockJumps(t *testing.T) {
	for _, jump := range []time.Duration{time.Hour, -time.Hour, 10 * time.Second, -10 * time.Second, -50 * ms, 2 * time.Second} {
		t.Run(jump.String(), func(t *testing.T) {
			recovers(t, scene{jump: func(now time.Duration) time.Duration {
				if now < 20*time.Second {
					return 0
				}
				return jump
			}}, 20*time.Second)
			casebook.Injected(t, 1, "jumps of a clock")
		})
	}
}

// Case 54: the server is stopped, and its ticks slip. The client's tick goes back too.
func TestCase54ServerStopped(t *testing.T) {
	for _, long := range []time.Duration{10 * time.Second, 3 * time.Second, time.Second, 500 * ms} {
		t.Run(long.String(), func(t *testing.T) {
			over := 20*time.Second + long
			if long < 3*time.Second {
				over += 2 * time.Second // Only reports show it, and they must be many.
			}
			w := recovers(t, scene{stopped: during(20*time.Second, 20*time.Second+long)}, over)
			require.GreaterOrEqual(t, w.sync.Jumps(), uint64(1))
		})
	}
}

// Case 54: the link is down for a while. Afterwards everything continues as before.
func TestCase54LinkDown(t *testing.T) {
	for _, long := range []time.Duration{10 * time.Second, time.Second} {
		t.Run(long.String(), func(t *testing.T) {
			down := during(20*time.Second, 20*time.Second+long)
			w := recovers(t, scene{up: link{down: down}, down: link{down: down}}, 20*time.Second+long)
			require.Zero(t, w.sync.Jumps())
		})
	}
}

// Case 54: the server reports an ack delay longer than the round trip, or another nonsensical round trip. The reports of
// inputs alone give the lead.
func TestCase54NegativeAckDelay(t *testing.T) {
	for name, lie := range map[string]func(time.Duration) time.Duration{
		"negative": func(rtt time.Duration) time.Duration { return rtt - time.Second },
		"lowest":   func(time.Duration) time.Duration { return math.MinInt64 / 2 },
		"highest":  func(time.Duration) time.Duration { return math.MaxInt64 / 2 },
	} {
		t.Run(name, func(t *testing.T) {
			s := both(6, link{delay: 40 * ms, jitter: 30 * ms, loss: 0.05})
			s.lie = lie
			w := newWorld(t, s).run(70 * time.Second).sound()
			f := w.inputs(10*time.Second, 69*time.Second)
			require.GreaterOrEqual(t, f.inTime, 0.995)
			require.LessOrEqual(t, f.lead-f.need, 2.0)
		})
	}
}

// During a burst of jitter little can be done. Afterwards everything is as before, and the clock stayed in its bounds.
func TestJitterBursts(t *testing.T) {
	for _, burst := range []time.Duration{100 * ms, 300 * ms, time.Second} {
		t.Run(burst.String(), func(t *testing.T) {
			l := link{delay: 40 * ms, jitter: 20 * ms, loss: 0.02, burst: burst, burstFrom: 20 * time.Second, burstTo: 21 * time.Second}
			recovers(t, scene{up: l, down: l}, 31*time.Second)
		})
	}
}

// Between jumps the input clock and the shown moment stay within ±5 % of the server's rate, measured against true time.
func TestClocksKeepWithinTheirBounds(t *testing.T) {
	s := both(8, link{delay: 40 * ms, jitter: 60 * ms, loss: 0.1, burst: 200 * ms, burstFrom: 20 * time.Second, burstTo: 23 * time.Second})
	var input, shown tick.Time
	var at time.Duration
	jumps := uint64(0)
	s.watch = func(now time.Duration, w *world) {
		if passed := tick.SpanOf(now-at, w.rate).Float(); at > 5*time.Second {
			if jumps == w.sync.Jumps() {
				require.InDelta(t, 1, w.sync.Input().Sub(input).Float()/passed, 0.07, "%v", now) // 5 %, the wrongly measured drift, and the millisecond.
			}
			if speed := w.shown.Sub(shown).Float() / passed; speed != 0 { // Otherwise it stands still.
				require.InDelta(t, 1, speed, 0.07, "%v", now)
			}
		}
		input, shown, at, jumps = w.sync.Input(), w.shown, now, w.sync.Jumps()
	}
	newWorld(t, s).run(60 * time.Second).sound()
}

// Case 55: nothing depends on the server's first tick. A run from a high tick equals the run from 0, shifted.
func TestCase55TickWrap(t *testing.T) {
	type frame struct{ input, shown, server tick.Time }
	trace := func(start tick.Tick) (frames []frame, f figures) {
		s := both(9, link{delay: 40 * ms, jitter: 30 * ms, loss: 0.05})
		s.start = start
		s.watch = func(_ time.Duration, w *world) {
			moved := frame{w.sync.Input(), w.shown, w.sync.Server(w.local())}
			for _, t := range []*tick.Time{&moved.input, &moved.shown, &moved.server} {
				if t.Tick != tick.None {
					t.Tick -= start
				}
			}
			frames = append(frames, moved)
		}
		w := newWorld(t, s).run(30 * time.Second).sound()
		return frames, w.inputs(5*time.Second, 29*time.Second)
	}
	want, figures := trace(1000)
	require.GreaterOrEqual(t, figures.inTime, 0.995)
	for _, start := range []tick.Tick{1<<31 - 100, 1<<32 - 100, 1<<16 - 100, 1<<40 + 7} {
		got, same := trace(start)
		require.Equal(t, want, got, "from %d", start)
		require.Equal(t, figures, same, "from %d", start)
		casebook.Injected(t, len(got), "frames around a wrap of ticks")
	}
}

// Two runs of one scene are equal to the last bit.
func TestSimulationsRepeat(t *testing.T) {
	run := func() ([]tick.Span, tick.Time) {
		w := newWorld(t, both(10, link{delay: 30 * ms, jitter: 40 * ms, loss: 0.2})).run(15 * time.Second)
		return w.delays, w.sync.Input()
	}
	delays, input := run()
	delays2, input2 := run()
	require.Equal(t, delays, delays2)
	require.Equal(t, input, input2)
}

// For any network and suspensions, presentation never goes back, and no frame gets too many steps. Ten quiet seconds
// later inputs are in time.
func TestScenesOfAllKinds(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		drawLink := func(name string) link {
			l := link{
				delay:  time.Duration(rapid.IntRange(0, 250).Draw(r, name+" delay")) * ms,
				jitter: time.Duration(rapid.IntRange(0, 60).Draw(r, name+" jitter")) * ms,
				loss:   float64(rapid.IntRange(0, 10).Draw(r, name+" loss")) / 100,
			}
			from := time.Duration(rapid.IntRange(0, 12).Draw(r, name+" down from")) * time.Second
			long := time.Duration(rapid.SampledFrom([]int{0, 100, 1000, 5000}).Draw(r, name+" down for")) * ms
			l.down = during(from, from+long)
			return l
		}
		drawSpell := func(name string) func(time.Duration) bool {
			from := time.Duration(rapid.IntRange(0, 12000).Draw(r, name+" from")) * ms
			return during(from, from+time.Duration(rapid.SampledFrom([]int{0, 100, 1000, 5000}).Draw(r, name+" for"))*ms)
		}
		s := scene{
			seed: rapid.Uint64().Draw(r, "seed"), rate: rapid.SampledFrom([]int{10, 20, 30, 60}).Draw(r, "rate"),
			frame: time.Second / time.Duration(rapid.SampledFrom([]int{20, 30, 60, 144}).Draw(r, "frames")),
			up:    drawLink("up"), down: drawLink("down"), asleep: drawSpell("asleep"), stopped: drawSpell("stopped"),
			drift: float64(rapid.IntRange(-5, 5).Draw(r, "drift")) / 100,
			start: rapid.SampledFrom([]tick.Tick{0, 1<<31 - 100, 1<<32 - 100}).Draw(r, "start"),
		}
		const quiet, end = 30 * time.Second, 60 * time.Second
		w := newWorld(t, s)
		w.t = r
		f := w.run(end).sound().inputs(quiet, end-time.Second)
		require.GreaterOrEqual(r, f.inTime, 0.97, "of %d", f.ticks)
	})
}
