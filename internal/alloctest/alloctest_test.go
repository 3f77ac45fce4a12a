package alloctest

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
)

// fake is a test that notes its failure.
type fake struct {
	testing.TB
	said string
}

func (f *fake) Helper()                        {}
func (f *fake) Cleanup(func())                 {}
func (f *fake) Fatalf(format string, a ...any) { f.said = fmt.Sprintf(format, a...) }

// grower allocates in one of many calls.
type grower struct {
	calls, each int
	kept        [][]byte
}

func (g *grower) grow() {
	if g.calls++; g.calls%g.each == 0 {
		g.kept[0] = make([]byte, 100)
	}
}

func newGrower(each int) *grower { return &grower{each: each, kept: make([][]byte, 1)} }

func TestZeroFindsOneAllocationOfTwoHundredRuns(t *testing.T) {
	skipRace(t)
	if rounded := testing.AllocsPerRun(200, newGrower(150).grow); rounded != 0 {
		t.Fatalf("testing.AllocsPerRun returns %v: it does not round down any more", rounded)
	}
	f := &fake{TB: t}
	Zero(f, 200, newGrower(150).grow, "grows of %d", 7)
	for _, want := range []string{"grows of 7: 1 allocations, at most 0", "1 allocations, 112 bytes", "(*grower).grow", "alloctest_test.go:"} {
		if !strings.Contains(f.said, want) {
			t.Errorf("%q is missing in: %s", want, f.said)
		}
	}
}

func TestAtMostCountsAllRuns(t *testing.T) {
	skipRace(t)
	for most, fails := range map[uint64]bool{19: true, 20: false} {
		f := &fake{TB: t}
		AtMost(f, most, 200, newGrower(10).grow)
		if (f.said != "") != fails {
			t.Errorf("at most %d: %q", most, f.said)
		}
	}
	if n := Count(t, 200, newGrower(10).grow); n != 20 {
		t.Errorf("%d allocations", n)
	}
}

// A run of nothing counts nothing, however often it is asked and whatever else was allocated before.
func TestZeroCountsNothingElse(t *testing.T) {
	for range 50 {
		before := make([]*grower, 0)
		for range 1000 {
			before = append(before, newGrower(2))
		}
		Zero(t, 10, func() { before[3].calls++ })
	}
}

func TestCounterCountsPartsOnly(t *testing.T) {
	skipRace(t)
	f := &fake{TB: t}
	c := Start(f)
	g := newGrower(3)
	for range 30 {
		c.Count(g.grow)
		g.kept[0] = make([]byte, 10)
	}
	if c.Sum() != 10 {
		t.Errorf("%d counted", c.Sum())
	}
	c.AtMost(10)
	if f.said != "" {
		t.Error(f.said)
	}
	c.Count(func() { g.kept[0] = make([]byte, 10) })
	c.AtMost(10, "one more")
	if !strings.Contains(f.said, "one more: 11 allocations") {
		t.Error(f.said)
	}
}

// Stop restores the settings that Start changed, also when the counted function panics.
func TestStopRestores(t *testing.T) {
	procs, rate := runtime.GOMAXPROCS(0), runtime.MemProfileRate
	percent := debug.SetGCPercent(77)
	defer debug.SetGCPercent(percent)
	func() {
		defer func() { _ = recover() }()
		Zero(t, 1, func() { panic("in a run") })
	}()
	if runtime.GOMAXPROCS(0) != procs || runtime.MemProfileRate != rate || debug.SetGCPercent(77) != 77 {
		t.Error("not restored")
	}
}

type (
	named interface{ name() string }
	dog   struct{}
	cat   struct{}
)

func (dog) name() string { return "dog" }
func (cat) name() string { return "cat" }

// The runtime makes the cache of a type assertion at random, in one of a thousand calls. That is nobody's.
func TestZeroLeavesOutCachesOfTypeAssertions(t *testing.T) {
	all, n := []any{dog{}, cat{}}, 0
	Zero(t, 50_000, func() {
		n++
		if _, ok := all[n&1].(named); !ok {
			n = 0
		}
	})
}

// A goroutine that a run starts is its own, though the runtime makes it.
func TestGoroutinesCount(t *testing.T) {
	skipRace(t)
	done := make(chan bool)
	n := Count(t, 1, func() {
		for range 100 {
			go func() { done <- true }()
		}
		for range 100 {
			<-done
		}
	})
	if n == 0 {
		t.Error("100 goroutines at once allocate nothing")
	}
}

func skipRace(t *testing.T) {
	if !Counts() {
		t.Skip("nothing is counted under the race detector")
	}
}

// Bytes counts what is garbage at once, and nothing that was allocated before or by nobody.
func TestBytesAreExact(t *testing.T) {
	skipRace(t)
	kept := make([][]byte, 1)
	if n := Bytes(t, func() { kept[0] = make([]byte, 1<<20); kept[0] = nil; kept[0] = make([]byte, 1<<20) }); n != 2<<20 {
		t.Errorf("%d bytes", n)
	}
	for range 50 {
		if n := Bytes(t, func() { kept[0][0]++ }); n != 0 {
			t.Fatalf("%d bytes of nothing", n)
		}
	}
}

// Heap counts what is kept, and not what a pool holds or what is garbage.
func TestHeapIsWhatIsKept(t *testing.T) {
	skipRace(t)
	var pool sync.Pool
	kept := make([][]byte, 2)
	before := Heap(t)
	kept[0] = make([]byte, 1<<20)
	pool.Put(&[1 << 20]byte{})
	kept[1] = make([]byte, 1<<20)
	kept[1] = nil
	if grown := Heap(t) - before; grown < 1<<20-64<<10 || grown > 1<<20+64<<10 {
		t.Errorf("%d bytes", grown)
	}
	runtime.KeepAlive(kept)
}
