// Package interpolate shows the components of a client between the values that arrived. It is a feature beside the kernel of
// package netcode: [Register] says which components and how, systems.Interpolate writes what is shown into the world, and [Of] and
// [At] ask for single values. Package quantize, blend.go, computes the value between two; tick.Presentation is the moment that is shown.
// Package replica, sample.go, chooses the two versions, and knows when a component does not move between them: a components.Teleport, a late record.
package interpolate
