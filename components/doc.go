// Package components has plain data for entities: components that control replication, and colours, vectors and rotations for
// components and messages.
//
// The package's word: a [Replicated] entity exists on every client that may see it.
//
// # Files
//
//   - replicated.go: Replicated
//   - control.go: Owner, Group, Priority, Rate, Kind
//   - interpolated.go: Smooth, Teleport
//   - predicted.go: Simulate, Predicted, SpawnOf
//   - scene.go: SceneID
//   - local.go: LocalOnly
//   - math.go: colours, vectors, rotations, rays
package components
