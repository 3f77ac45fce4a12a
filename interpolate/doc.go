// Package interpolate shows the components of a client between the values that arrived. It is a feature beside the kernel of
// package netcode: [Register] says which components and how, systems.Interpolate writes what is shown into the world, and [Of] and
// [At] ask for single values.
package interpolate
