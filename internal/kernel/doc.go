// Package kernel contains the assembly (SIMD) loops and the data structures that they share with plain Go.
//
// Every loop gives the same bits as a plain Go loop of package quantize or delta; tests of these packages compare the two.
// Callers check Wide first. The build tags purego and netcode_plain omit the assembly.
//
// Words owned here:
//   - batch: up to MaxStreams rows of one component that are encoded side by side, each into its own stream of bits;
//   - column: the rows of a batch, with their baselines;
//   - token: the code of a lane's distance from its extrapolation.
//
// # Files
//
//   - kernel.go, column.go: the shared data structures
//   - kernel_amd64.go, kernel_none.go: declarations of the loops, or stubs
//   - endian_little.go, endian_other.go: the byte order of the machine
package kernel
