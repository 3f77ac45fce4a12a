// Package alloctest counts every allocation of code that must not allocate, and names the places that did.
//
//	alloctest.Zero(t, 200, frame, "a frame with 16 clients")
//
// testing.AllocsPerRun divides by the number of runs and rounds down: it reports 0 for a buffer that grows once in 200 runs.
// This package adds up instead. While it counts, the garbage collector is off, one processor runs, and the memory profile
// samples each allocation, so that a failure lists the call stacks. Under the race detector f runs and nothing is counted:
// the detector makes sync.Pool drop items at random.
package alloctest
