// Package registry stores the contents of a protocol: components, messages and features, their numbers, and the canonical
// description that both ends must share. Package netcode adds the types for game code, and the handlers.
//
// # Files
//
//   - registry.go: registration, and the freeze that numbers everything
//   - describe.go: the canonical description, and the protocol as a text
//   - bands.go: distance bands of components
//   - features.go: the parts that extensions add
//   - older.go: sessions with an older build
//   - plain.go: sessions with a client of the plain profile
package registry
