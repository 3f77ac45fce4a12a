// Package kernel contains the loops in assembly, and what they share with plain Go: the memory that they work on.
//
// Every loop equals a loop in plain Go of package quantize or delta, to the bit, and tests of these packages compare the two. Callers ask Wide first. The
// build tags purego and netcode_plain leave the assembly out.
//
// Words owned here:
//   - batch: up to MaxStreams rows of one component that are encoded side by side, each into a stream of bits of its own;
//   - column: the rows of a batch, with their baselines;
//   - token: the code of how far a lane is from its extrapolation.
//
// # Files
//
//   - kernel.go, column.go: the memory that loops share with plain Go
//   - kernel_amd64.go, kernel_none.go: the loops in assembly, or none
//   - endian_little.go, endian_other.go: the byte order of the machine
package kernel
