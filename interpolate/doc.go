// Package interpolate shows the components of a client between the values that arrived. It is a feature built on the
// extension API of package netcode. [Register] selects the components and the kind of interpolation. systems.Interpolate
// writes the interpolated values into the world. [Of] and [At] return single values.
//
// # Files
//
//   - interpolate.go: options, Register, Of and At
//   - in package quantize, blend.go: the value between two versions
//   - in package replica, sample.go: the two versions around a moment, and reasons not to blend: a components.Teleport, a late record
//   - in package tick, presentation.go: the moment that a frame presents
package interpolate
