// Package registry keeps the contents of a protocol: components, messages and features, their numbers, and the canonical description
// that both ends must share. Package netcode adds the types that game code meets, and the handlers.
//
// # Files
//
//   - registry.go: registration, and the freeze that numbers all
//   - describe.go: the canonical description, and the protocol as a text
//   - bands.go: distance bands of components; features.go: what extensions add
//   - older.go: sessions with an older build
package registry
