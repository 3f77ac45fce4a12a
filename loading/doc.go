// Package loading tells a client, after it joined, how much of the world that it may see has come, and when all of it is here: for a
// loading bar. It is a feature beside the kernel of package netcode: [Register] adds it to a protocol, [Of] gives the progress.
package loading
