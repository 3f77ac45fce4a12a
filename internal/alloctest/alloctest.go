package alloctest

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// Zero calls f once, which may allocate, and then runs times. It fails t if any of the later calls allocates. The optional what
// is a message, or a format with arguments, for the failure.
func Zero(t testing.TB, runs int, f func(), what ...any) {
	t.Helper()
	AtMost(t, 0, runs, f, what...)
}

// AtMost is Zero with a maximum for the sum of all counted allocations.
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

// Counts reports whether allocations are counted. They are not with the race detector and with checkptr, which allocate too.
func Counts() bool { return !raceDetector && !checksPointers() }

// checksPointers reports whether the test was built with -gcflags=all=-d=checkptr.
func checksPointers() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool {
		return s.Key == "-gcflags" && strings.Contains(s.Value, "checkptr")
	})
}

// Count calls f once, and then runs times. It returns the allocations of the later calls, 0 with the race detector.
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

// Counter counts the allocations of several calls with other code between them:
//
//	c := alloctest.Start(t)
//	for range 500 {
//		prepare()
//		c.Count(step)
//	}
//	c.Zero("steps")
//
// Use it only in tests that do not run in parallel. From Start to Stop the garbage collector is off and only one processor is
// used.
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

// Start returns a Counter, which stops at the end of the test at the latest.
func Start(t testing.TB) *Counter {
	t.Helper()
	testing.AllocsPerRun(1, func() {}) // Panics in a parallel test.
	c := &Counter{t: t, procs: runtime.GOMAXPROCS(1), percent: debug.SetGCPercent(-1), rate: runtime.MemProfileRate}
	t.Cleanup(c.Stop)
	if Counts() {
		c.turn(0)
		c.before = readProfile()
		for range 10 { // Runs finalizers and cleanups that the collection queued.
			runtime.Gosched()
		}
	}
	return c
}

// Stop enables the garbage collector and the other processors again. Further calls do nothing.
func (c *Counter) Stop() {
	if c.stopped {
		return
	}
	c.stopped = true
	debug.SetGCPercent(c.percent)
	runtime.GOMAXPROCS(c.procs)
	if Counts() {
		c.turn(c.rate)
	}
}

// Count calls f once and counts its allocations.
func (c *Counter) Count(f func()) {
	if !Counts() {
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

// turn sets the sampling rate of the memory profile. The runtime always samples the first allocation after a change: the one
// here.
func (c *Counter) turn(rate int) {
	runtime.MemProfileRate = rate
	c.sampled = new([64]byte)
}

// Sum returns the number of allocations counted since Start.
func (c *Counter) Sum() uint64 {
	if c.counted == 0 {
		return 0
	}
	_, sum := c.sum()
	return sum
}

// sum returns the call stacks that allocated, and the total number of allocations as the heap counts them, without those of the
// runtime itself. The profile alone is not exact: it omits small objects that share a block.
func (c *Counter) sum() (lines []line, sum uint64) {
	lines, own := readProfile().since(c.before)
	for i := range lines {
		sum += uint64(lines[i].objects)
	}
	return lines, max(sum, c.counted-min(uint64(own.objects), c.counted))
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
