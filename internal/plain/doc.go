// Package plain tells whether a build omits all fast paths.
//
// A fast path is an optional faster implementation of plain code. Its only entry point checks On first. With the build tag
// netcode_plain only the plain code runs, and produces the same bytes.
package plain
