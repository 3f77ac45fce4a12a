package alloctest

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
)

// Zero calls f once, which may allocate, and then runs times. It fails t if any of those allocates. The optional what is a
// message, or a format with its arguments, for the failure.
func Zero(t testing.TB, runs int, f func(), what ...any) {
	t.Helper()
	AtMost(t, 0, runs, f, what...)
}

// AtMost is Zero with a limit on the sum of the allocations of all counted runs.
func AtMost(t testing.TB, most uint64, runs int, f func(), what ...any) {
	t.Helper()
	c := Start(t)
	defer c.Stop()
	f()
	c.Count(func() {
		for range runs {
			f()
		}
	})
	c.AtMost(most, what...)
}

// Counts tells whether allocations are counted: they are not in a build with the race detector, which allocates too.
func Counts() bool { return !raceDetector }

// Count calls f once, and then runs times. It returns the sum of the allocations of those, 0 under the race detector.
func Count(t testing.TB, runs int, f func()) uint64 {
	t.Helper()
	c := Start(t)
	defer c.Stop()
	f()
	c.Count(func() {
		for range runs {
			f()
		}
	})
	return c.Sum()
}

// Counter adds up the allocations of several calls with other code between them:
//
//	c := alloctest.Start(t)
//	for range 500 {
//		prepare()
//		c.Count(step)
//	}
//	c.Zero("steps")
//
// It is for tests that do not run in parallel. From Start to Stop the garbage collector is off and one processor runs.
type Counter struct {
	t       testing.TB
	counted uint64
	before  profile
	stopped bool
	percent int
	procs   int
	rate    int // of the memory profile
	sampled *[64]byte
}

// Start returns a Counter. The end of the test stops it too.
func Start(t testing.TB) *Counter {
	t.Helper()
	testing.AllocsPerRun(1, func() {}) // Panics in a parallel test.
	c := &Counter{t: t, procs: runtime.GOMAXPROCS(1), percent: debug.SetGCPercent(-1), rate: runtime.MemProfileRate}
	t.Cleanup(c.Stop)
	if !raceDetector {
		c.turn(0)
		c.before = readProfile()
		for range 10 { // Lets finalizers and cleanups run that the collection queued.
			runtime.Gosched()
		}
	}
	return c
}

// Stop turns the garbage collector and the other processors back on. Further calls do nothing.
func (c *Counter) Stop() {
	if c.stopped {
		return
	}
	c.stopped = true
	debug.SetGCPercent(c.percent)
	runtime.GOMAXPROCS(c.procs)
	if !raceDetector {
		c.turn(c.rate)
	}
}

// Count calls f once and adds its allocations to the sum.
func (c *Counter) Count(f func()) {
	if raceDetector {
		f()
		return
	}
	var start, end runtime.MemStats
	c.turn(1)
	runtime.ReadMemStats(&start)
	f()
	runtime.ReadMemStats(&end)
	c.turn(0)
	c.counted += end.Mallocs - start.Mallocs
}

// turn sets the rate of the memory profile. The runtime samples the allocation that follows each change: the one here.
func (c *Counter) turn(rate int) {
	runtime.MemProfileRate = rate
	c.sampled = new([64]byte)
}

// Sum returns how many allocations were counted since Start.
func (c *Counter) Sum() uint64 {
	if c.counted == 0 {
		return 0
	}
	_, sum := c.sum()
	return sum
}

// sum returns the call stacks that allocated, and how often all of them did: as often as the heap counted, but for what the
// runtime allocated for itself. The profile alone would not do: it leaves out small objects that share a block.
func (c *Counter) sum() (lines []line, sum uint64) {
	lines, own := readProfile().since(c.before)
	for i := range lines {
		sum += uint64(lines[i].objects)
	}
	return lines, max(sum, c.counted-min(own, c.counted))
}

// Zero fails the test if anything was counted since Start.
func (c *Counter) Zero(what ...any) {
	c.t.Helper()
	c.AtMost(0, what...)
}

// AtMost fails the test if more than most allocations were counted since Start.
func (c *Counter) AtMost(most uint64, what ...any) {
	c.t.Helper()
	if c.counted <= most {
		return
	}
	lines, sum := c.sum()
	if sum <= most {
		return
	}
	c.Stop()
	text := ""
	if len(what) > 0 {
		text = fmt.Sprintf(fmt.Sprint(what[0]), what[1:]...) + ": "
	}
	c.t.Fatalf("%s%d allocations, at most %d are allowed\n%s", text, sum, most, listed(lines))
}
