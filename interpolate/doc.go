// Package interpolate shows the components of a client between the values that arrived. It is a feature built on the
// extension API of package netcode. [Register] selects the components and the kind of interpolation.
// systems.Interpolate writes the interpolated values into the world. [Of] and [At] return single values.
//
// Three other packages do a part of the work. Package quantize (blend.go) computes the value between two versions.
// Package replica (sample.go) selects the two versions around a moment, and the cases without a blend: a
// components.Teleport, a late record. Package tick (presentation.go) computes the moment that a frame presents.
//
// # Files
//
//   - interpolate.go: options, Register, Of and At
package interpolate
