// Package components holds the plain data that game code puts on entities to say how they replicate.
//
// The word it owns: a [Replicated] entity is one that exists on every client
// that may see it.
package components
