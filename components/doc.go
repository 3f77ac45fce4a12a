// Package components holds the plain data that game code puts on entities: what says how they replicate,
// and the colours, vectors and rotations that messages and components are made of.
//
// The word it owns: a [Replicated] entity is one that exists on every client
// that may see it.
//
// # Files
//
//   - replicated.go: Replicated
//   - predicted.go: Simulate, Predicted, SpawnOf
//   - control.go: Owner, Group, Priority, Rate, Kind
//   - interpolated.go: Smooth, Teleport
//   - scene.go: SceneID
//   - local.go: LocalOnly
//   - math.go: colours, vectors, rotations, rays
package components
