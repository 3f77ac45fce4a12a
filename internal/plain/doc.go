// Package plain tells whether a build leaves out all fast paths.
//
// A fast path is a second way to compute what the plain code computes. It is entered at one place, which asks On first. With
// the build tag netcode_plain the module runs the plain code alone, and sends the same bytes.
package plain
