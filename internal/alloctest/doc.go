// Package alloctest counts all allocations of code that must not allocate, and reports where they happen.
//
//	alloctest.Zero(t, 200, frame, "a frame with 16 clients")
//
// testing.AllocsPerRun divides by the number of runs and rounds down: it reports 0 for a buffer that grows once in 200 runs. This
// package reports the sum. While it counts, the garbage collector is off, one processor is used, and the memory profile samples
// each allocation, so that a failure lists call stacks. With the race detector f runs and nothing is counted, since the detector
// makes sync.Pool drop items at random.
//
// Cost, Bytes and Heap measure memory likewise. No other test reads the runtime's counters.
//
// # Files
//
//   - alloctest.go: Zero, AtMost, Counter
//   - memory.go: Cost, Bytes, Heap
//   - graph.go: GraphBytes
//   - profile.go: call stacks
//   - race.go, norace.go: whether the race detector runs
package alloctest
