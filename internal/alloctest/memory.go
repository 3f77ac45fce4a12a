package alloctest

import (
	"runtime"
	"testing"
)

// Bytes calls f once and returns the bytes that it allocates, garbage included.
func Bytes(t testing.TB, f func()) uint64 {
	t.Helper()
	_, bytes := Cost(t, f)
	return bytes
}

// Cost calls f once and returns its allocations and their bytes, garbage included. Other goroutines that wait allocate nothing meanwhile,
// and what the runtime allocated for itself is left out: a thread that starts, a timer of the scavenger. As Counter, it is for tests that do
// not run in parallel.
func Cost(t testing.TB, f func()) (allocations, bytes uint64) {
	t.Helper()
	c := Start(t)
	defer c.Stop()
	var start, end runtime.MemStats
	if Counts() {
		c.turn(1)
	}
	runtime.ReadMemStats(&start)
	f()
	runtime.ReadMemStats(&end)
	allocations, bytes = end.Mallocs-start.Mallocs, end.TotalAlloc-start.TotalAlloc
	if !Counts() {
		return allocations, bytes
	}
	c.turn(0)
	_, own := readProfile().since(c.before)
	return allocations - min(allocations, uint64(own.objects)), bytes - min(bytes, uint64(own.bytes))
}

// Heap returns the bytes on the heap once everything unused is given back, what pools held included. No other test may run beside it: it is
// for tests that do not run in parallel.
func Heap(t testing.TB) int {
	t.Helper()
	testing.AllocsPerRun(1, func() {}) // Panics in a parallel test.
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
