package tick_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/tick"
)

const ms = time.Millisecond

func TestClockSteps(t *testing.T) {
	c := tick.NewClock(100, 4)
	require.Equal(t, 10*ms, c.Interval())
	require.Equal(t, tick.None, c.Tick())
	for _, step := range []struct {
		name  string
		now   time.Duration
		steps int
		tick  tick.Tick
	}{
		{"the first call starts the clock", 5 * time.Second, 1, 1},
		{"too early", 5*time.Second + 9*ms, 0, 1},
		{"on the grid", 5*time.Second + 10*ms, 1, 2},
		{"twice in one instant", 5*time.Second + 10*ms, 0, 2},
		{"late, but the grid stays", 5*time.Second + 29*ms, 1, 3},
		{"so the next comes soon", 5*time.Second + 30*ms, 1, 4},
		{"two at once", 5*time.Second + 50*ms, 2, 6},
		{"time that goes back", 4 * time.Second, 0, 6},
		{"a stall: four, the rest slips", 5*time.Second + 150*ms, 4, 10},
		{"and is not made up for", 5*time.Second + 159*ms, 0, 10},
		{"the grid is where it was", 5*time.Second + 160*ms, 1, 11},
	} {
		require.Equal(t, step.steps, c.Advance(step.now), step.name)
		require.Equal(t, step.tick, c.Tick(), step.name)
	}
	require.Equal(t, uint64(6), c.Slipped())
}

func TestClockSet(t *testing.T) {
	c := tick.NewClock(10, 1)
	c.Advance(0)
	c.Set(500)
	require.Equal(t, tick.Tick(500), c.Tick())
	require.Equal(t, 0, c.Advance(99*ms), "when steps fall due does not change")
	require.Equal(t, 1, c.Advance(100*ms))
	require.Equal(t, tick.Tick(501), c.Tick())
}

func TestClockDoesNotDrift(t *testing.T) {
	c := tick.NewClock(30, 4)
	steps := 0
	const hours = 3
	for now := time.Duration(0); now < hours*time.Hour; now += 17 * ms {
		steps += c.Advance(now)
	}
	require.Equal(t, hours*3600*30, steps)
	require.Zero(t, c.Slipped())
}

func TestClockOfNoRate(t *testing.T) {
	c := tick.NewClock(0, -1)
	require.Equal(t, time.Second, c.Interval())
	require.Equal(t, 1, c.Advance(0))
	require.Equal(t, 1, c.Advance(time.Hour))
	require.Equal(t, uint64(3599), c.Slipped())
}

// A step may be taken at most a microsecond early: a clock of 1000 Hz has made 54 steps 52 999 263 ns after its start,
// the last 737 ns early.
func TestClockTakesAStepAMicrosecondEarly(t *testing.T) {
	for _, step := range []struct {
		after time.Duration
		steps int
	}{
		{52_998_999, 53}, {52_999_000, 54}, {52_999_263, 54}, {53 * ms, 54}, {53_998_999, 54}, {53_999_000, 55},
		{time.Second - 1001, 1000}, {time.Second - 1000, 1001}, {time.Second, 1001},
	} {
		c := tick.NewClock(1000, 1000)
		made := c.Advance(0)
		made += c.Advance(step.after)
		require.Equal(t, step.steps, made, step.after)
		require.Zero(t, c.Advance(step.after), "and not twice")
	}
}

// After any pauses, the made and the dropped steps are together the steps that were due, or due within a microsecond.
func TestClockAccountsForEveryStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.IntRange(1, 1000).Draw(t, "rate")
		catchUp := rapid.IntRange(1, 8).Draw(t, "catch-up")
		start := time.Duration(rapid.Int64Range(-1<<50, 1<<50).Draw(t, "start"))
		c := tick.NewClock(rate, catchUp)
		made := c.Advance(start)
		now := start
		for _, pause := range rapid.SliceOfN(rapid.Int64Range(0, int64(5*time.Second)), 0, 50).Draw(t, "pauses") {
			now += time.Duration(pause)
			steps := c.Advance(now)
			require.LessOrEqual(t, steps, catchUp)
			made += steps
			at, microsecond := c.Time(now), tick.SpanOf(time.Microsecond, rate)+1
			require.Less(t, at.Sub(c.Tick().Begin()), tick.OneTick)
			require.GreaterOrEqual(t, at.Sub(c.Tick().Begin()), -microsecond)
			require.InDelta(t, float64(tick.SpanOf(time.Second/8, rate)), float64(at.Sub(c.Time(now-time.Second/8))), 2)
		}
		passed := int64(now-start) / int64(time.Second) * int64(rate)
		passed += (int64(now-start)%int64(time.Second) + int64(time.Microsecond)) * int64(rate) / int64(time.Second)
		require.Equal(t, 1+passed, int64(made)+int64(c.Slipped()))
		require.Equal(t, tick.Tick(made), c.Tick())
	})
}

func TestClockAllocatesNothing(t *testing.T) {
	c, now := tick.NewClock(60, 4), time.Duration(0)
	alloctest.Zero(t, 100, func() {
		now += 5 * ms
		c.Advance(now)
	})
}
