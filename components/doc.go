// Package components has the plain data that game code puts on entities: components that control replication,
// and colours, vectors and rotations for components and messages.
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
