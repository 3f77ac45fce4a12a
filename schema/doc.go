// Package schema stores the protocol of a game in a lock file, and decides from two such files whether their builds play
// together.
//
// A test of the game keeps the file up to date, so that its changes are reviewed with the code:
//
//	func TestSchema(t *testing.T) { schema.Check(t, newProtocol(), "testdata/schema.lock") }
//
// In CI, netcode schema check compares the lock file of the released build with the one of the new build.
//
//   - [Lock]: the contents of a lock file; Protocol.WriteSchema writes it
//   - [Entry]: a component, a message or another entry of a protocol's canonical description; package wire finds what a Serialize method writes (explore.go)
//   - [Change]: one difference between two locks, and whom it breaks
//
// # Files
//
//   - check.go: Check for tests, Report, ReadFile
//   - compare.go: Compare, Change
//   - discover.go: Discover
//   - lock.go: Lock, Read, Support
package schema
