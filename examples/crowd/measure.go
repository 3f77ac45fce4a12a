package main

import (
	"runtime"
	"slices"
	"time"

	"github.com/mlange-42/arche/ecs"
)

// Times collects how long ticks took and answers percentiles of them.
type Times struct {
	all    []time.Duration
	second int // where the last second begins in all
	sorted []time.Duration
}

// newTimes has room for so many ticks before it allocates again.
func newTimes(room int) *Times {
	return &Times{all: make([]time.Duration, 0, room), sorted: make([]time.Duration, 0, room)}
}

// Add takes one tick.
func (t *Times) Add(d time.Duration) { t.all = append(t.all, d) }

// Len returns the number of ticks.
func (t *Times) Len() int { return len(t.all) }

// Second gives median and 99th percentile since it was called last.
func (t *Times) Second() (p50, p99 time.Duration) {
	p50, p99 = t.percentiles(t.all[t.second:])
	t.second = len(t.all)
	return p50, p99
}

// Whole gives median and 99th percentile of everything since Clear.
func (t *Times) Whole() (p50, p99 time.Duration) { return t.percentiles(t.all) }

// Clear forgets all.
func (t *Times) Clear() { t.all, t.second = t.all[:0], 0 }

func (t *Times) percentiles(of []time.Duration) (p50, p99 time.Duration) {
	if len(of) == 0 {
		return 0, 0
	}
	t.sorted = append(t.sorted[:0], of...)
	slices.Sort(t.sorted)
	last := len(t.sorted) - 1
	return t.sorted[last/2], t.sorted[last*99/100]
}

// Meter adds up time and heap allocations between Start and Stop. Reading the allocations stops the world for some
// microseconds: always outside of the time that is taken.
type Meter struct {
	Now         func() time.Duration
	Heap        bool // whether allocations are counted
	Took        time.Duration
	Allocations uint64 // by any goroutine

	begin  time.Duration
	before uint64
	stats  runtime.MemStats
}

// Start begins or continues.
func (m *Meter) Start() {
	if m.Heap {
		runtime.ReadMemStats(&m.stats)
		m.before = m.stats.Mallocs
	}
	m.begin = m.Now()
}

// Stop pauses.
func (m *Meter) Stop() {
	m.Took += m.Now() - m.begin
	if m.Heap {
		runtime.ReadMemStats(&m.stats)
		m.Allocations += m.stats.Mallocs - m.before
	}
}

// stopMeter and startMeter are systems: what runs between them is not measured.
type (
	stopMeter  struct{ *Meter }
	startMeter struct{ *Meter }
)

func (stopMeter) Initialize(*ecs.World)  {}
func (s stopMeter) Update(*ecs.World)    { s.Stop() }
func (stopMeter) Finalize(*ecs.World)    {}
func (startMeter) Initialize(*ecs.World) {}
func (s startMeter) Update(*ecs.World)   { s.Start() }
func (startMeter) Finalize(*ecs.World)   {}
